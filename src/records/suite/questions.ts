/** What a store must do with the questions of clients about calls of their own tools (V5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolCallView } from "../../domain/tool.ts";
import { newId } from "../../domain/ids.ts";
import type { ClientAsking } from "../questions.ts";
import { runSampleTurn, startSession, type OpenRecordsForTest } from "./samples.ts";

type Parts = "questions" | "sessions" | "turns" | "purges";

const view: ToolCallView = {
  kind: "edit",
  title: "write src/a.ts",
  locations: [{ path: "/r/src/a.ts" }],
  content: [{ type: "diff", path: "/r/src/a.ts", oldText: null, newText: "a\u0000b" }],
  permission: null,
};
const hour = 3_600_000;

function asking(more: Partial<ClientAsking> = {}): ClientAsking {
  return { turnId: newId(), callId: "c1", askerId: "first", view, leaseMs: hour, ...more };
}

export function questionTests(open: OpenRecordsForTest<Parts>): void {
  test("[V5] a client's question is open until it is answered; the first answer counts, through every store on the records", async (context) => {
    const { store, reopen } = await open(context);
    const other = reopen === null ? store : await reopen();
    if (reopen !== null) context.after(() => other.close());
    const { leaseMs, ...question } = asking();
    assert.equal(await store.questions.ask({ ...question, leaseMs }), null);
    assert.deepEqual(await other.questions.listOpen(question.turnId), [question]);
    const answers = [{ approved: true }, { approved: false, reason: "no" }];
    const taken = await Promise.all(
      answers.map((answer, n) => (n === 0 ? store : other).questions.answer({ ...question, answer, keptMs: hour })),
    );
    assert.deepEqual(taken.toSorted(), [false, true]);
    assert.deepEqual(await store.questions.listOpen(question.turnId), []);
    assert.deepEqual(await store.questions.ask({ ...question, leaseMs }), answers[taken.indexOf(true)]);
  });

  test("[V5] a question ends with its lease, a renewal keeps it, and another asker begins again", async (context) => {
    const { store } = await open(context);
    const question = asking();
    await store.questions.ask({ ...question, leaseMs: 0 });
    assert.deepEqual(await store.questions.listOpen(question.turnId), []);
    assert.equal(await store.questions.answer({ ...question, answer: { approved: true }, keptMs: hour }), false);
    await store.questions.ask(question);
    await store.questions.ask({ ...question, callId: "c0" });
    assert.deepEqual(
      (await store.questions.listOpen(question.turnId)).map(({ callId }) => callId),
      ["c0", "c1"],
    );
    assert.equal(await store.questions.answer({ ...question, answer: { approved: true }, keptMs: hour }), true);
    assert.equal(await store.questions.ask({ ...question, askerId: "second" }), null, "the call may have run with it");
    await store.questions.withdraw({ ...question, askerId: "first" });
    assert.equal((await store.questions.listOpen(question.turnId)).length, 2, "that asker has no question now");
    await store.questions.withdraw({ ...question, askerId: "second" });
    assert.equal((await store.questions.listOpen(question.turnId)).length, 1);
  });

  test("[V5] [S6] a purged turn leaves no question, because its view has content", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const turn = await runSampleTurn(store, session.id);
    await store.questions.ask(asking({ turnId: turn.id }));
    assert.equal(await store.purges.purgeSession(session.id, []), true);
    assert.deepEqual(await store.questions.listOpen(turn.id), []);
  });
}
