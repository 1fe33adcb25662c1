/** What is left of a user whom the operator erased (H4, S6). */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test, type TestContext } from "node:test";
import { alice, testEngine, type TestEngine } from "../../../testing/engine.ts";
import { managedWorkspaces } from "../../../testing/managed-workspaces.ts";
import { hasCode } from "../../../testing/refusals.ts";
import type { Caller } from "../../domain/caller.ts";
import type { FinishedTurn } from "../../domain/turn.ts";

interface World extends TestEngine {
  bob: Caller;
  secret: string;
  askAs(caller: Caller, instruction: string, more?: object): Promise<FinishedTurn>;
}

async function world(t: TestContext): Promise<World> {
  const { parts, workspaces } = managedWorkspaces(() => made.deps);
  await workspaces.use("default");
  const made: TestEngine = await testEngine(t, { workspaces: parts });
  const { engine } = made;
  await engine.keys.owner();
  const email = "bob@example.org";
  const { id } = await engine.people.addUser(alice, { name: "Bob", email, externalId: "b-1", role: "member" });
  const bob: Caller = { orgId: alice.orgId, userId: id, role: "member" };
  const { secret } = await engine.keys.create(bob, { name: "laptop" });
  const askAs = async (caller: Caller, instruction: string, more = {}): Promise<FinishedTurn> =>
    await (
      await engine.turns.run(caller, { instruction, repo: null, ...more })
    ).finished;
  return { ...made, bob, secret, askAs };
}

test("[H4] [S6] the operator erases a user who left: private sessions and keys go, shared ones stay, and the audit log has counts only", async (t) => {
  const { engine, deps, bob, secret, askAs } = await world(t);
  const first = await askAs(bob, "my salary");
  await askAs(bob, "and a fork", { fork: { turnId: first.id } });
  const removed = await askAs(bob, "a removed one");
  await engine.tree.remove(bob, removed.sessionId);
  const shared = await askAs(bob, "for all of us");
  await engine.sharing.change(bob, shared.sessionId, { isPublic: true });
  const invited = await askAs(bob, "for Alice");
  const others = await askAs(alice, "mine");
  const { id: carol } = await engine.people.addUser(alice, { name: "Carol", role: "member" });
  await engine.sharing.change(bob, invited.sessionId, { invite: [carol] });

  const { memory = assert.fail() } = deps.workspaces ?? {};
  for (const { sessionId, id: turnId } of [first, shared])
    await memory.add("default", { text: `of ${turnId}`, at: 0, source: { sessionId, turnId } });

  await assert.rejects(engine.operator.eraseUser(bob.userId), hasCode("request_invalid", /user disable/));
  assert.notEqual(await engine.keys.authenticate(secret), null);
  await engine.people.changeUser(alice, bob.userId, { disabled: true });
  const { user: _user, ...counts } = await engine.operator.erasable(bob.userId);
  assert.deepEqual(counts, { sessions: 3, sharedSessions: 2, keys: 1, facts: 1 });
  const erased = await engine.operator.eraseUser(bob.userId);
  assert.deepEqual([erased.turnsPurged, erased.turnsKept], [3, 0]);

  const left = await deps.records.attachments.list({ limit: 100 });
  assert.deepEqual(
    left.map(({ id }) => id).toSorted(),
    [shared, invited, others].map((one) => one.sessionId).toSorted(),
  );
  assert.deepEqual(await deps.blobs.list(`turns/${first.id}/`), []);
  assert.deepEqual(
    (await memory.read("default"))?.facts.map(({ text }) => text),
    [`of ${shared.id}`],
  );
  const user = await engine.people.user(alice, bob.userId);
  assert.deepEqual([user.name, user.email, user.externalId], ["erased user", null, null]);
  await engine.people.changeUser(alice, bob.userId, { disabled: false });
  assert.equal(await engine.keys.authenticate(secret), null);
  const { entries } = await engine.audit.list(alice, { action: "user.erase" });
  assert.deepEqual(
    entries.map(({ outcome, userId, targetId, facts }) => ({ outcome, userId, targetId, facts })),
    [
      { outcome: "done", userId: null, targetId: bob.userId, facts: { sessions: 3, keys: 1, facts: 1 } },
      { outcome: "request_invalid", userId: null, targetId: bob.userId, facts: { sessions: 3, keys: 1, facts: 1 } },
    ],
  );
  await assert.rejects(engine.operator.erasable(randomUUID()), hasCode("not_found", /no user/));
});

test("[H4] [S6] turns that a fork of another user needs stay, and the session that had them loses its words", async (t) => {
  const { engine, deps, bob, askAs } = await world(t);
  const first = await askAs(bob, "shared for a day");
  const { sessionId } = first;
  await askAs(bob, "only Bob has this", { sessionId });
  await engine.sessions.update(bob, sessionId, { name: "Bob's plan", description: "secret", labels: ["bob"] });
  await engine.sharing.change(bob, sessionId, { isPublic: true });
  const fork = await askAs(alice, "go on", { fork: { turnId: first.id } });
  await engine.sharing.change(bob, sessionId, { isPublic: false });
  await engine.people.changeUser(alice, bob.userId, { disabled: true });
  const { turnsPurged, turnsKept } = await engine.operator.eraseUser(bob.userId);
  assert.deepEqual([turnsPurged, turnsKept], [1, 1]);
  const rest = await deps.records.sessions.get(sessionId);
  assert.deepEqual([rest?.name, rest?.description, rest?.labels], ["erased user", "", []]);
  assert.notEqual(rest?.deletedAt, null);
  assert.equal((await askAs(alice, "and on", { sessionId: fork.sessionId })).status, "completed");
});
