/** The tree over HTTP: forks, reruns, busy sessions, the head, archiving, deleting, searching, explaining. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../../domain/ids.ts";
import type { ExecuteAnswer } from "../../../protocol/execute.ts";
import type { WireTurnDiff, WireVerifyReport } from "../../../protocol/explain.ts";
import type { WireSession, WireSessionList } from "../../../protocol/session.ts";
import type { WireSearchHits, WireSessionGraph, WireUndo } from "../../../protocol/tree.ts";
import type { WireTurn } from "../../../protocol/turn.ts";
import { testDoor, type CallOptions, type TestDoor } from "../../../../testing/http-door.ts";
import { replaceBlob } from "../../../../testing/replace-blob.ts";

const execute = "/api/ai/agent/execute";

async function at<T>({ call }: TestDoor, line: string, options: CallOptions = {}): Promise<T> {
  return (await (await call(line, options)).json()) as T;
}

async function run(door: TestDoor, json: object): Promise<ExecuteAnswer> {
  return at<ExecuteAnswer>(door, `POST ${execute}`, { json });
}

/** Creates a session with this number of turns, and returns their ids. */
async function turns(door: TestDoor, ...instructions: string[]): Promise<{ sessionId: string; ids: string[] }> {
  const ids: string[] = [];
  let sessionId = "";
  for (const instruction of instructions) {
    const answer = await run(door, { instruction, sessionId });
    sessionId = answer.sessionId;
    ids.push(answer.turnId);
  }
  return { sessionId, ids };
}

test("[T2] POST /api/turns/{id}/archive archives a turn that was left, and says why it does not", async (t) => {
  const door = await testDoor(t);
  const { sessionId, ids } = await turns(door, "one", "two");
  const [one = "", two = ""] = ids;
  const { detail } = await door.refused("turn_in_use", `POST /api/turns/${two}/archive`);
  assert.match(detail, /is the head of a session/);
  await door.call(`PUT /api/sessions/${sessionId}/head`, { json: { from: two, to: one } });
  const archived = await at<WireTurn>(door, `POST /api/turns/${two}/archive`);
  assert.deepEqual([archived.id, archived.status], [two, "archived"]);
  assert.equal((await at<WireTurn>(door, `GET /api/turns/${two}`)).status, "archived");
  assert.equal((await door.call(`GET /api/turns/${two}/answer`)).status, 200);
  assert.equal((await door.call(`GET /api/turns/${two}/events`)).status, 200);
});

/** The three ways to write the same execute request. */
const ways: [
  way: string,
  options: (json: { instruction: string; id: string }, field: "fork" | "rerun") => [string, CallOptions],
][] = [
  ["JSON", ({ instruction, id }, field) => ["", { json: { instruction, [field]: { turnId: id } } }]],
  [
    "plain text",
    ({ instruction, id }, field) => [
      `?${field}TurnId=${id}`,
      { body: instruction, headers: { "content-type": "text/plain" } },
    ],
  ],
  [
    "multipart",
    ({ instruction, id }, field) => {
      const body = new FormData();
      body.set("request", JSON.stringify({ instruction, [field]: { turnId: id } }));
      return ["", { body }];
    },
  ],
];

