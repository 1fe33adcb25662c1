/** Browsers that sign in at a real OpenID provider (U2): authorization code with PKCE. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import {
  openIdOptions,
  openIdServer,
  signInThere,
  type OpenIdServerOptions,
} from "../../../../testing/openid-provider.ts";
import { testDoor, type TestDoor } from "../../../../testing/http-door.ts";
import { limits } from "../../../domain/limits.ts";
import { openIdProvider, type OidcOptions } from "../../../identity/oidc/oidc.ts";
import type { WireSignedIn, WireSignInAttempt, WireSignInWays } from "../../../protocol/sign-in.ts";

const redirectUri = "http://aptove.test/signed-in";
const accounts = {
  ada: { name: "Ada", email: "ada@example.org", email_verified: true, groups: ["engineers"] },
  eve: { name: "Eve", email: "ada@example.org", email_verified: false, groups: [] },
};

interface World extends TestDoor {
  clock: { now: number };
}

async function world(
  t: TestContext,
  over: Partial<OidcOptions> = {},
  more: Partial<OpenIdServerOptions> = {},
): Promise<World> {
  const { issuer } = await openIdServer(t, { redirectUris: [redirectUri], accounts, ...more });
  const client = { ...openIdOptions.client, secret: more.clientSecret ?? null } as OidcOptions["client"];
  const identities = openIdProvider({ ...openIdOptions, issuer, client, ...over });
  const clock = { now: Date.now() };
  return Object.assign(await testDoor(t, { now: () => clock.now, identities }), { clock });
}

async function begun(door: TestDoor): Promise<WireSignInAttempt> {
  const response = await door.call("POST /api/sign-in/attempts", { as: null, json: { redirectUri } });
  return (await response.json()) as WireSignInAttempt;
}

/** Signs in at the provider, and returns what the page sends when the browser comes back. */
async function answered(door: TestDoor, account = "ada"): Promise<{ name: string; identity: Record<string, string> }> {
  const { address, ...attempt } = await begun(door);
  const back = await signInThere(address, account);
  assert.equal(back.origin + back.pathname, redirectUri);
  return { name: "Chrome", identity: { ...attempt, answer: back.search.slice(1), redirectUri } };
}

async function signedIn(door: TestDoor, json: object): Promise<Record<string, string>> {
  const response = await door.call("POST /api/sign-in", { as: null, json });
  const { pageSecret } = (await response.json()) as WireSignedIn;
  const cookie = response.headers.get("set-cookie")?.split(";", 1)[0] ?? assert.fail("no cookie was set");
  return { cookie, "x-aptove-page": pageSecret };
}

async function me(door: TestDoor, headers: Record<string, string>): Promise<{ name: string; role: string }> {
  return (await (await door.call("GET /api/me", { as: null, headers })).json()) as { name: string; role: string };
}

for (const clientSecret of [undefined, "a secret of the client"]) {
  test(`[U2] a browser signs in at a real provider, as a ${clientSecret === undefined ? "public client" : "client with a secret"}`, async (t) => {
    const door = await world(t, {}, clientSecret === undefined ? {} : { clientSecret });
    const ways = (await (await door.call("GET /api/sign-in", { as: null })).json()) as WireSignInWays;
    assert.equal(ways.identityProvider, "127.0.0.1");
    const browser = await signedIn(door, await answered(door));
    const { name, role } = await me(door, browser);
    assert.deepEqual({ name, role }, { name: "Ada", role: "reader" });
    door.clock.now += limits.identitySignInMs;
    await door.refused("unauthenticated", "GET /api/me", { as: null, headers: browser });
  });
}

test("[U2] an answer works once, and only together with what its own attempt kept", async (t) => {
  const door = await world(t);
  const proof = await answered(door);
  const other = await begun(door);
  const refused = (identity: object): Promise<unknown> =>
    door.refused("sign_in_refused", "POST /api/sign-in", {
      as: null,
      json: { ...proof, identity: { ...proof.identity, ...identity } },
    });
  await refused({ state: other.state });
  const answer = new URLSearchParams(proof.identity["answer"]);
  answer.set("iss", "https://another.example.org");
  await refused({ answer: String(answer) });
  await refused({ answer: "error=access_denied&error_description=no%0Athanks&state=" + proof.identity["state"] });
  await refused({ answer: "" });
  await signedIn(door, proof);
  await refused({});
  // The code is bound to the verifier and the ID token to the nonce.
  for (const foreign of [{ verifier: other.verifier }, { nonce: other.nonce }]) {
    const again = await answered(door);
    await door.refused("sign_in_refused", "POST /api/sign-in", {
      as: null,
      json: { ...again, identity: { ...again.identity, ...foreign } },
    });
  }
});

test("[U2] [H4] who is not known, or whose address is not verified, does not get in", async (t) => {
  const door = await world(t, { mayBeAdded: false, userClaim: "email" });
  await door.refused("sign_in_refused", "POST /api/sign-in", { as: null, json: await answered(door) });
  await door.engine.people.addUser(door.admin, { name: "Ada L.", email: "Ada@example.org", role: "member" });
  await door.refused("sign_in_refused", "POST /api/sign-in", { as: null, json: await answered(door, "eve") });
  const { name, role } = await me(door, await signedIn(door, await answered(door)));
  assert.deepEqual({ name, role }, { name: "Ada L.", role: "member" });
});

test("[U2] [H4] the provider's role is the browser's, and is noted for the user at each sign-in", async (t) => {
  const roles = { claim: "groups", values: { admin: ["admins"], member: ["engineers"], reader: [] } };
  const door = await world(t, { roles });
  const ada = await door.engine.people.addUser(door.admin, { name: "Ada", externalId: "ada", role: "reader" });
  assert.equal((await me(door, await signedIn(door, await answered(door)))).role, "member");
  assert.equal((await door.deps.records.people.getUser(ada.id))?.role, "member");
});

test("[U2] a provider that does not answer, and a server without one, say so", async (t) => {
  const away = await world(t, { issuer: "http://127.0.0.1:9", fetch: () => Promise.reject(new Error("away")) });
  await away.refused("identity_unavailable", "POST /api/sign-in/attempts", { as: null, json: { redirectUri } });
  const without = await world(t, { client: null });
  await without.refused("sign_in_refused", "POST /api/sign-in/attempts", { as: null, json: { redirectUri } });
  const ways = (await (await without.call("GET /api/sign-in", { as: null })).json()) as WireSignInWays;
  assert.equal(ways.identityProvider, null);
  await without.refused("request_invalid", "POST /api/sign-in/attempts", {
    as: null,
    json: { redirectUri: "javascript:alert(1)" },
  });
});
