/** The page and the sign-in of a browser (U1, U2). The rights of callers with the cookie are in testing/access-matrix.test.ts. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { gzipSync, brotliCompressSync, gunzipSync } from "node:zlib";
import { limits } from "../../../domain/limits.ts";
import { newId } from "../../../domain/ids.ts";
import { pagePaths } from "../../../protocol/page-paths.ts";
import type { WireSignedIn } from "../../../protocol/sign-in.ts";
import { testDoor, type TestDoor } from "../../../../testing/http-door.ts";
import { operatorDoor } from "../operator-door.ts";
import { findPage } from "./find-page.ts";
import { readPageFiles, type PageFiles } from "./page-files.ts";

function somePage(t: TestContext): PageFiles {
  const folder = mkdtempSync(join(tmpdir(), "aptove-page-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = { "index.html": "<!doctype html><title>aptove</title>", "page-ABC.js": "console.log(1)" };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, `${name}.gz`), gzipSync(text));
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(text));
  }
  return readPageFiles(folder) ?? assert.fail("there is no page");
}

interface Browser {
  headers: Record<string, string>;
  cookie: string;
  pageSecret: string;
}

async function signedIn(door: TestDoor, proof: object, headers: Record<string, string> = {}): Promise<Browser> {
  const response = await door.call("POST /api/sign-in", { as: null, json: { name: "Chrome", ...proof }, headers });
  const { pageSecret } = (await response.json()) as WireSignedIn;
  const cookie = response.headers.get("set-cookie") ?? assert.fail("no cookie was set");
  return { headers: { cookie: cookie.split(";", 1)[0] ?? "", "x-aptove-page": pageSecret }, cookie, pageSecret };
}

async function newCode(door: TestDoor): Promise<string> {
  return ((await (await door.call("POST /api/sign-in/codes")).json()) as { code: string }).code;
}

test("[U1] every address of the page has the same document, without a key and with a policy that lets nothing in", async (t) => {
  const door = await testDoor(t, { door: { page: somePage(t) } });
  for (const path of Object.values(pagePaths)) {
    const at = path.replaceAll(/:\w+/g, "x");
    const page = await door.call(`GET ${at}`, { as: null, headers: { accept: "text/html,*/*" } });
    assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
    assert.equal(page.headers.get("cache-control"), "no-cache");
    const policy = page.headers.get("content-security-policy") ?? "";
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
      "frame-ancestors 'none'",
    ]) {
      assert.ok(policy.includes(part), part);
    }
    assert.ok(!/unsafe|https?:|\*/.test(policy));
    assert.match(await page.text(), /<title>aptove/);
    await door.refused("unauthenticated", `POST ${at}`, { as: null });
  }
  const wrong = new Request("http://localhost:4870/nothing/here", { headers: { accept: "text/html" } });
  const mistaken = await door.door.fetch(wrong);
  assert.deepEqual([mistaken.status, /<title>aptove/.test(await mistaken.text())], [404, true]);
  await door.refused("unauthenticated", "GET /nothing/here", { as: null });
  await door.refused("unauthenticated", "GET /api/nothing", { as: null, headers: { accept: "text/html" } });
  const text = await door.call("GET /", { as: null });
  assert.match(text.headers.get("content-type") ?? "", /^text\/plain/);
  await door.refused("origin_refused", "GET /", { as: null, headers: { origin: "https://evil.example" } });
});

