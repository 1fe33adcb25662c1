/** What the HTTP door refuses: too much, too often, too many at once, and malformed requests (H5, H3). */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { thrownBy } from "../../../testing/refusals.ts";
import { AptoveError, errorCatalogue, type ErrorCode } from "../../domain/errors.ts";
import { problemSchema } from "../../protocol/problem.ts";
import { testDoor, type CallOptions } from "../../../testing/http-door.ts";
import { problemAnswer } from "./problem-answer.ts";
import { localOrgId, type Caller } from "../../domain/caller.ts";
import { RequestRates, RunSlots } from "./admission/quotas.ts";

const execute = "/api/ai/agent/execute";

/** A body of `pieces` of one mebibyte each, counted as they are read. */
function bigBody(pieces: number): { body: ReadableStream<Uint8Array>; taken: () => number } {
  let taken = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (taken++ < pieces) controller.enqueue(new Uint8Array(1_048_576).fill(0x61));
    else controller.close();
  };
  return { body: new ReadableStream({ pull }, { highWaterMark: 0 }), taken: () => taken };
}

test("[H5] a body of 50 MB is refused with the limit, without being read to its end", async (t) => {
  const { refused } = await testDoor(t);
  const { body, taken } = bigBody(50);
  const options = { body, headers: { "content-type": "text/plain" } };
  const { detail, limitBytes } = await refused("body_too_large", `POST ${execute}`, options);
  assert.equal(limitBytes, 16_777_216);
  assert.match(detail, /16777216 bytes/);
  assert.ok(taken() < 20, `${taken()} MiB were read`);
});

test("[H5] a body that announces its size is refused before it is read, and the limit counts bytes", async (t) => {
  const { refused, call } = await testDoor(t, { door: { limits: { requestBodyBytesMax: 100 } } });
  const { body, taken } = bigBody(1);
  const headers = { "content-type": "application/json", "content-length": "1048576" };
  await refused("body_too_large", "POST /api/sessions", { body, headers });
  assert.equal(taken(), 0);
  const name = "\u00e9".repeat(43);
  assert.equal(Buffer.byteLength(JSON.stringify({ name })), 97);
  await call("POST /api/sessions", { json: { name } });
  await refused("body_too_large", "POST /api/sessions", { json: { name: `${name}éé` } });
});

test("[H5] [X2] the number of active files is limited, whichever way they come", async (t) => {
  const { refused, call } = await testDoor(t, { door: { limits: { activeFilesPerTurnMax: 2 } } });
  const files = (count: number) => Array.from({ length: count }, (_, n) => ({ path: `f${n}`, content: "" }));
  await call(`POST ${execute}`, { json: { instruction: "x", activeFiles: files(2) } });
  const json = { instruction: "x", activeFiles: files(3) };
  assert.equal((await refused("too_many_active_files", `POST ${execute}`, { json }))["limit"], 2);
  const form = new FormData();
  form.set("request", '{"instruction":"x"}');
  for (const { path } of files(3)) form.append("file", new Blob(["a"]), path);
  await refused("too_many_active_files", `POST ${execute}`, { body: form });
});

test("[H5] a user's requests are limited per minute, and the refusal has the time to retry after", async (t) => {
  let now = 0;
  const limits = { requestsPerMinuteMax: 3 };
  const { call, refused, person, door } = await testDoor(t, { door: { limits, now: () => now } });
  const [one, other] = [await person("member"), await person("member")];
  for (let n = 0; n < 3; n++) await call("GET /api/me", { as: one });
  assert.equal((await refused("rate_limited", "GET /api/me", { as: one }))["limitPerMinute"], 3);
  const headers = { authorization: `Bearer ${one.key}` };
  const again = await door.fetch(new Request("http://localhost/api/nothing", { headers }));
  assert.deepEqual([again.status, again.headers.get("retry-after")], [429, "20"]);
  await call("GET /api/me", { as: other });
  now = 20_000;
  await call("GET /api/me", { as: one });
  await refused("rate_limited", "GET /api/me", { as: one });
});

