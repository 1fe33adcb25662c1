/** A real OpenID provider on this machine, and a person who signs in there with a browser's requests but without a browser. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { Provider, type Configuration } from "oidc-provider";
import { localOrgId } from "../src/domain/caller.ts";
import type { OidcOptions } from "../src/identity/oidc/oidc.ts";

export interface OpenIdServer {
  issuer: string;
  provider: Provider;
}

export interface OpenIdServerOptions {
  redirectUris: readonly string[];
  /** The claims of each account, by the name that the person signs in with. */
  accounts: Readonly<Record<string, Record<string, unknown>>>;
  /** Null: a public client. */
  clientSecret?: string;
}

export const openIdClientId = "aptove-page";

/** Our side of such a provider: browsers sign in, everybody whom the provider knows gets in, and no access token is accepted. */
export const openIdOptions: Omit<OidcOptions, "issuer"> = {
  audience: null,
  client: { id: openIdClientId, secret: null, scopes: ["openid", "profile", "email"] },
  jwksUrl: null,
  algorithms: ["RS256"],
  userClaim: "sub",
  org: { id: localOrgId, claim: null, ids: {} },
  roles: null,
  mayBeAdded: true,
  report: () => undefined,
  refused: () => undefined,
};

/** Starts a provider with one client. Its pages ask for a name, take any password, and ask for consent. */
export async function openIdServer(
  t: TestContext,
  { redirectUris, accounts, clientSecret }: OpenIdServerOptions,
): Promise<OpenIdServer> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const configuration: Configuration = {
    clients: [
      {
        client_id: openIdClientId,
        redirect_uris: [...redirectUris],
        grant_types: ["authorization_code"],
        response_types: ["code"],
        ...(clientSecret === undefined
          ? { token_endpoint_auth_method: "none" }
          : { client_secret: clientSecret, token_endpoint_auth_method: "client_secret_basic" }),
      },
    ],
    claims: { openid: ["sub"], profile: ["name", "groups"], email: ["email", "email_verified"] },
    cookies: { keys: ["a key of a test"] },
    findAccount: async (_context, id) =>
      Object.hasOwn(accounts, id) ? { accountId: id, claims: async () => ({ sub: id, ...accounts[id] }) } : undefined,
  };
  // It says that it keeps everything in memory and makes its own pages, which is what a test wants.
  for (const name of ["info", "warn"] as const) t.mock.method(console, name, () => undefined);
  const provider = new Provider(issuer, configuration);
  server.on("request", (request, response) => void provider.callback()(request, response));
  return { issuer, provider };
}

/** Signs in as `account` at the address, and returns where the provider sends the browser to. */
export async function signInThere(address: string, account: string): Promise<URL> {
  const cookies = new Map<string, string>();
  const visit = async (url: string, form?: Record<string, string>): Promise<Response> => {
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form !== undefined && { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    return response;
  };
  let [url, form]: [string, Record<string, string> | undefined] = [address, undefined];
  const { origin } = new URL(address);
  for (let steps = 0; steps < 20; steps++) {
    const response = await visit(url, form);
    const next = response.headers.get("location");
    if (next !== null) {
      const to = new URL(next, url);
      if (to.origin !== origin) return to;
      [url, form] = [to.href, undefined];
      continue;
    }
    const page = await response.text();
    const action = /action="([^"]+)"/.exec(page)?.[1] ?? assert.fail(page.slice(0, 500));
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? assert.fail(page.slice(0, 500));
    [url, form] = [
      new URL(action, url).href,
      prompt === "login" ? { prompt, login: account, password: "x" } : { prompt },
    ];
  }
  return assert.fail("the provider sent the browser in a circle");
}
