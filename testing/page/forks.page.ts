/** Forks in the page (U5): where they begin, and the way back. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { closeBrowser } from "./page-world.ts";
import { reasonsWorld } from "./reasons-world.ts";

after(closeBrowser);

test("[U5] [T6] a fork begins with its first instruction, and one who leaves before has made nothing", async (t) => {
  const world = await reasonsWorld(t, (_call, n) => `answer ${n}`);
  const { engine, owner } = world;
  const first = await world.run("one");
  const second = await world.run("two", { sessionId: first.sessionId });
  const tab = await world.tab(`/s/${first.sessionId}/t/${first.turnId}`);
  await tab.locator(".turn.selected").waitFor();
  const notice = tab.getByText(/^What you ask now begins a fork at turn 1/);
  const field = tab.getByLabel("Instruction");
  await tab.keyboard.press("f");
  await notice.waitFor();
  await tab.getByText("answer 2").waitFor({ state: "detached" });
  assert.equal(await tab.locator(".turn").count(), 1);
  await field.fill("another two");
  await tab.getByRole("link", { name: "Cancel" }).click();
  await notice.waitFor({ state: "detached" });
  await tab.getByText("answer 2").waitFor();
  assert.equal(await field.inputValue(), "", "the conversation has a draft of its own");
  assert.equal((await engine.sessions.list(owner, {})).sessions.length, 1);
  await tab.goBack();
  await notice.waitFor();
  await tab.reload();
  await notice.waitFor();
  assert.equal(await field.inputValue(), "another two");
  await tab.getByRole("button", { name: "Run", exact: true }).click();
  await tab.waitForURL((url) => url.pathname.startsWith("/s/") && !url.pathname.includes(first.sessionId));
  await tab.getByText("answer 3").waitFor();
  const [fork] = (await engine.sessions.list(owner, {})).sessions;
  assert.equal(fork?.originTurnId, first.turnId);
  assert.equal((await engine.sessions.get(owner, first.sessionId)).headTurnId, second.turnId);
  assert.deepEqual(tab.faults, []);
});

test("[U5] [T7] a turn above the head is run again in a fork: the menu says so, and the fork leads back", async (t) => {
  const world = await reasonsWorld(t, (_call, n) => `answer ${n}`);
  const first = await world.run("one");
  await world.run("two", { sessionId: first.sessionId });
  const third = await world.run("three", { sessionId: first.sessionId });
  const tab = await world.tab(`/s/${first.sessionId}`);
  await tab.getByText("answer 3").waitFor();
  await tab.getByRole("button", { name: "Actions of turn 3" }).click();
  await tab.getByRole("menuitem", { name: /^Run again beside it/ }).waitFor();
  await tab.keyboard.press("Escape");
  await tab.getByRole("button", { name: "Actions of turn 2" }).click();
  await tab.getByRole("menuitem", { name: /^Run again in a fork/ }).click();
  await tab.getByText("answer 4").waitFor();
  await tab.getByRole("link", { name: "Go to where it was forked" }).click();
  await tab.waitForURL(`${world.url}/s/${first.sessionId}/t/${first.turnId}`);
  await tab.getByText("answer 3").waitFor();
  assert.equal((await world.engine.sessions.get(world.owner, first.sessionId)).headTurnId, third.turnId);
});

test("[U5] [U13] the first turn of a fork is shown also if it ends between the reads of the session and of its turns", async (t) => {
  const ends = Promise.withResolvers<void>();
  const world = await reasonsWorld(t, (_call, n) =>
    n === 1 ? "answer 1" : [{ says: ["answer ", ends.promise, "2"] }],
  );
  const first = await world.run("one");
  const tab = await world.tab(`/s/${first.sessionId}?fork=${first.turnId}`);
  const isRead = Promise.withResolvers<void>();
  const hasEnded = Promise.withResolvers<void>();
  await tab.route(ofFork(first.sessionId), async (route) => {
    const response = await route.fetch();
    isRead.resolve();
    await hasEnded.promise;
    await route.fulfill({ response });
  });
  await tab.route(turnsOfFork(first.sessionId), async (route) => {
    await hasEnded.promise;
    await route.continue();
  });
  await tab.getByLabel("Instruction").fill("the fork");
  await tab.getByRole("button", { name: "Run", exact: true }).click();
  await isRead.promise;
  const row = tab.getByRole("link", { name: /the fork/ });
  await row.filter({ hasText: "running" }).waitFor();
  ends.resolve();
  await row.filter({ hasNotText: "running" }).waitFor();
  hasEnded.resolve();
  await tab.getByText("answer 2").waitFor();
});

/** The addresses of every session but this one, and of their turns. */
const ofFork = (origin: string): RegExp => new RegExp(`/api/sessions/(?!${origin})[^/?]+$`);
const turnsOfFork = (origin: string): RegExp => new RegExp(`/api/sessions/(?!${origin})[^/?]+/turns`);

test("[U5] [U13] the tree shows what others do while it is open: how a turn ends, a new fork, and a fork's new name and state", async (t) => {
  const ends = Promise.withResolvers<void>();
  const world = await reasonsWorld(t, (_call, n) =>
    n === 2 ? [{ waits: ends.promise }, { says: "late" }] : `answer ${n}`,
  );
  const { engine, owner } = world;
  const first = await world.run("one");
  const { sessionId } = first;
  const tab = await world.tab(`/s/${sessionId}/t/tree`);
  await tab.getByRole("treeitem", { name: /one/ }).waitFor();
  const second = await engine.turns.run(owner, { instruction: "two", sessionId });
  await tab.getByRole("treeitem", { name: /two.*running/ }).waitFor();
  ends.resolve();
  await second.finished;
  await tab.getByRole("treeitem", { name: /two.*head/ }).waitFor();
  await tab.getByRole("treeitem", { name: /running/ }).waitFor({ state: "detached" });
  const fork = await engine.turns.run(owner, { instruction: "aside", fork: { turnId: first.turnId } });
  await fork.finished;
  await tab.getByRole("treeitem", { name: /aside.*fork, 1 turn/ }).waitFor();
  await engine.sessions.update(owner, fork.sessionId, { name: "another way" });
  await tab.getByRole("treeitem", { name: /another way.*fork, 1 turn/ }).waitFor();
  await world.run("more of it", { sessionId: fork.sessionId });
  await tab.getByRole("treeitem", { name: /another way.*fork, 2 turns/ }).waitFor();
  assert.deepEqual(tab.faults, []);
});
