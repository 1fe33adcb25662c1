/** Tokens of an OpenID provider. The provider runs in this process; the test controls its keys and its clock (H4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from "jose";
import { localOrgId } from "../../domain/caller.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { testDoor } from "../../../testing/http-door.ts";
import { MergedValues } from "../../configuration/merged-values.ts";
import { checkOidc, settleOidc, type OidcSettings } from "../../configuration/oidc-settings.ts";
import { noObserver, type ObserverNote } from "../../telemetry/observer.ts";
import { openIdProvider, type OidcOptions } from "./oidc.ts";

const issuer = "https://id.example.org";
const now = 1_800_000_000_000;
const seconds = now / 1_000;
const orgId = newId();

const ofAll = (id: string) => ({ id, claim: null, ids: {} });

interface Published {
  /** What the provider answers, and how many requests it has received. */
  jwks: JWK[];
  status: number;
  asked: string[];
}

async function keyPair(
  kid: string,
  alg = "RS256",
): Promise<{ kid: string; alg: string; privateKey: CryptoKey; publicKey: CryptoKey; jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

const [first, second, foreign] = await Promise.all([keyPair("one"), keyPair("two", "ES256"), keyPair("one")]);

function provider(over: Partial<OidcOptions> = {}): {
  identify(token: string, at?: number): Promise<unknown>;
  published: Published;
  /** The reasons and faults that the operator received. */
  refusals: string[];
  reports: string[];
} {
  const refusals: string[] = [];
  const reports: string[] = [];
  const published: Published = { jwks: [first.jwk], status: 200, asked: [] };
  const fetch: typeof globalThis.fetch = async (url) => {
    published.asked.push(String(url));
    const isMetadata = String(url).endsWith("/.well-known/openid-configuration");
    const answer = isMetadata ? { issuer, jwks_uri: `${issuer}/keys` } : { keys: published.jwks };
    return Response.json(answer, { status: published.status });
  };
  const checked = openIdProvider({
    issuer,
    audience: "aptove",
    client: null,
    jwksUrl: null,
    algorithms: ["RS256", "ES256"],
    userClaim: "sub",
    org: ofAll(orgId),
    roles: null,
    mayBeAdded: false,
    report: (message, error) => void reports.push(error instanceof Error ? `${message}: ${error.message}` : message),
    refused: (reason) => void refusals.push(reason),
    fetch,
    ...over,
  });
  return { identify: (token, at = now) => checked.identify(token, at), published, refusals, reports };
}

const good: JWTPayload = { iss: issuer, aud: "aptove", sub: "ada", exp: seconds + 60, iat: seconds };

async function signed(claims: JWTPayload = good, key: typeof first = first, header: object = {}): Promise<string> {
  return await new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid, ...header }).sign(key.privateKey);
}