for (const [way, options] of ways) {
  test(`[H1] [T6] ${way}: a fork is a new session below the turn, with all of its history`, async (t) => {
    const door = await testDoor(t);
    const { sessionId, ids } = await turns(door, "one", "two", "three");
    const [query, request] = options({ instruction: "other", id: ids[1] ?? "" }, "fork");
    const fork = await at<ExecuteAnswer>(door, `POST ${execute}${query}`, request);
    assert.notEqual(fork.sessionId, sessionId);
    const turn = await at<WireTurn>(door, `GET /api/turns/${fork.turnId}`);
    assert.deepEqual([turn.parentId, turn.depth, turn.sequence, turn.rerunOf], [ids[1], 3, 1, null]);
    const session = await at<WireSession>(door, `GET /api/sessions/${fork.sessionId}`);
    assert.deepEqual([session.originTurnId, session.headTurnId], [ids[1], fork.turnId]);
    assert.equal(door.provider.exchanges.at(-1)?.context.length, 5);
    assert.equal((await at<WireSession>(door, `GET /api/sessions/${sessionId}`)).headTurnId, ids[2]);
  });

  test(`[H1] [T7] ${way}: a rerun is a sibling of the old turn, with its instruction or another`, async (t) => {
    const door = await testDoor(t);
    const { sessionId, ids } = await turns(door, "one", "two");
    const old = await at<WireTurn>(door, `GET /api/turns/${ids[1]}`);
    const again = async (instruction: string, id: string) => {
      const [query, request] = options({ instruction, id }, "rerun");
      const { turnId } = await at<ExecuteAnswer>(door, `POST ${execute}${query}`, request);
      return at<WireTurn>(door, `GET /api/turns/${turnId}`);
    };
    const same = await again("", old.id);
    assert.partialDeepStrictEqual(same, { rerunOf: old.id, parentId: ids[0], sessionId, instructionSummary: "two" });
    const changed = await again("two, but better", same.id);
    assert.partialDeepStrictEqual(changed, {
      rerunOf: same.id,
      parentId: ids[0],
      instructionSummary: "two, but better",
    });
    assert.deepEqual(await at(door, `GET /api/turns/${old.id}`), old);
    const elsewhere = await again("", ids[0] ?? "");
    assert.partialDeepStrictEqual(elsewhere, { rerunOf: ids[0], parentId: null });
    assert.notEqual(elsewhere.sessionId, sessionId);
    assert.equal((await at<WireSession>(door, `GET /api/sessions/${sessionId}`)).headTurnId, changed.id);
  });
}

test("[T6] [H4] a turn of another user's public session can be forked, and the fork belongs to the caller", async (t) => {
  const door = await testDoor(t);
  const { sessionId, ids } = await turns(door, "one");
  const as = await door.person("member");
  const json = { instruction: "mine", fork: { turnId: ids[0] } };
  await door.refused("not_found", `POST ${execute}`, { json, as });
  await door.refused("not_found", "POST /api/sessions", { json: { forkOf: ids[0] }, as });
  await door.engine.sessions.update(door.admin, sessionId, { isPublic: true });
  const fork = await at<ExecuteAnswer>(door, `POST ${execute}`, { json, as });
  const session = await at<WireSession>(door, `GET /api/sessions/${fork.sessionId}`, { as });
  assert.deepEqual([session.userId, session.isPublic, session.originTurnId], [as.userId, false, ids[0]]);
  await door.refused("not_found", `GET /api/sessions/${fork.sessionId}`);
});

test("[T6] a session can be forked without an instruction, and inherits what the request does not set", async (t) => {
  const door = await testDoor(t);
  const from = await door.engine.sessions.create(door.admin, {
    name: "Mine",
    defaultLanguage: "de",
    workspaceId: "laptop",
  });
  const first = await run(door, { instruction: "one", sessionId: from.id });
  const start = { forkOf: first.turnId, workspaceId: "phone" };
  const made = await at<WireSession>(door, "POST /api/sessions", { json: start });
  assert.partialDeepStrictEqual(made, {
    originTurnId: first.turnId,
    headTurnId: null,
    turnCount: 0,
    name: "Mine",
    defaultLanguage: "de",
    workspaceId: "phone",
  });
  const turn = await run(door, { instruction: "two", sessionId: made.id });
  assert.equal((await at<WireTurn>(door, `GET /api/turns/${turn.turnId}`)).parentId, first.turnId);
});

test("[T6] [T7] forks and reruns of failed, running and unknown turns are refused, and leave nothing behind", async (t) => {
  const never = new Promise(() => undefined);
  const door = await testDoor(t, {
    script: (_call, n) => (n === 1 ? [{ fails: "provider_rejected" as const }] : [{ waits: never }]),
  });
  const failed = await run(door, { instruction: "one" });
  const running = await run(door, { instruction: "two", transport: "stream" });
  const fork = (turnId: string) => ({ json: { instruction: "x", fork: { turnId } } });
  for (const { turnId } of [failed, running]) {
    assert.equal((await door.refused("turn_not_continuable", `POST ${execute}`, fork(turnId)))["turnId"], turnId);
    await door.refused("turn_not_continuable", "POST /api/sessions", { json: { forkOf: turnId } });
  }
  await door.refused("turn_not_finished", `POST ${execute}`, { json: { rerun: { turnId: running.turnId } } });
  await door.refused("not_found", `POST ${execute}`, fork(newId()));
  await door.refused("not_found", `POST ${execute}`, { json: { rerun: { turnId: newId() } } });
  await door.refused("not_found", "POST /api/sessions", { json: { forkOf: newId() } });
  for (const field of ["fork", "rerun"]) {
    for (const value of ["x", { turnId: "x" }, {}, { turnId: running.turnId, sessionId: running.sessionId }]) {
      await door.refused("request_invalid", `POST ${execute}`, { json: { instruction: "x", [field]: value } });
    }
  }
  const text = { body: "x", headers: { "content-type": "text/plain" } };
  await door.refused("request_invalid", `POST ${execute}?forkTurnId=${newId()}&rerunTurnId=${newId()}`, text);
  assert.equal((await at<WireSessionList>(door, "GET /api/sessions")).sessions.length, 2);
});

