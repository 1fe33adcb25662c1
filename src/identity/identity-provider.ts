/**
 * The contract for external identity providers (H4). A client sends the provider's token in place of an API key. The driver
 * checks the token and reads its claims as the configuration says; the engine finds the user.
 *
 * The result for an invalid token is null, whatever is wrong with it, so that an attacker learns nothing from the answer. If the
 * provider does not answer, the driver throws an AptoveError `identity_unavailable`. It throws nothing else.
 */
import type { Role } from "../domain/caller.ts";

export interface IdentityProvider {
  /** Returns the user of the token, or null if it is invalid. `now`, in milliseconds since the epoch, must be within the token's period. */
  identify(token: string, now: number): Promise<IdentifiedUser | null>;
}

/** The user that a token names. */
export interface IdentifiedUser {
  orgId: string;
  by: { externalId: string } | { email: string };
  /** The name for a user who is added. */
  name: string;
  /** The role that this token gives. Null: the role of the user. */
  role: Role | null;
  /** True if an unknown user is added to the org. */
  mayBeAdded: boolean;
}
