/** Sessions that move between two servers over HTTP, and files that must be refused. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createClient } from "../../../client/client.ts";
import { newId } from "../../../domain/ids.ts";
import type { ExecuteAnswer } from "../../../protocol/execute.ts";
import type { WireSessionGraph } from "../../../protocol/tree.ts";
import type { WireImportReport } from "../../../protocol/transfer.ts";
import type { WireTurn } from "../../../protocol/turn.ts";
import { testDoor, type CallOptions, type TestDoor } from "../../../../testing/http-door.ts";
import { listen } from "../listen.ts";

const execute = "/api/ai/agent/execute";
const importLine = "POST /api/sessions/import";

async function run({ call }: TestDoor, json: object): Promise<ExecuteAnswer> {
  return (await (await call(`POST ${execute}`, { json })).json()) as ExecuteAnswer;
}

/** Two turns, and a fork of the first. */
async function withSessions(t: TestContext) {
  const door = await testDoor(t);
  const one = await run(door, { instruction: "größer \u{1f600}", activeFiles: [{ path: "a.ts", content: "let a;" }] });
  const two = await run(door, { instruction: "two", sessionId: one.sessionId });
  const fork = await run(door, { instruction: "fork", fork: { turnId: one.turnId } });
  return { door, one, two, fork };
}

async function exported({ call }: TestDoor, sessionId: string, query = ""): Promise<string> {
  const response = await call(`GET /api/sessions/${sessionId}/export${query}`);
  assert.equal(response.headers.get("content-type"), "application/x-ndjson");
  return await response.text();
}

const file = (body: NonNullable<CallOptions["body"]>): CallOptions => ({
  body,
  headers: { "content-type": "application/x-ndjson" },
});

async function imported({ call }: TestDoor, text: string): Promise<WireImportReport> {
  return (await (await call(importLine, file(text))).json()) as WireImportReport;
}

test("[H2] [S3] [D2] a session is exported here and imported there: ids, digests and answers stay, the importing user is the owner", async (t) => {
  const { door, one, two } = await withSessions(t);
  const there = await testDoor(t);
  const report = await imported(there, await exported(door, one.sessionId));
  assert.partialDeepStrictEqual(report, {
    sessions: [{ id: one.sessionId, isNew: true }],
    turnsImported: 2,
    turnsKnown: 0,
  });
  for (const { turnId } of [one, two]) {
    for (const part of ["answer", "context"]) {
      const [a, b] = (await Promise.all(
        [door, there].map(async ({ call }) => (await call(`GET /api/turns/${turnId}/${part}`)).json()),
      )) as object[];
      assert.deepEqual(b, a);
    }
    const turn = (await (await there.call(`GET /api/turns/${turnId}`)).json()) as WireTurn;
    assert.equal(turn.digest, ((await (await door.call(`GET /api/turns/${turnId}`)).json()) as WireTurn).digest);
  }
  const session = await there.engine.sessions.get(there.admin, one.sessionId);
  assert.deepEqual([session.userId, session.headTurnId], [there.admin.userId, two.turnId]);
  assert.equal((await there.engine.explain.verify(there.admin, one.sessionId)).fault, null);
  const again = await imported(there, await exported(door, one.sessionId));
  assert.partialDeepStrictEqual(again, {
    sessions: [{ isNew: false }],
    turnsImported: 0,
    turnsKnown: 2,
    blobsImported: 0,
  });
  const next = await run(there, { instruction: "three", sessionId: one.sessionId });
  assert.equal(next.kind, "answer");
});

test("[H2] [T6] a branch ends at its turn; a fork includes the lineage above it", async (t) => {
  const { door, one, two, fork } = await withSessions(t);
  const branch = await testDoor(t);
  assert.equal((await imported(branch, await exported(door, one.sessionId, `?turnId=${one.turnId}`))).turnsImported, 1);
  await branch.refused("not_found", `GET /api/turns/${two.turnId}`);
  const there = await testDoor(t);
  assert.equal((await imported(there, await exported(door, fork.sessionId))).turnsImported, 2);
  const graph = (await (await there.call(`GET /api/sessions/${fork.sessionId}/graph`)).json()) as WireSessionGraph;
  assert.deepEqual(
    graph.turns.map(({ id }) => id),
    [fork.turnId, one.turnId],
  );
  const at = `GET /api/sessions/${fork.sessionId}/export`;
  await door.refused("not_found", `${at}?turnId=${two.turnId}`);
  await door.refused("not_found", `${at}?turnId=${newId()}`);
  for (const query of ["turnId=x", "format=pdf", `format=markdown&turnId=${fork.turnId}`, "turn=x"]) {
    await door.refused("request_invalid", `${at}?${query}`);
  }
});

