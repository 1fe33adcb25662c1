/**
 * The sign-in of browsers at an OpenID provider: authorization code with PKCE (RFC 7636), state, nonce, and the issuer in the answer
 * (RFC 9207). The browser keeps the verifier until it comes back, so that any server can finish what another one began, and no one
 * else can use the code. The server exchanges the code and checks the signature of the ID token.
 */
import type { JWTPayload } from "jose";
import * as oauth from "oauth4webapi";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { IdentityAnswer, IdentityAttempt } from "../identity-provider.ts";

export interface BrowserClient {
  id: string;
  /** Null: a public client, which PKCE alone protects. */
  secret: string | null;
  scopes: readonly string[];
}

export type SentRequest = oauth.CustomFetchOptions<"GET" | "POST", URLSearchParams | undefined>;

export interface SignInProvider {
  client: BrowserClient;
  issuer: string;
  /** Returns the provider's metadata. Throws an AptoveError `identity_unavailable`. */
  metadata(): Promise<oauth.AuthorizationServer>;
  fetch(url: string, options: SentRequest): Promise<Response>;
  /** Returns the claims of a token that is signed by the provider and meant for the client, or null. */
  checked(idToken: string, now: number): Promise<JWTPayload | null>;
}

export async function beginSignIn(provider: SignInProvider, redirectUri: string): Promise<IdentityAttempt> {
  const { authorization_endpoint: endpoint } = await provider.metadata();
  if (endpoint === undefined) throw refused("the identity provider has no address to sign in at");
  const verifier = oauth.generateRandomCodeVerifier();
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
  const address = new URL(endpoint);
  const asked = {
    response_type: "code",
    client_id: provider.client.id,
    redirect_uri: redirectUri,
    scope: provider.client.scopes.join(" "),
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
  return { address: address.href, state, nonce, verifier };
}

/** Returns the claims of the user who signed in. Throws an AptoveError `sign_in_refused` or `identity_unavailable`. */
export async function redeemSignIn(
  provider: SignInProvider,
  { answer, redirectUri, state, nonce, verifier }: IdentityAnswer,
  now: number,
): Promise<JWTPayload> {
  const metadata = await provider.metadata();
  // Seconds: the library compares times of tokens with the system's clock.
  const client: oauth.Client = {
    client_id: provider.client.id,
    [oauth.clockSkew]: Math.round((now - Date.now()) / 1_000),
    [oauth.clockTolerance]: limits.bearerClockToleranceMs / 1_000,
  };
  try {
    const given = oauth.validateAuthResponse(metadata, client, new URLSearchParams(answer), state);
    const { secret } = provider.client;
    const authentication = secret === null ? oauth.None() : secretSentAs(metadata)(secret);
    // Plain HTTP is only configured for a provider on this machine (oidc-settings.ts).
    const how = {
      [oauth.customFetch]: provider.fetch,
      [oauth.allowInsecureRequests]: provider.issuer.startsWith("http:"),
    };
    const response = await oauth.authorizationCodeGrantRequest(
      metadata,
      client,
      authentication,
      given,
      redirectUri,
      verifier,
      how,
    );
    const expected = { expectedNonce: nonce, requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(metadata, client, response, expected);
    const claims = await provider.checked(tokens.id_token ?? "", now);
    if (claims === null) throw refused("the identity provider's answer is not signed with one of its keys");
    return { ...(await userInfo({ metadata, client, how }, tokens.access_token, claims.sub)), ...claims };
  } catch (error) {
    throw failureOf(error);
  }
}

/** Returns what the provider says of the user beside the ID token: many providers leave names, addresses and groups out of it. */
async function userInfo(
  {
    metadata,
    client,
    how,
  }: { metadata: oauth.AuthorizationServer; client: oauth.Client; how: oauth.UserInfoRequestOptions },
  accessToken: string,
  subject: string | undefined,
): Promise<JWTPayload> {
  if (metadata.userinfo_endpoint === undefined) return {};
  const response = await oauth.userInfoRequest(metadata, client, accessToken, how);
  return (await oauth.processUserInfoResponse(metadata, client, subject ?? "", response)) as JWTPayload;
}

function secretSentAs(metadata: oauth.AuthorizationServer): typeof oauth.ClientSecretBasic {
  const known = metadata.token_endpoint_auth_methods_supported;
  // Without a list, the standard says `client_secret_basic`.
  const isPostOnly = known?.includes("client_secret_basic") === false && known.includes("client_secret_post");
  return isPostOnly ? oauth.ClientSecretPost : oauth.ClientSecretBasic;
}

function failureOf(error: unknown): AptoveError {
  if (error instanceof AptoveError) return error;
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
    const detail = plain(error.error_description ?? "");
    return refused(`the identity provider refused: ${plain(error.error)}${detail === "" ? "" : ` (${detail})`}`, error);
  }
  return refused("the answer of the identity provider does not belong to this sign-in; sign in again", error);
}

/** The provider's words come over the browser's address, so anybody may have written them. */
function plain(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, " ").slice(0, 200);
}

function refused(message: string, cause?: unknown): AptoveError {
  return new AptoveError("sign_in_refused", message, { cause });
}
