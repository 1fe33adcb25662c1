/**
 * Checks access tokens of an OpenID provider: JWTs, signed with keys that the provider publishes. The keys are fetched when
 * they are needed, with a limit on time and size, and cached. A token with an unknown key makes it fetch them again, but only
 * now and then. So a provider may change its keys, and many bad tokens do not become many requests to it.
 */
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  jwtVerify,
  type FetchImplementation,
  type JWTPayload,
  type RemoteJWKSet,
} from "jose";
import type { Role } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { IdentifiedUser, IdentityProvider } from "../identity-provider.ts";

export interface OidcOptions {
  /** The exact value of `iss` in the tokens. */
  issuer: string;
  /** The value that `aud` of a token must contain. */
  audience: string;
  /** Address of the keys. Null: the one in the provider's metadata. */
  jwksUrl: string | null;
  /** Accepted signature algorithms. All are asymmetric. */
  algorithms: readonly string[];
  /** The claim that identifies the user. `email` is compared with the users' addresses, and only if the provider has verified it. */
  userClaim: string;
  org: OrgMapping;
  roles: RoleMapping | null;
  mayBeAdded: boolean;
  /** Reports a fault to the operator. */
  report(message: string, error?: unknown): void;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** How a token names the user's org: the claim has the org's id, or a name that `ids` maps to one. Without the claim the org is `id`. */
export interface OrgMapping {
  id: string | null;
  claim: string | null;
  ids: Readonly<Record<string, string>>;
}

export interface RoleMapping {
  claim: string;
  /** The claim's values that give each role. If several match, the most powerful role wins. */
  values: Readonly<Record<Role, readonly string[]>>;
}

export function openIdProvider(options: OidcOptions): IdentityProvider {
  const keys = publishedKeys(options);
  return {
    identify: async (token, now) => {
      const claims = await claimsOf(token, { options, keys, now });
      return claims === null ? null : identified(claims, options);
    },
  };
}

interface TokenCheck {
  options: OidcOptions;
  keys: KeyFinder;
  now: number;
}

type KeyFinder = (...args: Parameters<RemoteJWKSet>) => ReturnType<RemoteJWKSet>;

async function claimsOf(token: string, { options, keys, now }: TokenCheck): Promise<JWTPayload | null> {
  if (token.length > limits.bearerCharactersMax || token.split(".").length !== 3) return null;
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer: options.issuer,
      audience: options.audience,
      algorithms: [...options.algorithms],
      requiredClaims: ["exp", "iss", "aud", options.userClaim],
      clockTolerance: limits.bearerClockToleranceMs / 1_000,
      currentDate: new Date(now),
    });
    return payload;
  } catch (error) {
    if (error instanceof AptoveError) throw error;
    if (!isUnreachable(error)) return null;
    options.report(
      "the keys of the identity provider could not be read; check that the server can reach oidc.issuer",
      error,
    );
    throw unavailable(error);
  }
}

/** Returns true if the provider did not answer, or answered without keys. Then the token may still be valid. */
function isUnreachable(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true;
  return (
    error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid || error.code === "ERR_JOSE_GENERIC"
  );
}

function unavailable(cause?: unknown): AptoveError {
  return new AptoveError(
    "identity_unavailable",
    "the keys of the identity provider could not be read; retry later, or use an API key",
    { cause },
  );
}

/** Finds the address of the keys at first use: an unreachable provider must not prevent the server from starting. */
function publishedKeys(options: OidcOptions): KeyFinder {
  const fetch = boundedFetch(options.fetch ?? globalThis.fetch);
  let found: Promise<RemoteJWKSet> | null = null;
  const find = async (): Promise<RemoteJWKSet> => {
    const url = options.jwksUrl ?? (await jwksUrlOf(options.issuer, fetch));
    return createRemoteJWKSet(new URL(url), { timeoutDuration: limits.identityMs, [customFetch]: fetch });
  };
  return async (...args) => {
    found ??= find();
    found.catch(() => (found = null));
    return await (
      await found
    )(...args);
  };
}

/** Reads the address of the keys from the provider's metadata. Throws what `fetch` throws, and JWKSInvalid for metadata of another issuer. */
async function jwksUrlOf(issuer: string, fetch: FetchImplementation): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetch(url, {
    method: "GET",
    headers: new Headers({ accept: "application/json" }),
    redirect: "manual",
    signal: AbortSignal.timeout(limits.identityMs),
  });
  const metadata = response.status === 200 ? ((await response.json()) as Record<string, unknown>) : {};
  const { issuer: named, jwks_uri: keys } = metadata;
  if (named === issuer && typeof keys === "string" && /^https?:\/\//.test(keys)) return keys;
  throw new errors.JWKSInvalid(`${url} names no address for the keys of ${issuer}`);
}

/** Wraps `fetch`: it limits the size of an answer, and after a failure it makes no request for a while. */
function boundedFetch(fetch: typeof globalThis.fetch): FetchImplementation {
  let failedAt = -Infinity;
  return async (url, options) => {
    if (performance.now() - failedAt < limits.identityRestMs) throw unavailable();
    try {
      const response = await fetch(url, options);
      const bytes: Uint8Array[] = [];
      let size = 0;
      for await (const piece of response.body ?? []) {
        size += piece.byteLength;
        if (size > limits.identityBytesMax) throw new errors.JWKSInvalid("the answer is too large");
        bytes.push(piece);
      }
      if (response.status !== 200) failedAt = performance.now();
      return new Response(Buffer.concat(bytes), { status: response.status, headers: response.headers });
    } catch (error) {
      failedAt = performance.now();
      throw error;
    }
  };
}

function identified(claims: JWTPayload, { userClaim, org, roles, mayBeAdded }: OidcOptions): IdentifiedUser | null {
  const who = textOf(claims[userClaim]);
  const orgId = orgOf(claims, org);
  if (who === null || orgId === null) return null;
  const isEmail = userClaim === "email";
  if (isEmail && claims["email_verified"] !== true) return null;
  return {
    orgId,
    by: isEmail ? { email: who.normalize("NFC").toLowerCase() } : { externalId: who },
    name: textOf(claims["name"]) ?? who,
    role: roles === null ? null : roleOf(claims[roles.claim], roles),
    mayBeAdded,
  };
}

function orgOf(claims: JWTPayload, { id, claim, ids }: OrgMapping): string | null {
  if (claim === null || claims[claim] === undefined) return id;
  const named = textOf(claims[claim]);
  return named !== null && Object.hasOwn(ids, named) ? (ids[named] ?? null) : named;
}

/** Returns a text that a database column can hold: no control characters (PostgreSQL refuses NUL), and not too long. */
function textOf(value: unknown): string | null {
  if (typeof value !== "string" || value === "" || value.length > limits.fieldCharactersMax) return null;
  return value.isWellFormed() && !/\p{Cc}/u.test(value) ? value : null;
}

/** Returns the role of a claim, which is one value, a list, or values separated by spaces like `scope`. Without a match the role is reader. */
function roleOf(claim: unknown, { values }: RoleMapping): Role {
  const given = Array.isArray(claim) ? claim : typeof claim === "string" ? claim.split(" ") : [];
  const has = (role: Role): boolean => values[role].some((value) => given.includes(value));
  return has("admin") ? "admin" : has("member") ? "member" : "reader";
}