/** Creates a session whose first turn is held, and sends a request meanwhile. */
async function busy(t: Parameters<typeof testDoor>[0], rest: string) {
  const held = Promise.withResolvers<void>();
  const door = await testDoor(t, {
    script: (_call, n) => (n === 1 ? [{ says: ["begun ", held.promise, "and done"] }] : `${rest} ${n}`),
  });
  const first = await run(door, { instruction: "one", transport: "stream" });
  const reader = (await door.call(`GET /api/turns/${first.turnId}/events`)).body?.getReader() ?? assert.fail();
  for (let text = ""; !text.includes("begun");) text += Buffer.from((await reader.read()).value ?? []).toString();
  await reader.cancel();
  return { door, first, held };
}

test("[T5] a busy session refuses by naming the running turn; a queued request runs after it", async (t) => {
  const { door, first, held } = await busy(t, "answer");
  const { sessionId } = first;
  for (const ifBusy of [null, "refuse"]) {
    const problem = await door.refused("session_busy", `POST ${execute}`, {
      json: { instruction: "two", sessionId, ifBusy },
    });
    assert.equal(problem["turnId"], first.turnId);
  }
  await door.refused("request_invalid", `POST ${execute}`, { json: { instruction: "x", sessionId, ifBusy: "wait" } });
  const queued = run(door, { instruction: "two", sessionId, ifBusy: "queue" });
  held.resolve();
  const answer = await queued;
  assert.equal(answer.text, "answer 2");
  assert.equal((await at<WireTurn>(door, `GET /api/turns/${answer.turnId}`)).parentId, first.turnId);
});

test("[T5] [T10] a request may stop the running turn and take its place, as plain text too", async (t) => {
  const { door, first } = await busy(t, "answer");
  const text = { body: "two", headers: { "content-type": "text/plain" } };
  const query = `ifBusy=interrupt&sessionId=${first.sessionId}`;
  const answer = await at<ExecuteAnswer>(door, `POST ${execute}?${query}`, text);
  assert.equal(answer.text, "answer 2");
  const stopped = await at<ExecuteAnswer>(door, `GET /api/turns/${first.turnId}/answer`);
  assert.deepEqual([stopped.kind, stopped.text, stopped.stopReason], ["answer", "begun ", "interrupted"]);
  assert.equal((await at<WireTurn>(door, `GET /api/turns/${answer.turnId}`)).parentId, first.turnId);
});

test("[T5] [V4] a request may join the running turn, and is answered with that turn", async (t) => {
  const { door, first, held } = await busy(t, "second thoughts");
  const { sessionId, turnId } = first;
  const json = { instruction: "and briefly", sessionId, ifBusy: "steer", transport: "stream" };
  const joined = await run(door, json);
  held.resolve();
  await (await door.call(`GET /api/turns/${joined.turnId}/events`)).text();
  const answer = await at<ExecuteAnswer>(door, `GET /api/turns/${joined.turnId}/answer`);
  assert.deepEqual([answer.turnId, answer.text], [turnId, "begun and done\n\nsecond thoughts 2"]);
  const messages = door.provider.exchanges[1]?.context.filter((item) => item.type === "user").slice(1);
  assert.deepEqual(
    messages?.map(({ parts }) => parts[0]?.split("\n").at(-1)),
    ["and briefly"],
  );
  const free = await run(door, { instruction: "three", sessionId, ifBusy: "steer" });
  assert.notEqual(free.turnId, turnId);
});

