/**
 * Checks access tokens of an OpenID provider: JWTs, signed with keys that the provider publishes. The keys are fetched when
 * they are needed, with a limit on time and size, and cached. A token with an unknown key makes it fetch them again, but only
 * now and then. So a provider may change its keys, and many bad tokens do not become many requests to it.
 */
import type { AuthorizationServer } from "oauth4webapi";
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
import { RepeatedFault, type Report } from "../../system/repeated-fault.ts";
import { systemCode } from "../../system/system-error.ts";
import type { BrowserIdentities, IdentifiedUser, IdentityProvider, TokenFault } from "../identity-provider.ts";
import { tokenFaultOf } from "./token-fault.ts";
import { beginSignIn, redeemSignIn, type BrowserClient, type SignInProvider } from "./browser-sign-in.ts";

export interface OidcOptions {
  /** The exact value of `iss` in the tokens. */
  issuer: string;
  /** The value that `aud` of a token must contain. Null: no token is accepted, and only browsers sign in. */
  audience: string | null;
  /** The client as which browsers sign in. Null: they do not. */
  client: BrowserClient | null;
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
  report: Report;
  /** Reports to the operator that a token was refused. */
  refused(this: void, reason: TokenFault): void;
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

export function openIdProvider(given: OidcOptions): IdentityProvider {
  const unreachable = new RepeatedFault(
    given.report,
    `the identity provider could not be read; check that the server can reach ${given.issuer}`,
  );
  const options: OpenedOptions = { ...given, unreachable };
  const bounded = boundedFetch(options.fetch ?? globalThis.fetch);
  const resting = restingFetch(bounded);
  const metadata = publishedMetadata(options.issuer, resting);
  const keys = publishedKeys(options, { fetch: resting, metadata });
  const { audience, client } = options;
  return {
    identify: async (token, now) => {
      if (audience === null) return null;
      const claims = await claimsOf(token, { options, keys, now, audience });
      return claims === null ? null : identified(claims, options);
    },
    ...(client !== null && { browsers: browserIdentities(client, { options, keys, metadata, fetch: bounded }) }),
  };
}

interface OpenedOptions extends OidcOptions {
  unreachable: RepeatedFault;
}

interface ProviderParts {
  options: OpenedOptions;
  keys: KeyFinder;
  metadata: MetadataFinder;
  fetch: typeof globalThis.fetch;
}

function browserIdentities(
  client: BrowserClient,
  { options, keys, metadata, fetch }: ProviderParts,
): BrowserIdentities {
  const provider: SignInProvider = {
    client,
    issuer: options.issuer,
    metadata: async () => {
      try {
        return await metadata();
      } catch (error) {
        throw error instanceof AptoveError ? error : cannotBeRead(options, error);
      }
    },
    // A wrong code is answered with an error too: it must not keep others from signing in, so this one does not rest.
    fetch: async (url, { method, headers, body, redirect }) => {
      const signal = AbortSignal.timeout(limits.identityMs);
      try {
        return await fetch(url, { method, headers, redirect, signal, ...(body !== undefined && { body }) });
      } catch (error) {
        throw error instanceof AptoveError ? error : cannotBeRead(options, error);
      }
    },
    checked: (token, now) => claimsOf(token, { options, keys, now, audience: client.id }),
  };
  return {
    name: new URL(options.issuer).hostname,
    begin: (redirectUri) => beginSignIn(provider, redirectUri),
    redeem: async (answer, now) => identified(await redeemSignIn(provider, answer, now), options),
  };
}

interface TokenCheck {
  options: OpenedOptions;
  keys: KeyFinder;
  now: number;
  audience: string;
}

type KeyFinder = (...args: Parameters<RemoteJWKSet>) => ReturnType<RemoteJWKSet>;
type MetadataFinder = () => Promise<AuthorizationServer>;

async function claimsOf(token: string, { options, keys, now, audience }: TokenCheck): Promise<JWTPayload | null> {
  if (token.length > limits.bearerCharactersMax || token.split(".").length !== 3) return refused(options, "malformed");
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer: options.issuer,
      audience,
      algorithms: [...options.algorithms],
      requiredClaims: ["exp", "iss", "aud"],
      clockTolerance: limits.bearerClockToleranceMs / 1_000,
      currentDate: new Date(now),
    });
    options.unreachable.succeeded();
    return payload;
  } catch (error) {
    if (isUnreachable(error)) {
      options.refused("provider_unavailable");
      throw error instanceof AptoveError ? error : cannotBeRead(options, error);
    }
    return refused(options, tokenFaultOf(error));
  }
}

