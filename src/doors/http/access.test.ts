/** Who may come in, and who may do what: nothing is open by default (H4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorCode } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { ExecuteAnswer } from "../../protocol/execute.ts";
import { paths } from "../../protocol/paths.ts";
import type { RouteName } from "../../protocol/paths.ts";
import { routes } from "../../protocol/routes.ts";
import { testDoor, type CallOptions, type TestDoor } from "../../../testing/http-door.ts";

const execute = "/api/ai/agent/execute";

interface Sample {
  method: string;
  at: string;
  options: CallOptions;
}

/** A request that each route takes, about one session and its turn. */
function sampleOf(name: RouteName, { sessionId, turnId }: { sessionId: string; turnId: string }): Sample {
  const { method, path } = paths[name];
  const isOfNone = path.startsWith("/api/keys") || path.startsWith("/api/devices");
  const id = path.startsWith("/api/turns") ? turnId : isOfNone ? newId() : sessionId;
  const queries: Partial<Record<RouteName, string>> = {
    getRequest: "?step=1",
    getResponse: "?step=1",
    diffTurns: `?with=${turnId}`,
    search: "?q=hello",
  };
  const bodies: Partial<Record<RouteName, object>> = {
    execute: { instruction: "x", sessionId },
    createSession: {},
    updateSession: { name: "new" },
    moveHead: { from: turnId, to: turnId },
    steerSession: { text: "x" },
    steerTurn: { text: "x" },
    fireMailbox: {},
    collectGarbage: { dryRun: true },
    createKey: { name: "k" },
    createPairingCode: {},
    putContextEntry: { content: {} },
  };
  const json = bodies[name];
  const file = { body: "", headers: { "content-type": "application/x-ndjson" } };
  const options = name === "importSessions" ? file : json === undefined ? {} : { json };
  return {
    method,
    at: path.replace("{id}", id).replace("{kind}/{name}", "conversation/default") + (queries[name] ?? ""),
    options,
  };
}

/** What a colleague may not do in a session that is public: the owner may, and an admin some of it. */
const ownersOnly = new Set<RouteName>([
  "execute",
  "fireMailbox",
  "interruptSession",
  "steerSession",
  "interruptTurn",
  "steerTurn",
  "updateSession",
  "moveHead",
  "archiveSession",
  "unarchiveSession",
  "removeSession",
  "restoreSession",
  "purgeSession",
]);

/** What the samples of these routes are refused for, whoever asks. */
const alwaysRefused: Partial<Record<RouteName, ErrorCode>> = {
  importSessions: "import_invalid",
  steerSession: "turn_not_running",
  steerTurn: "turn_not_running",
  fireMailbox: "mailbox_empty",
  getPairingCode: "not_found",
  revokeDevice: "not_found",
  retireContextEntry: "not_found",
  listContextVersions: "not_found",
};

const aboutRemoved = new Set<RouteName>(["restoreSession", "purgeSession"]);

async function withTurn(door: TestDoor): Promise<ExecuteAnswer> {
  const response = await door.call(`POST ${execute}`, { json: { instruction: "hello" } });
  return (await response.json()) as ExecuteAnswer;
}

const guarded = (Object.keys(routes) as RouteName[]).filter((name) => !["open"].includes(routes[name].access));

test("[H4] without a key that is in use nothing is answered, on no route and on no path", async (t) => {
  const door = await testDoor(t);
  const ids = await withTurn(door);
  const { key } = door.admin;
  const wrong: Record<string, string>[] = [
    {},
    { authorization: `Bearer aptove_${newId()}` },
    { authorization: `Bearer ${key}x` },
    { authorization: `Basic ${key}` },
    { authorization: key },
    { authorization: `Bearer ${key} ${key}` },
    { authorization: "Bearer" },
    { cookie: `key=${key}` },
    { "x-api-key": key },
  ];
  for (const name of guarded) {
    const { method, at, options } = sampleOf(name, ids);
    for (const headers of wrong) {
      const { detail } = await door.refused("unauthenticated", `${method} ${at}`, { ...options, as: null, headers });
      assert.ok(!detail.includes(key));
    }
    await door.refused("unauthenticated", `PUT ${at}`, { as: null });
  }
  for (const at of ["/", "/nothing", "/api/../healthz/x", `/api/me?key=${key}`]) {
    await door.refused("unauthenticated", `GET ${at}`, { as: null });
  }
  const refusal = await door.door.fetch(new Request("http://localhost/api/me"));
  assert.match(refusal.headers.get("www-authenticate") ?? "", /^Bearer/);
});

