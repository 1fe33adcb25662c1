/**
 * Access tokens of an OpenID provider: JWTs, checked by the keys that the provider publishes. Keys are fetched when they are
 * needed, bounded in time and size, kept for a while, and fetched anew for one that is not known, now and then; so a
 * provider may change its keys, and a flood of bad tokens is not passed on to it.
 */
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from "jose";
import type { FetchImplementation, JWTPayload, RemoteJWKSet } from "jose";
import type { Role } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { Identified, IdentityProvider } from "../identity-provider.ts";

export interface OidcOptions {
  /** As the tokens' `iss` says it, to the letter. */
  issuer: string;
  /** One of the tokens' `aud`. */
  audience: string;
  /** Where the keys are; null: the provider's own metadata say it. */
  jwksUrl: string | null;
  /** Asymmetric ones. */
  algorithms: readonly string[];
  /** Who somebody is. `email` is compared with the users' addresses, and only if the provider has verified it. */
  userClaim: string;
  org: OrgMapping;
  roles: RoleMapping | null;
  mayBeAdded: boolean;
  /** For the operator. */
  report(message: string, error?: unknown): void;
  /** In place of the real one. */
  fetch?: typeof globalThis.fetch;
}

/** A claim says of which org somebody is, by its id or by a name that stands for it; of whom it says none are of `id`. */
export interface OrgMapping {
  id: string | null;
  claim: string | null;
  ids: Readonly<Record<string, string>>;
}

export interface RoleMapping {
  claim: string;
  /** Which values of it give the role. Of several the one that may most counts. */
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

interface Checking {
  options: OidcOptions;
  keys: KeyFinder;
  now: number;
}

type KeyFinder = (...args: Parameters<RemoteJWKSet>) => ReturnType<RemoteJWKSet>;

async function claimsOf(token: string, { options, keys, now }: Checking): Promise<JWTPayload | null> {
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
    options.report("the keys of the identity provider could not be read", error);
    throw unavailable(error);
  }
}

/** The provider did not answer, or not with keys: that says nothing of the token. */
function isUnreachable(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true;
  return (
    error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid || error.code === "ERR_JOSE_GENERIC"
  );
}

function unavailable(cause?: unknown): AptoveError {
  return new AptoveError("identity_unavailable", "its keys could not be read; try again, or use an API key", { cause });
}

/** The address is asked for once it is needed: a provider that is away must not keep the server from starting. */
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

/** Throws what a fetch throws, and an Error for metadata that are somebody else's. */
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
  throw new errors.JWKSInvalid(`${url} does not say where the keys of ${issuer} are`);
}

/** No more than so many bytes of an answer are read; after a failure the provider is left alone for a while. */
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

function identified(claims: JWTPayload, { userClaim, org, roles, mayBeAdded }: OidcOptions): Identified | null {
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
  const said = textOf(claims[claim]);
  return said !== null && Object.hasOwn(ids, said) ? (ids[said] ?? null) : said;
}

/** Text that a column can hold (a NUL it cannot), and that is no novel. */
function textOf(value: unknown): string | null {
  if (typeof value !== "string" || value === "" || value.length > limits.fieldCharactersMax) return null;
  return value.isWellFormed() && !/\p{Cc}/u.test(value) ? value : null;
}

/** A claim is one value, several, or several parted by blanks, as `scope` has them. Of whom it says nothing is a reader. */
function roleOf(claim: unknown, { values }: RoleMapping): Role {
  const said = Array.isArray(claim) ? claim : typeof claim === "string" ? claim.split(" ") : [];
  const has = (role: Role): boolean => values[role].some((value) => said.includes(value));
  return has("admin") ? "admin" : has("member") ? "member" : "reader";
}