test("[H2] Markdown is for reading", async (t) => {
  const { door, one, two } = await withSessions(t);
  const response = await door.call(`GET /api/sessions/${one.sessionId}/export?format=markdown`);
  assert.equal(response.headers.get("content-type"), "text/markdown; charset=utf-8");
  const text = await response.text();
  for (const part of ["größer \u{1f600}", one.text, two.text]) assert.ok(text.includes(part), part);
});

test("[H2] [H3] files that were cut, altered or forged are refused, and nothing of them is stored", async (t) => {
  const { door, one } = await withSessions(t);
  const text = await exported(door, one.sessionId);
  const there = await testDoor(t);
  const lines = text.trimEnd().split("\n");
  const bad: [what: string, body: string][] = [
    ["nothing", ""],
    ["no export", "{}\n"],
    ["no JSON", "export\n"],
    ["cut between lines", `${lines.slice(0, -1).join("\n")}\n`],
    ["cut in a line", text.slice(0, text.length / 2)],
    ["altered", text.replace("größer", "kleiner")],
    ["more behind its end", `${text}{}\n`],
    ["line breaks of another system", text.replaceAll("\n", "\r\n")],
  ];
  for (const [what, body] of bad) {
    const { detail } = await there
      .refused("import_invalid", importLine, file(body))
      .catch((error: Error) => assert.fail(`${what}: ${error.message}`));
    assert.ok(detail.length > 0 && detail.length < 2_000, what);
  }
  await there.refused(
    "import_invalid",
    importLine,
    file(Buffer.concat([Buffer.from(text), Uint8Array.of(0xff, 0x0a)])),
  );
  await there.refused("unsupported_media_type", importLine, { body: text, headers: { "content-type": "text/plain" } });
  await there.refused("unsupported_media_type", importLine, { json: {} });
  await there.refused("request_invalid", `${importLine}?dryRun=true`, file(text));
  assert.deepEqual((await there.engine.sessions.list(there.admin, {})).sessions, []);
  assert.deepEqual(await there.deps.blobs.list(""), []);
});

test("[H5] a file over its limit is refused while it arrives, and its limit is not that of other bodies", async (t) => {
  const { door, one } = await withSessions(t);
  const text = await exported(door, one.sessionId);
  const size = Buffer.byteLength(text);
  const small = await testDoor(t, { door: { limits: { requestBodyBytesMax: 100, importBytesMax: size } } });
  await imported(small, text);
  let taken = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if ((taken += 1) > 1_000) controller.close();
    else controller.enqueue(Buffer.from(text));
  };
  const endless = file(new ReadableStream({ pull }, { highWaterMark: 0 }));
  const { limitBytes } = await small.refused("body_too_large", importLine, endless);
  assert.equal(limitBytes, size);
  assert.ok(taken < 4, `${taken} pieces were read`);
  const headers = { "content-type": "application/x-ndjson", "content-length": String(size + 1) };
  await small.refused("body_too_large", importLine, { body: text, headers });
  const broken = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error("connection lost")),
  });
  await small.refused("request_invalid", importLine, file(broken));
});

test("[H2] [B3] over sockets a session goes from server to server; an export that cannot be complete breaks off", async (t) => {
  const { door, one, two } = await withSessions(t);
  const there = await testDoor(t);
  const [from, to] = await Promise.all(
    [door, there].map(async ({ door: at, admin }) => {
      const server = await listen(at, { host: "127.0.0.1", port: 0 });
      t.after(() => server.close());
      return createClient({ url: server.url, key: admin.key });
    }),
  );
  assert.ok(from !== undefined && to !== undefined);
  const report = await to.sessions.import(await from.sessions.export(one.sessionId));
  assert.equal(report.turnsImported, 2);
  const branch = new Response(await from.sessions.export(one.sessionId, { turnId: one.turnId }));
  assert.equal((await to.sessions.import(await branch.blob())).turnsKnown, 1);
  assert.ok((await from.sessions.markdown(one.sessionId)).includes(two.text));
  const turn = await door.engine.turns.get(door.admin, two.turnId);
  await door.deps.blobs.delete(turn.blobs.run ?? "");
  await assert.rejects(new Response(await from.sessions.export(one.sessionId)).text());
  assert.ok(door.reports.some((line) => line.includes("an export broke off")));
});