function refused({ refused: report }: OidcOptions, reason: TokenFault): null {
  report(reason);
  return null;
}

function cannotBeRead({ unreachable }: OpenedOptions, error: unknown): AptoveError {
  unreachable.failed(withCause(error));
  return unavailable(error);
}

/** `fetch` says only that it failed; the reason is in the cause. */
function withCause(error: unknown): unknown {
  if (!(error instanceof Error) || !(error.cause instanceof Error)) return error;
  const { cause } = error;
  return new Error(`${error.message}: ${cause.message === "" ? systemCode(cause) : cause.message}`, { cause: error });
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
    "the identity provider could not be read; retry later, or use an API key",
    { cause },
  );
}

/** Finds the address of the keys at first use: an unreachable provider must not prevent the server from starting. */
function publishedKeys(
  { jwksUrl, issuer }: OidcOptions,
  { fetch, metadata }: { fetch: FetchImplementation; metadata: MetadataFinder },
): KeyFinder {
  const find = once(async (): Promise<RemoteJWKSet> => {
    const url = jwksUrl ?? (await metadata()).jwks_uri;
    if (url === undefined || !isAddress(url)) {
      throw new errors.JWKSInvalid(`the metadata of ${issuer} names no address for its keys`);
    }
    return createRemoteJWKSet(new URL(url), { timeoutDuration: limits.identityMs, [customFetch]: fetch });
  });
  return async (...args) => await (await find())(...args);
}

/** Wraps what is found at most once. A failure is not kept. */
function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | null = null;
  return () => {
    found ??= find();
    found.catch(() => (found = null));
    return found;
  };
}

const isAddress = (value: unknown): value is string => typeof value === "string" && /^https?:\/\//.test(value);

/** Reads the provider's metadata at first use. Throws what `fetch` throws, and JWKSInvalid for metadata of another issuer. */
function publishedMetadata(issuer: string, fetch: FetchImplementation): MetadataFinder {
  return once(() => readMetadata(issuer, fetch));
}

async function readMetadata(issuer: string, fetch: FetchImplementation): Promise<AuthorizationServer> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetch(url, {
    method: "GET",
    headers: new Headers({ accept: "application/json" }),
    redirect: "manual",
    signal: AbortSignal.timeout(limits.identityMs),
  });
  const metadata = response.status === 200 ? ((await response.json()) as Record<string, unknown>) : {};
  const addresses = ["jwks_uri", "authorization_endpoint", "token_endpoint", "userinfo_endpoint"].map(
    (name) => metadata[name],
  );
  const isWhole = addresses.every((value) => value === undefined || isAddress(value));
  if (metadata["issuer"] === issuer && isWhole) return { ...metadata, issuer };
  throw new errors.JWKSInvalid(`${url} is not the metadata of ${issuer}`);
}

/** Wraps `fetch`: it limits the size of an answer. */
function boundedFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (url, options) => {
    const response = await fetch(url, options);
    const bytes: Uint8Array[] = [];
    let size = 0;
    for await (const piece of response.body ?? []) {
      size += piece.byteLength;
      if (size > limits.identityBytesMax) throw new errors.JWKSInvalid("the answer is too large");
      bytes.push(piece);
    }
    return new Response(Buffer.concat(bytes), { status: response.status, headers: response.headers });
  };
}

/** Wraps `fetch`: after a failure it makes no request for a while. */
function restingFetch(fetch: typeof globalThis.fetch): FetchImplementation {
  let failedAt = -Infinity;
  return async (url, options) => {
    if (performance.now() - failedAt < limits.identityRestMs) throw unavailable();
    try {
      const response = await fetch(url, options);
      if (response.status !== 200) failedAt = performance.now();
      return response;
    } catch (error) {
      failedAt = performance.now();
      throw error;
    }
  };
}

function identified(claims: JWTPayload, options: OidcOptions): IdentifiedUser | null {
  const { userClaim, org, roles, mayBeAdded } = options;
  const who = textOf(claims[userClaim]);
  const orgId = orgOf(claims, org);
  if (who === null) return refused(options, "user_claim");
  if (orgId === null) return refused(options, "org_claim");
  const isEmail = userClaim === "email";
  if (isEmail && claims["email_verified"] !== true) return refused(options, "email_unverified");
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