const unsigned = (header: object, claims: object = good): string =>
  [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");

test("[H4] a valid token names its user; the keys are at the address in the provider's metadata, and fetched once", async () => {
  const { identify, published } = provider();
  const expected = { orgId, by: { externalId: "ada" }, name: "ada", role: null, mayBeAdded: false };
  assert.deepEqual(await identify(await signed()), expected);
  assert.deepEqual(await identify(await signed({ ...good, name: "Ada", aud: ["x", "aptove"] })), {
    ...expected,
    name: "Ada",
  });
  assert.deepEqual(published.asked, [`${issuer}/.well-known/openid-configuration`, `${issuer}/keys`]);
});

/** Each token has one fault. The public key as a shared secret is the classic confusion of algorithms. */
const bad: [what: string, make: () => Promise<string>][] = [
  ["another issuer", () => signed({ ...good, iss: `${issuer}/` })],
  ["another audience", () => signed({ ...good, aud: "other" })],
  ["no audience", () => signed({ ...good, aud: undefined as never })],
  ["expired", () => signed({ ...good, exp: seconds - 31 })],
  ["never expiring", () => signed({ ...good, exp: undefined as never })],
  ["not valid yet", () => signed({ ...good, nbf: seconds + 31 })],
  ["no user", () => signed({ ...good, sub: undefined as never })],
  ["a user who is no text", () => signed({ ...good, sub: ["ada"] as never })],
  ["a user with a control character", () => signed({ ...good, sub: "ada\u0000" })],
  ["an unknown key", () => signed(good, { ...first, kid: "none" })],
  ["a foreign key under a known key id", () => signed(good, foreign)],
  ["a key in the token itself", () => signed(good, foreign, { jwk: foreign.jwk, kid: undefined })],
  ["no signature", () => Promise.resolve(`${unsigned({ alg: "none" })}.`)],
  ["an algorithm that is not allowed", async () => signed(good, { ...(await keyPair("one", "RS512")), kid: "one" })],
  [
    "the public key as a shared secret",
    async () => {
      const secret = Buffer.from(await exportSPKI(first.publicKey));
      return await new SignJWT(good).setProtectedHeader({ alg: "HS256", kid: "one" }).sign(secret);
    },
  ],
  [
    "a changed claim",
    async () => {
      const [header = "", , signature = ""] = (await signed()).split(".");
      return `${header}.${Buffer.from(JSON.stringify({ ...good, sub: "eve" })).toString("base64url")}.${signature}`;
    },
  ],
  ["a critical extension", () => Promise.resolve(`${unsigned({ alg: "RS256", kid: "one", crit: ["x"], x: 1 })}.AA`)],
  ["more than anybody sends", () => signed({ ...good, more: "x".repeat(limits.bearerCharactersMax) })],
  ["no token", () => Promise.resolve("..")],
  ["parts that are no base64", () => Promise.resolve("a.b!.c")],
];

for (const [what, make] of bad) {
  test(`[H4] a token with ${what} is refused`, async () => {
    const { identify, refusals } = provider();
    assert.equal(await identify(await make()), null);
    assert.equal(refusals.length, 1, "the operator receives one reason");
  });
}

test("[H4] [F10] the operator receives why a token is refused, as a word of a fixed set", async () => {
  const { identify, refusals } = provider({ userClaim: "email", org: { id: null, claim: "team", ids: {} } });
  const mail = { ...good, email: "ada@example.org", email_verified: true, team: "red" };
  const faults: [claims: JWTPayload, reason: string][] = [
    [{ ...mail, aud: "other" }, "audience"],
    [{ ...mail, iss: "https://evil.example" }, "issuer"],
    [{ ...mail, exp: seconds - 31 }, "expired"],
    [{ ...mail, nbf: seconds + 31 }, "not_valid_yet"],
    [{ ...mail, exp: undefined as never }, "claim_missing"],
    [{ ...mail, email: 1 }, "user_claim"],
    [{ ...mail, team: undefined }, "org_claim"],
    [{ ...mail, email_verified: false }, "email_unverified"],
  ];
  for (const [claims] of faults) assert.equal(await identify(await signed(claims)), null);
  assert.equal(await identify(await signed(mail, { ...first, kid: "none" })), null);
  assert.equal(await identify(await signed(mail, foreign)), null);
  assert.deepEqual(refusals, [...faults.map(([, reason]) => reason), "key_unknown", "signature"]);
});

test("[H4] [F10] a provider that is away is reported once, with its address and the cause, and once more when it is back", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1 });
  const cause = new Error("connect ECONNREFUSED 192.0.2.1:443");
  let isAway = true;
  const { identify, refusals, reports } = provider({
    fetch: async (url) => {
      if (isAway) throw new TypeError("fetch failed", { cause });
      return Response.json(
        String(url).endsWith("/keys") ? { keys: [first.jwk] } : { issuer, jwks_uri: `${issuer}/keys` },
      );
    },
  });
  for (let n = 0; n < 2; n += 1) await assert.rejects(identify(await signed()), { code: "identity_unavailable" });
  const fault = `the identity provider could not be read; check that the server can reach ${issuer}`;
  assert.deepEqual(reports, [`${fault}: fetch failed: connect ECONNREFUSED 192.0.2.1:443`]);
  assert.deepEqual(refusals, ["provider_unavailable", "provider_unavailable"]);
  isAway = false;
  const later = performance.now() + limits.identityRestMs;
  t.mock.method(performance, "now", () => later);
  assert.ok(await identify(await signed()));
  assert.deepEqual(reports.slice(1), [`a fault is over: ${fault}`]);
});

test("[H4] clocks may be half a minute apart", async () => {
  const { identify } = provider();
  assert.ok(await identify(await signed({ ...good, exp: seconds - 29, nbf: seconds - 90 })));
  assert.ok(await identify(await signed({ ...good, nbf: seconds + 29 })));
});

test("[H4] the provider changes its keys, and bad tokens do not cause repeated requests to it", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1 });
  const { identify, published } = provider();
  assert.ok(await identify(await signed()));
  published.jwks = [second.jwk];
  const rotated = await signed(good, second);
  assert.equal(await identify(rotated), null);
  assert.equal(published.asked.length, 2);
  t.mock.timers.tick(30_001);
  assert.ok(await identify(rotated));
  assert.equal(published.asked.length, 3);
  for (let n = 0; n < 20; n++) await identify(await signed(good, { ...second, kid: `k${n}` }));
  assert.equal(published.asked.length, 3);
});

