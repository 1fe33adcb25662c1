import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testEngine, type TestEngine } from "../../../testing/engine.ts";
import { addUser } from "../../../testing/people.ts";
import type { Caller } from "../../domain/caller.ts";
import type { SequencedEvent } from "../../domain/events.ts";
import type { Script } from "../../providers/scripted/scripted.ts";

interface World extends TestEngine {
  sessionId: string;
  /** A running turn of the owner. */
  turnId: string;
  person(): Promise<Caller>;
  /** Lets the model answer. */
  answerNow(): void;
}

async function world(t: TestContext): Promise<World> {
  const held = Promise.withResolvers<void>();
  const script: Script = ({ items }) =>
    JSON.stringify(items.at(-1)).includes("wait") ? [{ says: ["a", held.promise, "b"] }] : "ok";
  const tested = await testEngine(t, { script });
  t.after(() => held.resolve());
  const { caller, deps, ask, start } = tested;
  const { sessionId } = await ask("first");
  const person = async (): Promise<Caller> => {
    const { id: userId } = await addUser(deps.records, { orgId: caller.orgId, role: "member" });
    return { orgId: caller.orgId, userId, role: "member" };
  };
  const { turnId } = await start("wait", { sessionId });
  return { ...tested, sessionId, turnId, person, answerNow: () => held.resolve() };
}

/** Reads a stream to its end, and returns the types of its events. */
async function readAll(events: AsyncIterable<SequencedEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const { event } of events) types.push(event.type);
  return types;
}

for (const how of ["unshared", "dismissed"] as const) {
  test(`[H4] [S7] an open stream ends when its reader may no longer see the session: ${how}`, async (t) => {
    const { engine, caller, sessionId, turnId, person, answerNow } = await world(t);
    const bob = await person();
    const shared = how === "unshared" ? { isPublic: true } : { invite: [bob.userId] };
    await engine.sharing.change(caller, sessionId, shared);
    const events = await engine.turns.events(bob, turnId, { afterSeq: 0 });
    const reading = readAll(events);
    const owned = readAll(await engine.turns.events(caller, turnId, { afterSeq: 0 }));
    // The stream waits for the model when access is lost.
    await engine.sharing.change(
      caller,
      sessionId,
      how === "unshared" ? { isPublic: false } : { dismiss: [bob.userId] },
    );
    assert.ok(!(await reading).includes("run_finished"));
    answerNow();
    assert.equal((await owned).at(-1), "run_finished", "the owner's stream goes on");
  });
}

test("[H4] the stream of an own turn in another's session ends too, and the turn goes on", async (t) => {
  const held = Promise.withResolvers<void>();
  const script: Script = (_call, n) => (n === 1 ? "ok" : [{ says: ["a", held.promise, "b"] }]);
  const { engine, caller, deps, ask } = await testEngine(t, { script });
  const { sessionId } = await ask("first");
  const { id: userId } = await addUser(deps.records, { orgId: caller.orgId, role: "member" });
  await engine.sharing.change(caller, sessionId, { invite: [userId] });
  const running = await engine.turns.run(
    { orgId: caller.orgId, userId, role: "member" },
    { instruction: "go", sessionId },
  );
  const reading = readAll(running.events());
  await engine.sharing.change(caller, sessionId, { dismiss: [userId] });
  assert.ok(!(await reading).includes("run_finished"));
  held.resolve();
  assert.equal((await running.finished).status, "completed");
});