test("[U1] the files of the page are compressed ahead and never change, and there are no others", async (t) => {
  const door = await testDoor(t, { door: { page: somePage(t) } });
  const get = (name: string, accepted: string) =>
    door.call(`GET /assets/${name}`, { as: null, headers: { "accept-encoding": accepted } });
  for (const [accepted, encoding] of [
    ["gzip, deflate, br", "br"],
    ["gzip", "gzip"],
    ["identity", null],
  ] as const) {
    const file = await get("page-ABC.js", accepted);
    assert.equal(file.headers.get("content-encoding"), encoding);
    assert.equal(file.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.match(file.headers.get("content-type") ?? "", /javascript/);
    const bytes = Buffer.from(await file.arrayBuffer());
    assert.equal(Number(file.headers.get("content-length")), bytes.length);
    if (encoding === "gzip") assert.equal(gunzipSync(bytes).toString(), "console.log(1)");
  }
  for (const name of ["none.js", "index.html", "page-ABC.js.gz", "..%2findex.html", "%00"]) {
    await door.refused("not_found", `GET /assets/${name}`, { as: null });
  }
});

test("[U1] a server whose page was not built says so", async (t) => {
  const door = await testDoor(t);
  const page = await door.call("GET /", { as: null, headers: { accept: "text/html" } });
  assert.match(await page.text(), /was not built/);
});

test("[U2] the code of an address signs one browser in, once", async (t) => {
  const door = await testDoor(t);
  const code = await newCode(door);
  const browser = await signedIn(door, { code });
  const me = (await (await door.call("GET /api/me", { as: null, headers: browser.headers })).json()) as {
    userId: string;
  };
  assert.equal(me.userId, door.admin.userId);
  await door.refused("sign_in_refused", "POST /api/sign-in", { as: null, json: { code, name: "second" } });
  await door.refused("sign_in_refused", "POST /api/sign-in", { as: null, json: { code: "wrong", name: "x" } });
});

test("[U2] a code ends after an hour, and with the access of the person who made it", async (t) => {
  const clock = { now: Date.now() };
  const door = await testDoor(t, { now: () => clock.now });
  const late = await newCode(door);
  clock.now += limits.signInCodeMs;
  await door.refused("sign_in_refused", "POST /api/sign-in", { as: null, json: { code: late, name: "x" } });
  const member = await door.person("member");
  const made = await door.call("POST /api/sign-in/codes", { as: member });
  const { code } = (await made.json()) as { code: string };
  await door.engine.people.changeUser(door.admin, member.userId, { disabled: true });
  await door.refused("sign_in_refused", "POST /api/sign-in", { as: null, json: { code, name: "x" } });
});

test("[U2] a key signs a browser in, also a reader's; a device's token and a wrong key do not", async (t) => {
  const door = await testDoor(t);
  const reader = await door.person("reader");
  const browser = await signedIn(door, { key: reader.key });
  await door.call("GET /api/me", { as: null, headers: browser.headers });
  const { headers } = browser;
  await door.refused("forbidden", "POST /api/sessions", { as: null, json: {}, headers });
  const { code } = await door.engine.devices.pair(door.admin);
  const { token } = await door.engine.devices.claim({ code, name: "phone" });
  for (const key of [token, `aptove_${newId()}`, ""]) {
    await door.refused("sign_in_refused", "POST /api/sign-in", { as: null, json: { key, name: "x" } });
  }
});

test("[U2] [P3] a pairing code makes the browser a device", async (t) => {
  const door = await testDoor(t);
  const { code } = await door.engine.devices.pair(door.admin);
  const { headers } = await signedIn(door, { pairingCode: code, name: "phone" });
  const me = (await (await door.call("GET /api/me", { as: null, headers })).json()) as { deviceId: string | null };
  assert.notEqual(me.deviceId, null);
  const [device] = await door.engine.devices.list(door.admin);
  assert.equal(device?.name, "phone");
  await door.refused("forbidden", "POST /api/sign-in/codes", { as: null, headers });
});

test("[U2] the cookie is for the API of this host alone, and no script can read it", async (t) => {
  const door = await testDoor(t, { door: { allowedHosts: ["aptove.example.org"] } });
  const { cookie } = await signedIn(door, { key: door.admin.key });
  const flags = cookie.split("; ").slice(1);
  assert.deepEqual(flags.slice(0, 3), ["Path=/api", "HttpOnly", "SameSite=Strict"]);
  assert.equal(flags[3], `Max-Age=${limits.browserSignInMs / 1_000}`);
  assert.ok(!flags.includes("Secure"));
  const tls = { origin: "https://aptove.example.org", host: "aptove.example.org" };
  assert.match((await signedIn(door, { key: door.admin.key }, tls)).cookie, /; Secure$/);
});

test("[U2] neither the cookie nor the page's secret is enough, and nothing of another page is", async (t) => {
  const door = await testDoor(t, { door: { allowedOrigins: ["https://app.example.org"] } });
  const one = await signedIn(door, { key: door.admin.key });
  const other = await signedIn(door, { key: door.admin.key });
  const { cookie = "", "x-aptove-page": page = "" } = one.headers;
  const [name = "", half = ""] = page.split(".");
  const wrong: Record<string, string>[] = [
    { cookie },
    { "x-aptove-page": page },
    { cookie, "x-aptove-page": other.pageSecret },
    { cookie: other.headers["cookie"] ?? "", "x-aptove-page": page },
    { cookie, "x-aptove-page": half },
    { cookie, "x-aptove-page": `${name}.` },
    { cookie, "x-aptove-page": `${name}.${"x".repeat(22)}` },
    { cookie, "x-aptove-page": page, "sec-fetch-site": "same-site" },
    { cookie, "x-aptove-page": page, "sec-fetch-site": "cross-site" },
    { cookie, "x-aptove-page": page, "sec-fetch-site": "none" },
    { cookie, "x-aptove-page": page, origin: "https://app.example.org" },
    { cookie, "x-aptove-page": page, authorization: "Bearer wrong" },
  ];
  for (const headers of wrong) await door.refused("unauthenticated", "GET /api/me", { as: null, headers });
  const foreign = { ...one.headers, origin: "http://localhost:3000" };
  await door.refused("origin_refused", "GET /api/me", { as: null, headers: foreign });
  const asks = { origin: "https://app.example.org", "access-control-request-method": "GET" };
  const preflight = await door.call("OPTIONS /api/me", { as: null, headers: asks });
  assert.doesNotMatch(preflight.headers.get("access-control-allow-headers") ?? "", /x-aptove-page/);
  await door.call("GET /api/me", { as: null, headers: { ...one.headers, "sec-fetch-site": "same-origin" } });
});

test("[U2] the cookie opens nothing but the API: no mount, no WebSocket, no metrics", async (t) => {
  const asked: string[] = [];
  const mount = {
    path: "/other" as const,
    methods: ["GET"],
    bodyBytesMax: 1,
    fetch: async () => (asked.push("mount"), new Response()),
    upgrade: async () => void asked.push("upgrade"),
  };
  const door = await testDoor(t, { door: { mounts: [mount] } });
  const { headers } = await signedIn(door, { key: door.admin.key });
  await door.refused("unauthenticated", "GET /other", { as: null, headers });
  const metrics = { text: async () => "", contentType: "text/plain" };
  const operator = operatorDoor({ engine: door.engine, allowedHosts: [], metrics, report: () => undefined });
  const page = new Request("http://localhost/metrics", { headers: { ...headers, origin: "http://localhost" } });
  assert.equal((await operator.fetch(page)).status, 403);
  assert.deepEqual(asked, []);
});

test("[U2] a browser is listed with its name, ends after its time, and can be revoked while a stream is open", async (t) => {
  const held = Promise.withResolvers<void>();
  const now = Date.now();
  const door = await testDoor(t, { now: () => now, script: () => [{ says: ["one ", held.promise, "two"] }] });
  const { headers } = await signedIn(door, { key: door.admin.key, name: "Firefox on Linux" });
  const listed = (await (await door.call("GET /api/keys")).json()) as {
    keys: { id: string; name: string; isBrowser: boolean; expiresAt: string | null }[];
  };
  const [browser] = listed.keys.filter(({ isBrowser }) => isBrowser);
  assert.equal(browser?.name, "Firefox on Linux");
  assert.equal(Date.parse(browser.expiresAt ?? ""), now + limits.browserSignInMs);
  const { turnId } = await door.client().start({ instruction: "x" });
  const stream = await door.call(`GET /api/turns/${turnId}/events`, { as: null, headers });
  const ended = stream.text();
  await door.call(`DELETE /api/keys/${browser.id}`);
  await ended;
  await door.refused("unauthenticated", "GET /api/me", { as: null, headers });
  held.resolve();
});

test("[U2] signing out ends this browser, and no key that a program uses", async (t) => {
  const door = await testDoor(t);
  const { headers } = await signedIn(door, { key: door.admin.key });
  const out = await door.call("DELETE /api/sign-in", { as: null, headers });
  assert.match(out.headers.get("set-cookie") ?? "", /^aptove_[0-9a-f]{12}=; .*Max-Age=0/);
  await door.refused("unauthenticated", "GET /api/me", { as: null, headers });
  await door.call("DELETE /api/sign-in");
  await door.call("GET /api/me");
});

test("[U1] a clone that runs its sources serves the page of its newest bundle, whatever else is beside it", (t) => {
  const root = mkdtempSync(join(tmpdir(), "aptove-clone-"));
  t.after(() => rmSync(root, { recursive: true }));
  assert.equal(findPage(root), null);
  const bundles = join(root, ".cache", "bundles");
  const page = join(bundles, "abc", "page");
  mkdirSync(page, { recursive: true });
  writeFileSync(join(bundles, "current.json"), "{}");
  assert.equal(findPage(root), null);
  for (const ending of ["", ".gz", ".br"]) writeFileSync(join(page, `index.html${ending}`), "x");
  assert.notEqual(findPage(root), null);
});