test("[H4] an unreachable provider does not make a token invalid, and gets no request for a while", async () => {
  const { identify, published } = provider({ jwksUrl: `${issuer}/keys` });
  published.status = 503;
  const token = await signed();
  for (let n = 0; n < 5; n++) await assert.rejects(identify(token), { code: "identity_unavailable" });
  assert.equal(published.asked.length, 1);
  const huge = provider({ fetch: async () => new Response("x".repeat(limits.identityBytesMax + 1)) });
  await assert.rejects(huge.identify(token), { code: "identity_unavailable" });
  const other = provider({ fetch: async () => Response.json({ issuer: "https://evil.example", jwks_uri: issuer }) });
  await assert.rejects(other.identify(token), { code: "identity_unavailable" });
});

test("[H4] org, role and address come from the claims that the configuration names", async () => {
  const values = { admin: ["ops"], member: ["dev"], reader: ["guests"] };
  const { identify } = provider({
    userClaim: "email",
    org: { id: null, claim: "team", ids: { red: "org-1" } },
    roles: { claim: "groups", values },
  });
  const mail = { ...good, email: "Ada@Example.org", email_verified: true, team: "red" };
  const of = async (more: object): Promise<unknown> => await identify(await signed({ ...mail, ...more }));
  assert.partialDeepStrictEqual(await of({}), { orgId: "org-1", by: { email: "ada@example.org" }, role: "reader" });
  assert.partialDeepStrictEqual(await of({ groups: ["dev", "ops"], team: "org-2" }), { orgId: "org-2", role: "admin" });
  assert.partialDeepStrictEqual(await of({ groups: "x dev" }), { role: "member" });
  for (const refused of [{ email_verified: false }, { email_verified: "true" }, { team: undefined }, { team: 1 }]) {
    assert.equal(await of(refused), null);
  }
});

test("[H4] over HTTP a token authenticates the user it names, and a bad one is a 401 like any other", async (t) => {
  let at = now;
  const { identify } = provider({ org: ofAll(localOrgId) });
  const adding = provider({ org: ofAll(localOrgId), mayBeAdded: true });
  let isAdding = false;
  const identities = {
    identify: async (token: string, time: number) => await (isAdding ? adding : { identify }).identify(token, time),
  };
  const reasons: string[] = [];
  const note = (one: ObserverNote) => void (one.type === "token_refused" && reasons.push(one.reason));
  const observer = { ...noObserver, note };
  const door = await testDoor(t, { identities: identities as never, now: () => at, observer });
  const token = await signed({ ...good, exp: seconds + 60 });
  const as = { ...door.admin, key: token };
  await door.refused("unauthenticated", "GET /api/me", { as });
  const { people } = door.client();
  const user = await people.add({ name: "Ada", externalId: "ada", role: "member" });
  assert.partialDeepStrictEqual(await (await door.call("GET /api/me", { as })).json(), {
    userId: user.id,
    role: "member",
  });
  await people.change(user.id, { disabled: true });
  await door.refused("unauthenticated", "GET /api/me", { as });
  assert.deepEqual(reasons, ["user_unknown", "user_disabled"]);
  await people.change(user.id, { disabled: false });
  const ended = Promise.withResolvers<void>();
  const caller = { orgId: localOrgId, userId: user.id, role: user.role };
  t.after(door.engine.keys.watch({ secret: token, caller }, ended.resolve));
  at = now + 120_000;
  await door.refused("unauthenticated", "GET /api/me", { as });
  // A listener with a token is notified when the token expires.
  await ended.promise;
  at = now;
  isAdding = true;
  const grace = { ...door.admin, key: await signed({ ...good, sub: "grace", name: "Grace" }) };
  const [one, two] = await Promise.all([1, 2].map(async () => (await door.call("GET /api/me", { as: grace })).json()));
  assert.deepEqual(one, two);
  assert.partialDeepStrictEqual(one, { name: "Grace", role: "reader" });
});

test("[H4] [W7] a section without an issuer, an audience or an org is refused at the start", () => {
  const whole = { "oidc.issuer": issuer, "oidc.audience": "aptove", "oidc.org": orgId };
  const settled = (keys: object): OidcSettings => settleOidc(new MergedValues(new Map(Object.entries(keys))));
  checkOidc(settled({}));
  checkOidc(settled(whole));
  checkOidc(settled({ ...whole, "oidc.issuer": "http://localhost:8080/realm" }));
  const faults: [object, RegExp][] = [
    [{ "oidc.audience": "aptove" }, /issuer: is missing/],
    [{ "oidc.issuer": issuer, "oidc.org": orgId }, /audience: is missing/],
    [{ "oidc.issuer": issuer, "oidc.audience": "aptove" }, /org or org_claim/],
    [{ ...whole, "oidc.issuer": "http://id.example.org" }, /https/],
  ];
  for (const [keys, detail] of faults) {
    assert.throws(() => checkOidc(settled(keys)), { code: "config_invalid", detail });
  }
});