test("[H5] a user's running turns are limited; the slot is free when the turn has ended or was refused", async (t) => {
  const held = Promise.withResolvers<void>();
  const script = (_call: unknown, n: number) => (n === 1 ? [{ waits: held.promise }, { says: "x" }] : "x");
  const options = { script, door: { limits: { concurrentRunsOfOwnerMax: 1 } } };
  const { call, refused, door, person } = await testDoor(t, options);
  const run = { json: { instruction: "x", transport: "stream" } };
  await refused("instruction_empty", `POST ${execute}`, { json: { instruction: " " } });
  const { eventsUrl } = (await (await call(`POST ${execute}`, run)).json()) as { eventsUrl: string };
  assert.match((await refused("runs_limited", `POST ${execute}`, run)).detail, /the limit is 1/);
  await call(`POST ${execute}`, { ...run, as: await person("member") });
  held.resolve();
  await (await call(`GET ${eventsUrl}`)).text();
  await call(`POST ${execute}`, { json: { instruction: "x" } });
  assert.equal(typeof door.fetch, "function");
});

test("[H5] rates refill evenly, never above the limit of a minute, and forget idle users", () => {
  let now = 0;
  const rates = new RequestRates(60, () => now);
  const takes = (count: number) => {
    for (let n = 0; n < count; n++) rates.take("a");
  };
  takes(60);
  assert.equal(thrownBy(() => rates.take("a")).facts["retryAfterSeconds"], 1);
  now = 10_000;
  takes(10);
  assert.throws(() => rates.take("a"));
  now = 10_000_000;
  takes(60);
  assert.throws(() => rates.take("a"));
  for (let n = 0; n < 20_001; n++) {
    now += 1_000;
    rates.take(`user ${n}`);
  }
  rates.take("a");
});

test("[H5] a slot is freed once, however often its function is called", () => {
  const slots = new RunSlots({ concurrentRunsPerUserMax: 2, concurrentRunsOfOwnerMax: null });
  const [a, b] = [member("a"), member("b")];
  const free = slots.take(a);
  slots.take(a);
  free();
  free();
  slots.take(a);
  assert.throws(() => slots.take(a), /runs_limited|the limit is 2/);
  slots.take(b);
});

test("[H5] those who run the server have a limit of their own, or none", () => {
  const owner: Caller = { orgId: localOrgId, userId: "owner", role: "admin" };
  const free = new RunSlots({ concurrentRunsPerUserMax: 2, concurrentRunsOfOwnerMax: null });
  for (let n = 0; n < 300; n++) free.take(owner);
  const bound = new RunSlots({ concurrentRunsPerUserMax: 2, concurrentRunsOfOwnerMax: 3 });
  for (let n = 0; n < 3; n++) bound.take(owner);
  assert.throws(() => bound.take(owner), /the limit is 3/);
});

function member(userId: string): Caller {
  return { orgId: localOrgId, userId, role: "member" };
}

