/** Summaries of sessions leave with an export, and an import checks what they name (M5). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { alice, all, testEngine, type TestEngine } from "../../../testing/engine.ts";
import { ForgedFile } from "../../../testing/forged-exports.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { localOrgId, type Caller } from "../../domain/caller.ts";
import { newId } from "../../domain/ids.ts";
import { isCompleted, type CompletedSummary } from "../../domain/summary.ts";
import type { ModelCall } from "../../providers/provider.ts";
import type { ExportedSummaryLine } from "./format.ts";

const bob: Caller = { orgId: "00000000-0000-7000-8000-00000000000b", userId: newId(), role: "member" };

const sources = [{ turn: 1, quote: "how large is a walrus" }];
const answer = JSON.stringify({ lines: [{ part: "goal", text: "It is about walruses.", sources }] });
const script = (call: ModelCall): string =>
  call.prompt?.startsWith("You summarise a conversation") === true ? answer : "it is large";

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

async function summarized({ engine }: TestEngine, sessionId: string, more: object = {}): Promise<CompletedSummary> {
  const begun = await engine.sessions.summaries.start(alice, { sessionId, ...more });
  const summary = await engine.sessions.summaries.wait(alice, begun.id, { waitMs: 10_000 });
  assert.ok(isCompleted(summary), JSON.stringify(summary.end));
  return summary;
}

/** A session of two turns, with one summary of the first and one of both. */
async function sample(t: TestContext) {
  const here = await testEngine(t, { script });
  const there = await testEngine(t, { script });
  const first = await here.ask("How large is a walrus?");
  const { sessionId } = first;
  const early = await summarized(here, sessionId);
  const second = await here.ask("And a seal?", { sessionId });
  const late = await summarized(here, sessionId);
  return { here, there, sessionId, first, second, early, late };
}

test("[M5] an export has the summaries of its session with exact requests and responses, and an import has them again", async (t) => {
  const { here, there, sessionId, early, late } = await sample(t);
  const lines = await all(here.engine.transfer.export(alice, { sessionId }));
  assert.ok(!lines.join("").includes(localOrgId));
  await there.engine.transfer.import(bob, each(lines));
  const { summaries } = there.engine.sessions;
  assert.deepEqual(
    await summaries.list(bob, sessionId),
    [late, early].map((summary) => ({ ...summary, orgId: bob.orgId })),
  );
  for (const { id, calls } of [early, late]) {
    assert.equal(calls.length, 1);
    for (const part of ["request", "response"] as const) {
      const ours = await here.engine.sessions.summaries.bytes(alice, id, { call: 1, of: part });
      assert.deepEqual(Buffer.from(await summaries.bytes(bob, id, { call: 1, of: part })), Buffer.from(ours));
    }
  }
  const ours = await here.engine.sessions.get(alice, sessionId);
  const theirs = await there.engine.sessions.get(bob, sessionId);
  assert.equal(theirs.tokensTotal, ours.tokensTotal);
  const found = await there.engine.tree.search(bob, { text: "about walruses" });
  assert.ok(found.some(({ session }) => session.id === sessionId));
  assert.deepEqual(
    (await all(there.engine.transfer.export(bob, { sessionId }))).slice(1, -1),
    lines.slice(1, -1),
    "the imported session gives the same lines",
  );
  await there.engine.transfer.import(bob, each(lines));
  assert.equal((await there.engine.sessions.get(bob, sessionId)).tokensTotal, ours.tokensTotal);
});

