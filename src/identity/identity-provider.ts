/**
 * The contract for people whom somebody else vouches for (H4): a token in place of an API key, and whom it speaks of. The
 * engine finds the user; a driver knows the provider, checks the token, and reads its claims as the configuration says.
 *
 * A token that is not good is null, whatever is wrong with it: nobody learns how far it got. What cannot be told because the
 * provider does not answer is an AptoveError `identity_unavailable`, and nothing else is thrown.
 */
import type { Role } from "../domain/caller.ts";

export interface IdentityProvider {
  /** `now` in milliseconds since the epoch: by it a token has begun and has not ended. */
  identify(token: string, now: number): Promise<Identified | null>;
}

/** Whom a token speaks of. */
export interface Identified {
  orgId: string;
  by: { externalId: string } | { email: string };
  /** For a user who is added. */
  name: string;
  /** What they may by this token; null: what the user may. */
  role: Role | null;
  /** Whether somebody who is not known is added to the org. */
  mayBeAdded: boolean;
}