const refusals: [code: ErrorCode, what: string, options: CallOptions][] = [
  [
    "request_invalid",
    "JSON that is none",
    { body: '{"instruction":', headers: { "content-type": "application/json" } },
  ],
  ["request_invalid", "no body", { headers: { "content-type": "application/json" } }],
  ["request_invalid", "a list", { json: [] }],
  ["request_invalid", "an instruction that is a number", { json: { instruction: 1 } }],
  [
    "request_invalid",
    "bytes that are not UTF-8",
    { body: Uint8Array.of(0x22, 0xff, 0x22), headers: { "content-type": "application/json" } },
  ],
  [
    "request_invalid",
    "text that is not UTF-8",
    { body: Uint8Array.of(0xff), headers: { "content-type": "text/plain" } },
  ],
  ["request_invalid", "a form without its boundary", { body: "x", headers: { "content-type": "multipart/form-data" } }],
  ["request_invalid", "a session id that is none", { json: { instruction: "x", sessionId: "../x" } }],
  ["request_invalid", "a name with a NUL", { json: { instruction: "x", repo: "a\u0000b" } }],
  ["request_invalid", "a name with half a surrogate pair", { json: { instruction: "x", model: "\ud800" } }],
  ["request_invalid", "a name that is too long", { json: { instruction: "x", workspaceId: "w".repeat(5_000) } }],
  [
    "request_invalid",
    "metadata that is too large",
    { json: { instruction: "x", session: { metadata: { a: "a".repeat(70_000) } } } },
  ],
  ["request_invalid", "a temperature of 3", { json: { instruction: "x", settings: { temperature: 3 } } }],
  ["unsupported_media_type", "no media type", { body: Uint8Array.of(0x7b, 0x7d) }],
  [
    "unsupported_media_type",
    "a form",
    { body: "instruction=x", headers: { "content-type": "application/x-www-form-urlencoded" } },
  ],
  [
    "unsupported_media_type",
    "another charset",
    { body: "x", headers: { "content-type": "text/plain; charset=latin1" } },
  ],
  [
    "unsupported_media_type",
    "a packed body, which may be a bomb",
    {
      body: new Uint8Array(gzipSync(Buffer.alloc(1_000_000, "x"))),
      headers: { "content-type": "text/plain", "content-encoding": "gzip" },
    },
  ],
  ["instruction_empty", "an instruction of nothing", { json: {} }],
  ["instruction_empty", "an empty text", { body: "", headers: { "content-type": "text/plain" } }],
  ["instruction_not_text", "an instruction with half a surrogate pair", { json: { instruction: "a\ud800" } }],
  ["instruction_too_large", "an instruction of two megabytes", { json: { instruction: "x".repeat(2_000_000) } }],
  ["mode_unknown", "an unknown mode", { json: { instruction: "x", mode: "write" } }],
  ["context_unknown", "an unknown context", { json: { instruction: "x", agentContextId: "none" } }],
  [
    "tool_invalid",
    "a tool with a bad name",
    { json: { instruction: "x", tools: [{ name: "a b", parameters: { type: "object" } }] } },
  ],
  ["tool_invalid", "a tool without parameters", { json: { instruction: "x", tools: [{ name: "a" }] } }],
  ["tool_invalid", "toolsJson that is no JSON", { json: { instruction: "x", toolsJson: "[" } }],
  ["tool_invalid", "toolsJson that is no list", { json: { instruction: "x", toolsJson: "{}" } }],
  ["tool_invalid", "tools and toolsJson", { json: { instruction: "x", tools: [], toolsJson: "[]" } }],
  ["tool_choice_unknown", "a forced tool that is not there", { json: { instruction: "x", toolChoiceName: "none" } }],
  [
    "active_file_invalid",
    "a path out of the tree",
    { json: { instruction: "x", activeFiles: [{ path: "../x", content: "" }] } },
  ],
  ["active_file_invalid", "a drive", { json: { instruction: "x", activeFiles: [{ path: "C:\\x", content: "" }] } }],
  [
    "active_file_invalid",
    "a file of bytes",
    { json: { instruction: "x", activeFiles: [{ path: "x", contentBase64: "AAEC" }] } },
  ],
  [
    "active_file_invalid",
    "bytes that are not base64",
    { json: { instruction: "x", activeFiles: [{ path: "x", contentBase64: "?" }] } },
  ],
  [
    "active_file_invalid",
    "half a surrogate pair in a file",
    { json: { instruction: "x", activeFiles: [{ path: "x", content: "\udc00" }] } },
  ],
  ["active_file_invalid", "neither content nor hash", { json: { instruction: "x", activeFiles: [{ path: "x" }] } }],
  [
    "active_file_invalid",
    "content twice",
    { json: { instruction: "x", activeFiles: [{ path: "x", content: "", contentBase64: "" }] } },
  ],
];

test("[H3] [H5] [E4] [X5] bad requests are refused, each by its code, and nothing is left behind", async (t) => {
  const { refused, engine, admin, deps, provider } = await testDoor(t);
  for (const [code, what, options] of refusals) {
    const { detail } = await refused(code, `POST ${execute}`, options).catch((error: Error) =>
      assert.fail(`${what}: ${error.message}`),
    );
    assert.ok(detail.length > 0 && detail.length < 2_000, what);
  }
  assert.deepEqual((await engine.sessions.list(admin, {})).sessions, []);
  assert.deepEqual(await deps.blobs.list(""), []);
  assert.equal(provider.exchanges.length, 0);
});