for (const name of guarded) {
  test(`[H4] ${name}: each role may do what it may, and no more`, async (t) => {
    const door = await testDoor(t);
    const ids = await withTurn(door);
    await door.engine.updateSession(door.admin, ids.sessionId, { isPublic: true });
    if (aboutRemoved.has(name)) await door.engine.tree.remove(door.admin, ids.sessionId);
    const { method, at, options } = sampleOf(name, ids);
    const { access } = routes[name];
    for (const role of ["reader", "member"] as const) {
      const as = await door.person(role);
      const isRefused = access === "admin" || (access === "write" && role === "reader");
      const refusal = isRefused || ownersOnly.has(name) ? "forbidden" : alwaysRefused[name];
      if (refusal !== undefined) await door.refused(refusal, `${method} ${at}`, { ...options, as });
      else await door.call(`${method} ${at}`, { ...options, as });
    }
  });

  test(`[H4] ${name}: what one may not see is not there`, async (t) => {
    const door = await testDoor(t);
    const ids = await withTurn(door);
    if (aboutRemoved.has(name)) await door.engine.tree.remove(door.admin, ids.sessionId);
    const { method, at, options } = sampleOf(name, ids);
    const colleague = await door.person("member");
    const stranger = await door.person("admin", newId());
    const isAboutSession = at.includes(ids.sessionId) || at.includes(ids.turnId) || name === "execute";
    for (const as of [colleague, stranger]) {
      if (isAboutSession) await door.refused("not_found", `${method} ${at}`, { ...options, as });
    }
    if (name === "listSessions") {
      for (const as of [colleague, stranger]) {
        const list = await (await door.call(`${method} ${at}`, { as })).json();
        assert.deepEqual(list, { sessions: [], nextCursor: null });
      }
    }
    if (name === "search") {
      for (const as of [colleague, stranger]) {
        assert.deepEqual(await (await door.call(`${method} ${at}`, { as })).json(), { hits: [] });
      }
    }
    if (name === "listKeys") {
      const { keys } = (await (await door.call(`${method} ${at}`, { as: stranger })).json()) as {
        keys: { userId: string }[];
      };
      assert.deepEqual(
        keys.map(({ userId }) => userId),
        [stranger.userId],
      );
    }
    if (at.includes(ids.sessionId)) {
      for (const id of [newId(), "x", "..%2f..%2fetc", "%00", "%zz", "%", ids.sessionId.toUpperCase()]) {
        await door.refused("not_found", `${method} ${at.replace(ids.sessionId, id)}`, options);
      }
    }
  });
}

test("[H4] a continuation id of somebody else's turn is not there", async (t) => {
  const door = await testDoor(t);
  const { turnId } = await withTurn(door);
  const json = { instruction: "x", responseContinuationId: turnId };
  await door.refused("not_found", `POST ${execute}`, { json, as: await door.person("member") });
});

const hosts: [host: string, isTaken: boolean][] = [
  ["localhost:4870", true],
  ["LOCALHOST", true],
  ["127.0.0.1:1", true],
  ["[::1]:4870", true],
  ["aptove.example.org", true],
  ["aptove.example.org:443", true],
  ["inside.example.org:8080", true],
  ["inside.example.org:8081", false],
  ["inside.example.org", false],
  ["evil.example.org", false],
  ["localhost.evil.example.org", false],
  ["evil.example.org:4870", false],
  ["localhost@evil.example.org", false],
  ["127.0.0.1.nip.io:4870", false],
  ["192.168.1.5:4870", false],
  ["0.0.0.0:4870", false],
  ["localhost.", false],
  ["localhost:4870:1", false],
  ["", false],
];