test("[S5] [T6] the head moves from where it was seen, to a turn that can be continued", async (t) => {
  const door = await testDoor(t);
  const { sessionId, ids } = await turns(door, "one", "two", "three");
  const [one = "", two = "", three = ""] = ids;
  const line = `PUT /api/sessions/${sessionId}/head`;
  const moved = await at<WireSession>(door, line, { json: { from: three, to: one } });
  assert.equal(moved.headTurnId, one);
  const late = await door.refused("head_moved", line, { json: { from: three, to: two } });
  assert.equal(late["headTurnId"], one);
  const next = await run(door, { instruction: "other two", sessionId });
  assert.equal((await at<WireTurn>(door, `GET /api/turns/${next.turnId}`)).parentId, one);
  const other = await turns(door, "elsewhere");
  await door.refused("turn_not_continuable", line, { json: { from: next.turnId, to: other.ids[0] } });
  await door.refused("not_found", line, { json: { from: next.turnId, to: newId() } });
  for (const json of [{ to: one }, { from: next.turnId }, { from: null, to: null }, { from: "x", to: one }, {}]) {
    await door.refused("request_invalid", line, { json });
  }
  const races = await Promise.all(
    [one, two, three].map((to) =>
      door.door.fetch(
        new Request(`http://localhost/api/sessions/${sessionId}/head`, {
          method: "PUT",
          headers: { authorization: `Bearer ${door.admin.key}`, "content-type": "application/json" },
          body: JSON.stringify({ from: next.turnId, to }),
        }),
      ),
    ),
  );
  assert.deepEqual(races.map(({ status }) => status).toSorted(), [200, 409, 409]);
});

test("[T12] [T7] retry runs the newest turn again, and undo goes back to before it", async (t) => {
  const door = await testDoor(t);
  const { sessionId, ids } = await turns(door, "one", "two");
  const again = await run(door, { sessionId, retry: true });
  assert.equal((await at<WireTurn>(door, `GET /api/turns/${again.turnId}`)).rerunOf, ids[1]);
  const line = `POST /api/sessions/${sessionId}/undo`;
  const undone = await at<WireUndo>(door, line);
  assert.deepEqual([undone.undoneTurnId, undone.session.headTurnId], [again.turnId, ids[0]]);
  assert.equal((await at<WireUndo>(door, line)).session.headTurnId, null);
  await door.refused("request_invalid", `POST ${execute}`, { json: { sessionId, retry: true, fire: true } });
});

test("[S5] the head of a session that runs a turn stays", async (t) => {
  const { door, first, held } = await busy(t, "answer");
  const line = `PUT /api/sessions/${first.sessionId}/head`;
  await door.refused("turn_not_continuable", line, { json: { from: null, to: first.turnId } });
  held.resolve();
  await (await door.call(`GET /api/turns/${first.turnId}/events`)).text();
  const again = { from: first.turnId, to: first.turnId };
  assert.equal((await at<WireSession>(door, line, { json: again })).headTurnId, first.turnId);
});

test("[S6] an archived session is readable and takes no turns until it is unarchived", async (t) => {
  const door = await testDoor(t);
  const { sessionId } = await turns(door, "one");
  const archived = await at<WireSession>(door, `POST /api/sessions/${sessionId}/archive`);
  assert.match(archived.archivedAt ?? "", /Z$/);
  assert.equal(archived.deletedAt, null);
  await door.refused("session_archived", `POST ${execute}`, { json: { instruction: "two", sessionId } });
  assert.equal((await at<WireSession>(door, `GET /api/sessions/${sessionId}`)).archivedAt, archived.archivedAt);
  const listed = async (query: string) =>
    (await at<WireSessionList>(door, `GET /api/sessions?${query}`)).sessions.map(({ id }) => id);
  assert.deepEqual([await listed("archived=true"), await listed("archived=false")], [[sessionId], []]);
  assert.equal((await at<WireSession>(door, `POST /api/sessions/${sessionId}/unarchive`)).archivedAt, null);
  await run(door, { instruction: "two", sessionId });
});