test("[M5] a file of format 2 has no summaries; a later file adds them to the session that is here; a stranger's import adds none", async (t) => {
  const { here, there, sessionId, first, early } = await sample(t);
  const lines = await all(here.engine.transfer.export(alice, { sessionId }));
  const before = new ForgedFile(lines);
  before.lines = before.lines.filter(
    (line) => !("summary" in line || ("key" in line && line.key.includes("/summary-"))),
  );
  Object.assign(before.lines[0] ?? {}, { format: 2 });
  await there.engine.transfer.import(alice, each(before.sealed()));
  assert.deepEqual(await there.engine.sessions.summaries.list(alice, sessionId), []);
  await there.engine.sessions.update(alice, sessionId, { isPublic: true });
  const stranger: Caller = { orgId: localOrgId, userId: newId(), role: "member" };
  await there.engine.transfer.import(stranger, each(lines));
  assert.deepEqual(await there.engine.sessions.summaries.list(alice, sessionId), []);
  await there.engine.transfer.import(alice, each(lines));
  assert.equal((await there.engine.sessions.summaries.list(alice, sessionId)).length, 2);
  const branch = new ForgedFile(await all(here.engine.transfer.export(alice, { turnId: first.id })));
  const left = branch.lines.flatMap((line) => ("summary" in line ? [line.summary.id] : []));
  assert.deepEqual(left, [early.id], "a branch leaves with the summaries of its own turns");
});

test("[M5] [H4] a fork leaves without the summaries of a session that its owner does not see", async (t) => {
  const { here, sessionId, second } = await sample(t);
  await here.engine.sessions.update(alice, sessionId, { isPublic: true });
  const carol: Caller = { orgId: localOrgId, userId: newId(), role: "member" };
  const fork = await here.engine.sessions.create(carol, { forkOf: second.id });
  const shown = await all(here.engine.transfer.export(carol, { sessionId: fork.id }));
  assert.ok(shown.join("").includes("about walruses"));
  await here.engine.sessions.update(alice, sessionId, { isPublic: false });
  const hidden = await all(here.engine.transfer.export(carol, { sessionId: fork.id }));
  assert.ok(!hidden.join("").includes("about walruses"));
});

test("[M5] [D2] a file whose summary names turns or blobs that are not its own is refused", async (t) => {
  const { here, there, sessionId, second } = await sample(t);
  const lines = await all(here.engine.transfer.export(alice, { sessionId }));
  const forged = async (
    detail: RegExp,
    change: (summary: ExportedSummaryLine["summary"], file: ForgedFile) => void,
  ) => {
    const file = new ForgedFile(lines);
    const first = file.lines.find((line): line is ExportedSummaryLine => "summary" in line) ?? assert.fail();
    change(first.summary, file);
    const refused = hasCode("import_invalid", detail);
    await assert.rejects(there.engine.transfer.import(alice, each(file.sealed())), refused);
  };
  const stray = newId();
  await forged(/does not end at a turn of its session/, (summary) => (summary.throughTurnId = stray));
  await forged(/does not have the depth/, (summary) => (summary.throughDepth = 2));
  await forged(/does not begin with the first turn/, (summary) => (summary.fromTurnId = second.id));
  await forged(/session .* is not in the file/, (summary) => (summary.sessionId = stray));
  await forged(/which is not in its range/, ({ end }) => {
    if (end.status === "completed")
      for (const {
        sources: [one],
      } of end.lines)
        if (one) one.turnId = second.id;
  });
  await forged(/names no turn/, ({ end }) => {
    if (end.status === "completed") for (const line of end.lines) line.sources = [];
  });
  await forged(/names another blob/, ({ calls }) => {
    for (const { request } of calls) request.blob = `turns/${second.id}/opening.json`;
  });
  await forged(/request 1 does not match/, ({ calls }) => {
    for (const { request } of calls) request.sha256 = "0".repeat(64);
  });
  await forged(/no call names the blob/, (summary) => (summary.calls = []));
  await forged(/occurs twice/, (summary, file) => {
    file.lines.splice(-1, 0, { kind: "summary", summary: { ...summary, calls: [] } });
  });
  await forged(/turns must come before all summaries/, (summary, file) => {
    const own = file.lines.filter(
      (line) => ("key" in line && line.key.includes(summary.id)) || ("summary" in line && line.summary === summary),
    );
    const rest = file.lines.filter((line) => !own.includes(line));
    const [firstTurn] = file.turns;
    file.lines = rest.flatMap((line) => (line === firstTurn ? [line, ...own] : [line]));
  });
  assert.equal((await there.engine.transfer.import(alice, each(lines))).turnsImported, 2);
});
