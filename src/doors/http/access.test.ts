/** Authentication and origins: nothing is open by default (H4). The rights of roles are in testing/access-matrix.test.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import type { ExecuteAnswer } from "../../protocol/execute.ts";
import { testDoor, type TestDoor } from "../../../testing/http-door.ts";

const execute = "/api/ai/agent/execute";

async function withTurn(door: TestDoor): Promise<ExecuteAnswer> {
  const response = await door.call(`POST ${execute}`, { json: { instruction: "hello" } });
  return (await response.json()) as ExecuteAnswer;
}

test("[H4] without a valid key every route and every path refuses", async (t) => {
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
  for (const line of ["GET /api/me", `GET /api/turns/${ids.turnId}/events`, `POST ${execute}`]) {
    for (const headers of wrong) {
      const { detail } = await door.refused("unauthenticated", line, { as: null, headers });
      assert.ok(!detail.includes(key));
    }
    await door.refused("unauthenticated", line.replace(/^\w+/, "PUT"), { as: null });
  }
  for (const at of ["/nothing", "/api/../healthz/x", `/api/me?key=${key}`]) {
    await door.refused("unauthenticated", `GET ${at}`, { as: null });
  }
  const refusal = await door.door.fetch(new Request("http://localhost/api/me"));
  assert.match(refusal.headers.get("www-authenticate") ?? "", /^Bearer/);
});

test("[H4] a text that is no id is not found", async (t) => {
  const door = await testDoor(t);
  const { sessionId } = await withTurn(door);
  for (const id of [newId(), "x", "..%2f..%2fetc", "%00", "%zz", "%", sessionId.toUpperCase()]) {
    for (const at of [`/api/sessions/${id}`, `/api/sessions/${id}/events`])
      await door.refused("not_found", `GET ${at}`);
  }
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
  test(`[H4] the host ${JSON.stringify(host)} is ${isTaken ? "accepted" : "refused, with a valid key too"}`, async (t) => {
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

test("[H4] a page cannot use the server with a simple form: the key must be in a header", async (t) => {
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

test("[H4] only an allowed origin may read responses, and others get no headers for that", async (t) => {
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

test("[H4] a page of an allowed origin may send the headers of its client, and read the version and the address of what it made", async (t) => {
  const origin = "https://app.example.org";
  const door = await testDoor(t, { door: { allowedOrigins: [origin] } });
  const allowedFor = async (asked: string): Promise<string | null> => {
    const headers = {
      origin,
      "access-control-request-method": "PUT",
      "access-control-request-headers": asked,
    };
    const preflight = await door.call("OPTIONS /api/contexts/conversation/x", { as: null, headers });
    return preflight.headers.get("access-control-allow-headers");
  };
  assert.equal(
    await allowedFor("authorization,if-match, X-Stainless-OS"),
    "authorization, if-match, x-stainless-os",
    "OpenAI's client sends such headers",
  );
  assert.equal(await allowedFor("a b, x-aptove-page, (c), x-d"), "x-d", "the page's own secret stays with the page");
  assert.match((await allowedFor("")) ?? "", /authorization.*if-match/);
  const headers = { origin };
  const made = await door.call("PUT /api/contexts/conversation/x", { json: { content: {} }, headers });
  assert.match(made.headers.get("access-control-expose-headers") ?? "", /etag, location/);
});
