/** Why a token is refused, for the operator: a word of a fixed set, and nothing that the token says (E8). The client does not receive it. */
import { errors } from "jose";
import type { TokenFault } from "../identity-provider.ts";

const ofClaims: Readonly<Record<string, TokenFault>> = { iss: "issuer", aud: "audience", nbf: "not_valid_yet" };

/** Returns the fault of a token that `jwtVerify` refused with this error. */
export function tokenFaultOf(error: unknown): TokenFault {
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.reason === "missing" ? "claim_missing" : (ofClaims[error.claim] ?? "malformed");
  }
  if (error instanceof errors.JWKSNoMatchingKey) return "key_unknown";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "signature";
  return error instanceof errors.JOSEAlgNotAllowed ? "algorithm" : "malformed";
}