for (const [host, isTaken] of hosts) {
  test(`[H4] the host ${JSON.stringify(host)} is ${isTaken ? "taken" : "refused, with a good key too"}`, async (t) => {
    const allowedHosts = ["aptove.example.org", "inside.example.org:8080"];
    const door = await testDoor(t, { door: { allowedHosts } });
    if (isTaken) await door.call("GET /api/me", { headers: { host } });
    else
      for (const at of ["/api/me", "/healthz", "/none"])
        await door.refused("origin_refused", `GET ${at}`, { headers: { host } });
  });
}

const origins: [origin: string, host: string, isTaken: boolean][] = [
  ["http://localhost:4870", "localhost:4870", true],
  ["https://aptove.example.org", "aptove.example.org", true],
  ["https://app.example.org", "localhost:4870", true],
  ["http://app.example.org", "localhost:4870", false],
  ["https://app.example.org.evil.example", "localhost:4870", false],
  ["https://app.example.org:8443", "localhost:4870", false],
  ["http://localhost:3000", "localhost:4870", false],
  ["http://127.0.0.1:4870", "localhost:4870", false],
  ["null", "localhost:4870", false],
  ["", "localhost:4870", false],
  ["file://", "localhost:4870", false],
  ["https://evil.example", "localhost:4870", false],
];

for (const [origin, host, isTaken] of origins) {
  test(`[H4] a page of ${JSON.stringify(origin)} on ${host} is ${isTaken ? "answered" : "refused"}`, async (t) => {
    const door = await testDoor(t, {
      door: { allowedHosts: ["aptove.example.org"], allowedOrigins: ["https://app.example.org/"] },
    });
    const headers = { origin, host };
    if (isTaken) {
      await door.call(`POST ${execute}`, { json: { instruction: "x" }, headers });
      return;
    }
    for (const body of [{ json: { instruction: "x" } }, { body: "x", headers: { "content-type": "text/plain" } }]) {
      await door.refused("origin_refused", `POST ${execute}`, { ...body, headers: { ...body.headers, ...headers } });
    }
    await door.refused("origin_refused", `OPTIONS ${execute}`, { as: null, headers });
    assert.equal(door.provider.exchanges.length, 0);
  });
}

test("[H4] a page cannot drive the server by a simple form: the key has to stand in a header", async (t) => {
  const door = await testDoor(t);
  const form = new URLSearchParams({ instruction: "x", authorization: `Bearer ${door.admin.key}` }).toString();
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
    await door.refused("unauthenticated", `POST ${execute}`, {
      as: null,
      body: form,
      headers: { "content-type": type },
    });
  }
});

test("[H4] only an origin that is allowed by name may read answers, and no headers say so otherwise", async (t) => {
  const door = await testDoor(t, { door: { allowedOrigins: ["https://app.example.org"] } });
  const origin = "https://app.example.org";
  const plain = await door.call("GET /api/me");
  assert.deepEqual(
    [...plain.headers.keys()].filter((name) => name.startsWith("access-control")),
    [],
  );
  for (const as of [door.admin, null]) {
    const response = await door.door.fetch(
      new Request("http://localhost/api/me", { headers: { origin, ...(as && { authorization: `Bearer ${as.key}` }) } }),
    );
    assert.equal(response.headers.get("access-control-allow-origin"), origin);
    assert.equal(response.headers.get("vary"), "origin");
    assert.equal(response.headers.get("access-control-allow-credentials"), null);
  }
  const asks = { origin, "access-control-request-method": "POST" };
  const preflight = await door.call(`OPTIONS ${execute}`, { as: null, headers: asks });
  assert.equal(preflight.headers.get("access-control-allow-methods"), "POST, OPTIONS");
  assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /authorization/);
  await door.refused("unauthenticated", `OPTIONS ${execute}`, {
    as: null,
    headers: { "access-control-request-method": "POST" },
  });
});