test("[S6] [K4] a removed session is gone until it is restored; purged it is deleted permanently, except for what forks need", async (t) => {
  const door = await testDoor(t);
  const { sessionId, ids } = await turns(door, "one", "two");
  const fork = await run(door, { instruction: "fork", fork: { turnId: ids[0] } });
  const line = `/api/sessions/${sessionId}`;
  await door.refused("not_found", `POST ${line}/restore`);
  await door.refused("not_found", `POST ${line}/purge`);
  const removed = await at<WireSession>(door, `DELETE ${line}`);
  assert.match(removed.deletedAt ?? "", /Z$/);
  for (const gone of [`GET ${line}`, `DELETE ${line}`, `GET /api/turns/${ids[0]}`])
    await door.refused("not_found", gone);
  const bin = await at<WireSessionList>(door, "GET /api/sessions?removed=true");
  assert.deepEqual([bin.sessions, bin.nextCursor], [[removed], null]);
  for (const query of ["limit=1", "cursor=x", "archived=false", "repo=r", "workspaceId=w"]) {
    const { faults } = await door.refused("request_invalid", `GET /api/sessions?removed=true&${query}`);
    assert.deepEqual(faults, [{ field: query.split("=")[0], message: "cannot be combined with removed=true" }]);
  }
  assert.deepEqual(
    (await at<WireSessionList>(door, "GET /api/sessions?removed=false")).sessions.map(({ id }) => id),
    [fork.sessionId],
  );
  assert.equal((await at<WireSession>(door, `POST ${line}/restore`)).deletedAt, null);
  assert.equal((await at<WireTurn>(door, `GET /api/turns/${ids[1]}`)).id, ids[1]);
  await door.call(`DELETE ${line}`);
  const report = await at<Record<string, number>>(door, `POST ${line}/purge`);
  assert.deepEqual([report["turnsPurged"], report["turnsKept"]], [1, 1]);
  assert.ok((report["blobsDeleted"] ?? 0) > 0 && (report["bytesFreed"] ?? 0) > 0);
  await run(door, { instruction: "goes on", sessionId: fork.sessionId });
  const alone = await turns(door, "alone");
  await door.call(`DELETE /api/sessions/${alone.sessionId}`);
  await door.call(`POST /api/sessions/${alone.sessionId}/purge`);
  for (const verb of ["restore", "purge"])
    await door.refused("not_found", `POST /api/sessions/${alone.sessionId}/${verb}`);
  assert.deepEqual(await door.deps.blobs.list(`turns/${alone.sessionId}/`), []);
});

test("[K4] collecting deletes what no turn needs, and a dry run reports the same", async (t) => {
  const door = await testDoor(t, { now: () => Date.now() + 2 * 3_600_000 });
  await turns(door, "one");
  const key = `turns/${newId()}/opening.json`;
  await door.deps.blobs.put(key, Buffer.from("{}"));
  const gc = (dryRun: unknown) => at(door, "POST /api/gc", { json: { dryRun } });
  assert.deepEqual(await gc(true), { keys: [key], bytes: 2, isMost: false });
  assert.deepEqual(await gc(false), { keys: [key], bytes: 2, isMost: false });
  assert.deepEqual(await gc(true), { keys: [], bytes: 0, isMost: false });
  for (const json of [{}, { dryRun: "yes" }]) await door.refused("request_invalid", "POST /api/gc", { json });
});

test("[T6] the graph has the session's turns, the lineage above, and the forks that the caller may see", async (t) => {
  const door = await testDoor(t);
  const { sessionId, ids } = await turns(door, "one", "two");
  const again = await run(door, { rerun: { turnId: ids[1] } });
  const fork = await run(door, { instruction: "fork", fork: { turnId: ids[0] } });
  const graph = await at<WireSessionGraph>(door, `GET /api/sessions/${sessionId}/graph`);
  assert.deepEqual(
    graph.turns.map(({ id, parentId, rerunOf }) => [id, parentId, rerunOf]),
    [
      [again.turnId, ids[0], ids[1]],
      [ids[1], ids[0], null],
      [ids[0], null, null],
    ],
  );
  assert.deepEqual([graph.session.headTurnId, graph.forks.map(({ id }) => id)], [again.turnId, [fork.sessionId]]);
  const ofFork = await at<WireSessionGraph>(door, `GET /api/sessions/${fork.sessionId}/graph`);
  assert.deepEqual(
    ofFork.turns.map(({ id }) => id),
    [fork.turnId, ids[0]],
  );
  assert.equal(ofFork.session.originTurnId, ids[0]);
  await door.engine.sessions.update(door.admin, sessionId, { isPublic: true });
  const as = await door.person("reader");
  assert.deepEqual((await at<WireSessionGraph>(door, `GET /api/sessions/${sessionId}/graph`, { as })).forks, []);
});

