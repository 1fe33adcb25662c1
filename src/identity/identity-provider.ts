/**
 * The contract for external identity providers (H4). A client sends the provider's token in place of an API key. The driver
 * checks the token and reads its claims as the configuration says; the engine finds the user.
 *
 * The result for an invalid token is null, whatever is wrong with it, so that an attacker learns nothing from the answer. The driver
 * reports the reason to the operator only. If the
 * provider does not answer, the driver throws an AptoveError `identity_unavailable`. It throws nothing else. The sign-in of a
 * browser gets the reason of a refusal: its code is of no use to anyone else.
 */
import type { Role } from "../domain/caller.ts";

export interface IdentityProvider {
  /** Returns the user of the token, or null if it is invalid. `now`, in milliseconds since the epoch, must be within the token's period. */
  identify(token: string, now: number): Promise<IdentifiedUser | null>;
  /** The sign-in of browsers at the provider (U2). Absent: the provider only checks tokens. */
  browsers?: BrowserIdentities;
}

export interface BrowserIdentities {
  /** The provider's name, for the person who chooses it. */
  name: string;
  /** Begins a sign-in that ends at `redirectUri`. Throws `identity_unavailable`, `sign_in_refused`. */
  begin(redirectUri: string): Promise<IdentityAttempt>;
  /**
   * Returns the user who signed in, or null if the provider's claims name no user. Throws `sign_in_refused` with the reason if the
   * provider refused or the answer belongs to another attempt, `identity_unavailable` if the provider does not answer.
   */
  redeem(answer: IdentityAnswer, now: number): Promise<IdentifiedUser | null>;
}

/** A sign-in that has begun. The browser keeps it, so that any server can finish it. */
export interface IdentityAttempt {
  /** The address at which the person signs in. */
  address: string;
  state: string;
  nonce: string;
  /** The secret that belongs to the code (PKCE). */
  verifier: string;
}

/** What a browser comes back with, and what it kept. */
export interface IdentityAnswer extends Omit<IdentityAttempt, "address"> {
  /** The query that the provider added to `redirectUri`. */
  answer: string;
  redirectUri: string;
}

/**
 * Why a token is refused. `audience`, `issuer`, `key_unknown`, `signature`, `algorithm`, `expired`, `not_valid_yet`: it is not what the
 * configuration asks for. `user_claim`, `org_claim`, `email_unverified`: it names no user. `provider_unavailable`: it could not be checked.
 */
export type TokenFault =
  | "malformed"
  | "claim_missing"
  | "issuer"
  | "audience"
  | "expired"
  | "not_valid_yet"
  | "key_unknown"
  | "signature"
  | "algorithm"
  | "user_claim"
  | "org_claim"
  | "email_unverified"
  | "provider_unavailable";

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