test("[H1] [H3] queries are as strict as bodies", async (t) => {
  const { refused } = await testDoor(t);
  const text = { body: "x", headers: { "content-type": "text/plain" } };
  assert.match(
    (await refused("request_invalid", `POST ${execute}?mod=ask`, text)).detail,
    /^mod is not known.* "mode"$/,
  );
  for (const query of [
    "mode=ask&mode=edit",
    "stream=1",
    "temperature=warm",
    "temperature=",
    "temperature=0x1",
    "maxSteps=%20",
    "mode=%zz",
    "mode=%ff",
    "instruction=y",
  ]) {
    await refused("request_invalid", `POST ${execute}?${query}`, text);
  }
  await refused("request_invalid", `POST ${execute}?mode=edit`, { json: { instruction: "x" } });
  await refused("request_invalid", "GET /api/me?x=1");
});

test("[H1] [H3] a form is refused if it has a field twice, or nothing", async (t) => {
  const { refused } = await testDoor(t);
  const form = (parts: [string, string | Blob, string?][]) => {
    const data = new FormData();
    for (const [name, value, file] of parts) {
      if (typeof value === "string") data.append(name, value);
      else data.append(name, value, file ?? "f");
    }
    return { body: data };
  };
  const request = '{"instruction":"x","activeFiles":[{"path":"a","content":"1"}]}';
  await refused("request_invalid", `POST ${execute}`, form([["file", new Blob(["x"]), "a"]]));
  await refused(
    "request_invalid",
    `POST ${execute}`,
    form([
      ["request", request],
      ["request", request],
    ]),
  );
  await refused(
    "request_invalid",
    `POST ${execute}`,
    form([
      ["request", request],
      ["other", "x"],
    ]),
  );
  await refused("request_invalid", `POST ${execute}`, form([["request", "{"]]));
  await refused(
    "active_file_invalid",
    `POST ${execute}`,
    form([
      ["request", request],
      ["file", new Blob(["2"]), "a"],
    ]),
  );
  await refused(
    "active_file_invalid",
    `POST ${execute}`,
    form([
      ["request", '{"instruction":"x"}'],
      ["file", new Blob(["2"]), "../a"],
    ]),
  );
});

test("[H5] a body that breaks off is refused, and the server continues", async (t) => {
  const { refused, call } = await testDoor(t);
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) =>
    controller.error(new Error("connection lost"));
  const headers = { "content-type": "application/json" };
  await refused("request_invalid", `POST ${execute}`, { body: new ReadableStream({ pull }), headers });
  await call("GET /api/me");
});

for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
  test(`[H3] ${code} is a problem with its status, its title and its facts`, async () => {
    const reports: unknown[] = [];
    const error = new AptoveError(code, "what happened", { facts: { turnId: "t", status: 299 } });
    const answer = problemAnswer(
      error,
      { requestId: "r", code: null },
      { report: (message) => void reports.push(message) },
    );
    const value = problemSchema.parse(await answer.json());
    const { status, title, retryable } = errorCatalogue[code];
    assert.equal(answer.headers.get("content-type"), "application/problem+json");
    assert.deepEqual(
      [answer.status, value.status, value.title, value.code, value.retryable],
      [status, status, title, code, retryable],
    );
    // An internal fault is described only in the log.
    assert.equal(value["turnId"], code === "internal" ? undefined : "t");
    assert.equal(reports.length, code === "internal" ? 1 : 0);
  });
}

test("[H3] [E8] an unexpected error shows nothing of itself, and is in the operator's log", async (t) => {
  const authenticate = () => Promise.reject(new RangeError("the password is swordfish"));
  const { refused, reports } = await testDoor(t, { door: { authenticate } });
  const value = await refused("internal", "GET /api/me");
  assert.equal(JSON.stringify(value).includes("swordfish"), false);
  assert.equal(reports.length, 1);
  assert.ok(reports[0]?.includes(String(value.requestId)) && reports[0].includes("swordfish"));
});