test("[S8] search finds words spread over turns, and names the turns; special characters are plain text", async (t) => {
  const door = await testDoor(t, { script: () => "the discount is 100%_sure & rounded" });
  const { sessionId, ids } = await turns(door, "where are prices made?", 'and "größer"?');
  const find = async (q: string) =>
    (await at<WireSearchHits>(door, `GET /api/search?${new URLSearchParams({ q })}`)).hits;
  for (const q of ["prices größer", "100%_", '"gr', "ROUNDED & prices"]) {
    assert.deepEqual(
      (await find(q)).map(({ session }) => session.id),
      [sessionId],
      q,
    );
  }
  for (const q of ["prices missing", "100x_", "_sure%", "%"]) {
    assert.equal((await find(q)).length, q === "%" ? 1 : 0, q);
  }
  const [hit] = await find("größer");
  assert.partialDeepStrictEqual(hit?.matches[0], { where: "instruction", turnId: ids[1] });
  assert.match(hit?.matches[0]?.excerpt ?? "", /größer/);
  for (const query of [
    "",
    "q=",
    "q=%20",
    "q=a&q=b",
    "q=a&limit=0",
    "q=a&limit=201",
    `q=${Array.from({ length: 40 }, (_, n) => n).join("+")}`,
    "q=a%00b",
  ]) {
    await door.refused("request_invalid", `GET /api/search?${query}`);
  }
});

test("[D1] diff returns what differs in the model's input, with both answers", async (t) => {
  const door = await testDoor(t);
  const { ids } = await turns(door, "one");
  const file = (content: string) => [{ path: "a.ts", content }];
  const a = await run(door, { instruction: "two", fork: { turnId: ids[0] }, activeFiles: file("let a = 1;") });
  const b = await run(door, { rerun: { turnId: a.turnId }, activeFiles: file("let a = 2;"), mode: "edit" });
  const diff = await at<WireTurnDiff>(door, `GET /api/turns/${a.turnId}/diff?with=${b.turnId}`);
  assert.partialDeepStrictEqual(diff, {
    a: { turnId: a.turnId, answer: a.text, instruction: "two", mode: "ask" },
    b: { turnId: b.turnId, answer: b.text, instruction: "two", mode: "edit" },
    same: { prompt: true, mode: false },
    files: [{ path: "a.ts" }],
    history: { commonTurnId: ids[0], commonTurns: 1, onlyA: [], onlyB: [] },
  });
  assert.notEqual(diff.files[0]?.hashA, diff.files[0]?.hashB);
  await door.refused("not_found", `GET /api/turns/${a.turnId}/diff?with=${newId()}`);
  for (const query of ["", "?with=x", "?with="]) {
    await door.refused("request_invalid", `GET /api/turns/${a.turnId}/diff${query}`);
  }
});

test("[D2] verify names the first turn that does not hold; a turn shows its digest", async (t) => {
  const door = await testDoor(t);
  const { sessionId, ids } = await turns(door, "one", "two", "three");
  const line = `GET /api/sessions/${sessionId}/verify`;
  assert.deepEqual(await at(door, line), { sessionId, turnsChecked: 3, turnsUnsealed: 0, fault: null });
  const turn = await door.engine.turns.get(door.admin, ids[1] ?? "");
  assert.equal((await at<WireTurn>(door, `GET /api/turns/${ids[1]}`)).digest, "digest" in turn && turn.digest);
  const key = turn.blobs.run ?? assert.fail();
  const bytes = (await door.deps.blobs.get(key)) ?? assert.fail();
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await replaceBlob(door.deps.blobs, key, bytes);
  const { fault } = await at<WireVerifyReport>(door, line);
  assert.deepEqual([fault?.turnId, fault?.sequence], [ids[1], 2]);
  assert.ok((fault?.reason ?? "").length > 0);
});
