/** The page under a keyboard (U12): where the focus is, and what a key may do. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { axeFaults, closeBrowser, pageWorld, settled, type PageWorld, type Tab } from "./page-world.ts";
import { reasonsWorld } from "./reasons-world.ts";

after(closeBrowser);

const focused = (tab: Tab): Promise<unknown> => tab.evaluate("document.activeElement.id");

/** Runs turns of one session, one behind the other. Returns the session and the turns. */
async function conversation(world: PageWorld, ...instructions: string[]): Promise<{ id: string; turns: string[] }> {
  const turns: string[] = [];
  let id = "";
  for (const instruction of instructions) {
    const turn = await world.engine.turns.run(world.owner, { instruction, ...(id !== "" && { sessionId: id }) });
    await turn.finished;
    turns.push(turn.turnId);
    id = turn.sessionId;
  }
  return { id, turns };
}

/** Holds the requests of the tab for these addresses until `go` is called. `held` resolves when the first one is there. */
async function hold(tab: Tab, at: string | RegExp): Promise<{ held: Promise<void>; go(): void }> {
  const [first, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await tab.route(at, async (route) => {
    first.resolve();
    await free.promise;
    await route.continue();
  });
  return { held: first.promise, go: free.resolve };
}

test("[U4] [U12] [U13] who begins a session writes on in the field: no letter is lost, and none is a key of the page", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const tab = await world.tab();
  const field = tab.getByLabel("Instruction");
  await field.waitFor();
  const start = await hold(tab, "**/api/ai/agent/execute");
  const reads = await hold(tab, /\/api\/sessions\/[^/?]+(?:\/turns.*)?$/);
  await tab.keyboard.type("Where is the discount?\n");
  await start.held;
  await tab.keyboard.type("And ");
  start.go();
  await tab.waitForURL(/\/s\//);
  await reads.held;
  await tab.keyboard.type("by @recover-t, ");
  reads.go();
  await tab.getByText("answer 1").waitFor();
  await tab.keyboard.type("run again?");
  assert.equal(await focused(tab), "composer");
  assert.equal(await field.inputValue(), "And by @recover-t, run again?");
  await tab.keyboard.press("Enter");
  await tab.getByText("answer 2").waitFor();
  const { sessions } = await world.engine.sessions.list(world.owner, {});
  assert.deepEqual(
    sessions.map(({ turnNames }) => turnNames),
    [[]],
  );
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U12] [U13] who goes to another session while one begins stays there, and writes there", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const { id } = await conversation(world, "an older one");
  const tab = await world.tab();
  const field = tab.getByLabel("Instruction");
  await field.waitFor();
  const start = await hold(tab, "**/api/ai/agent/execute");
  await tab.keyboard.type("a new one\n");
  await start.held;
  await tab.keyboard.type(" and more");
  const list = tab.getByRole("complementary", { name: "Sessions" });
  await list.getByText("an older one").click();
  await tab.getByText("answer 1").waitFor();
  await field.click();
  await tab.keyboard.type("for the ");
  start.go();
  await list.getByText("a new one").waitFor();
  await settled(tab);
  await tab.keyboard.type("older");
  assert.equal(new URL(tab.url()).pathname, `/s/${id}`);
  assert.equal(await field.inputValue(), "for the older");
  await tab.goto(`${world.url}/`);
  await field.waitFor();
  assert.equal(await field.inputValue(), " and more");
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U12] [U13] who comes back to a field whose instruction is on its way cannot send it again, and sees what became of it", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const tab = await world.tab();
  const field = tab.getByLabel("Instruction");
  const button = tab.getByRole("button", { name: "Run", exact: true });
  await field.waitFor();
  const start = await hold(tab, "**/api/ai/agent/execute");
  await tab.keyboard.type("a new one\n");
  await start.held;
  await tab.getByRole("link", { name: "Costs" }).click();
  await tab.getByRole("heading", { name: "Costs" }).waitFor();
  await tab.goBack();
  await field.waitFor();
  assert.equal(await field.inputValue(), "a new one");
  assert.ok(await button.isDisabled());
  await field.press("Enter");
  start.go();
  await tab.getByText("answer 1").waitFor();
  await settled(tab);
  assert.match(new URL(tab.url()).pathname, /^\/s\//);
  assert.equal(await field.inputValue(), "");
  assert.equal((await world.engine.sessions.list(world.owner, {})).sessions.length, 1);

  await tab.route("**/api/ai/agent/execute", (route) => route.abort());
  await field.fill("the second");
  await field.press("Enter");
  await tab.getByRole("alert").waitFor();
  await tab.getByRole("link", { name: "Costs" }).click();
  await tab.getByRole("heading", { name: "Costs" }).waitFor();
  await tab.goBack();
  await tab.getByRole("alert").waitFor();
  assert.equal(await field.inputValue(), "the second");
  assert.ok(await button.isEnabled());
});

for (const then of ["sent again", "sent again after a reload", "sent again in a session"]) {
  test(`[U4] [T13] [U13] an instruction whose answer was lost runs once if it is ${then}`, async (t) => {
    const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
    const tab = await world.tab();
    const field = tab.getByLabel("Instruction");
    await field.waitFor();
    let earlier = 0;
    if (then === "sent again in a session") {
      await field.fill("one");
      await field.press("Enter");
      await tab.getByText("answer 1").waitFor();
      await settled(tab);
      earlier = 1;
    }
    await tab.route("**/api/ai/agent/execute", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await field.fill("the next");
    await field.press("Enter");
    await tab.getByRole("alert").waitFor();
    await tab.unroute("**/api/ai/agent/execute");
    if (then === "sent again after a reload") await tab.reload();
    await field.waitFor();
    assert.equal(await field.inputValue(), "the next");
    await field.press("Enter");
    await tab.getByText(`answer ${earlier + 1}`).waitFor();
    await settled(tab);
    assert.equal(await field.inputValue(), "");
    const { sessions } = await world.engine.sessions.list(world.owner, {});
    assert.deepEqual(
      sessions.map(({ lastSequence }) => lastSequence),
      [earlier + 1],
    );
    // The same words are another instruction once the first one has arrived.
    await field.fill("the next");
    await field.press("Enter");
    await tab.getByText(`answer ${earlier + 2}`).waitFor();
  });
}

test("[U4] [U12] [U13] an instruction that is sent before the session is read continues it", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const tab = await world.tab();
  await tab.getByLabel("Instruction").waitFor();
  const reads = await hold(tab, /\/api\/sessions\/[^/?]+(?:\/turns.*)?$/);
  await tab.keyboard.type("one\n");
  await tab.waitForURL(/\/s\//);
  await reads.held;
  await tab.keyboard.type("two\n");
  reads.go();
  await tab.getByText("answer 2").waitFor();
  const { sessions } = await world.engine.sessions.list(world.owner, {});
  assert.equal(sessions.length, 1);
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "");
});

test("[U5] [U12] [U13] who begins a fork writes on in the field, also with the button pressed by the mouse", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const first = await world.engine.turns.run(world.owner, { instruction: "one" });
  await first.finished;
  const tab = await world.tab(`/s/${first.sessionId}?fork=${first.turnId}`);
  await tab.getByText(/^What you ask now begins a fork/).waitFor();
  await tab.keyboard.type("another way");
  await tab.getByRole("button", { name: "Run", exact: true }).click();
  await tab.waitForURL((url) => url.pathname.startsWith("/s/") && !url.pathname.includes(first.sessionId));
  await tab.keyboard.type("run on");
  await tab.getByText("answer 2").waitFor();
  await tab.getByRole("button", { name: "Run", exact: true }).click();
  await tab.getByText("answer 3").waitFor();
  await tab.keyboard.type("now");
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "now");
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U12] who stops a turn with the mouse writes on in the field", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await pageWorld(t, { script: () => [{ says: ["begun ", held.promise, "."] }] });
  const tab = await world.tab();
  await tab.getByLabel("Instruction").waitFor();
  await tab.keyboard.type("go\n");
  await tab.getByText("begun").waitFor();
  await tab.getByRole("button", { name: "Stop" }).click();
  held.resolve();
  await tab.getByText("interrupted").first().waitFor();
  await tab.keyboard.type("run again");
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "run again");
});

test("[U5] [U12] [U13] letters without a field run, name and fork nothing; r asks, and Ctrl-Enter is the answer", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const { engine, owner } = world;
  const { id } = await conversation(world, "one", "two");
  const tab = await world.tab(`/s/${id}`);
  await tab.getByText("answer 2").waitFor();
  await tab.keyboard.type("first, Name it again\n");
  await tab.getByText("Choose the turn at which the fork begins").waitFor();
  await tab.goto(`${world.url}/s/${id}`);
  await tab.getByText("answer 2").waitFor();
  await tab.keyboard.type("And design src/a.ts, for what? run it.");
  assert.equal(await focused(tab), "", "no key in the middle of a text opens a field");
  assert.equal(await tab.getByRole("dialog").count(), 0);
  assert.equal(new URL(tab.url()).pathname, `/s/${id}`);
  await tab.goto(`${world.url}/s/${id}`);
  await tab.getByText("answer 2").waitFor();
  const dialog = tab.getByRole("dialog", { name: "Run turn 2 again" });
  await tab.keyboard.press("r");
  await dialog.waitFor();
  await tab.keyboard.type("efactor it, and run all tests again\n");
  assert.equal(await dialog.getByTitle("Model", { exact: true }).inputValue(), "");
  assert.equal(await dialog.getByTitle("Mode", { exact: true }).inputValue(), "");
  assert.deepEqual(await axeFaults(tab), []);
  assert.equal((await engine.sessions.list(owner, {})).sessions.length, 1);
  assert.deepEqual(await engine.sessions.turnNames.list(owner, id), []);
  assert.equal(await tab.getByText("answer 3").count(), 0);
  await tab.keyboard.press("Control+Enter");
  await tab.getByText("answer 3").waitFor();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(tab.faults, []);
});

test("[U5] [U12] [U13] j and k choose a turn, Enter opens the inspector, and Escape closes it where one is", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const { id, turns } = await conversation(world, "one", "two", "three");
  const [first, second] = turns;
  const tab = await world.tab(`/s/${id}`);
  await tab.getByText("answer 3").waitFor();
  const chosen = (turn: string | undefined) => tab.locator(`#turn-${turn}[aria-current=true]`);
  const inspector = tab.getByRole("complementary", { name: "Inspector" });
  await tab.keyboard.type("kk");
  await chosen(second).waitFor();
  assert.equal(new URL(tab.url()).pathname, `/s/${id}`, "nothing is opened");
  await tab.keyboard.press("Enter");
  await inspector.waitFor();
  await tab.waitForURL(`${world.url}/s/${id}/t/${second}`);
  await tab.keyboard.press("k");
  await tab.waitForURL(`${world.url}/s/${id}/t/${first}`);
  await tab.keyboard.press("Escape");
  await inspector.waitFor({ state: "detached" });
  await chosen(first).waitFor();
  await tab.keyboard.press("f");
  await tab.getByText(/^What you ask now begins a fork at turn 1/).waitFor();
  await tab.getByRole("link", { name: "Cancel" }).click();
  await chosen(first).waitFor();
  await tab.keyboard.press("Escape");
  await chosen(first).waitFor({ state: "detached" });
  await tab.getByRole("link", { name: "Tree" }).click();
  await tab.getByRole("treeitem").first().waitFor();
  await tab.getByRole("link", { name: "Tree" }).blur();
  await tab.keyboard.type("kk");
  await chosen(second).waitFor();
  await tab.getByRole("treeitem").first().waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U7] [U12] a turn is not compared with itself, and not with nothing: the page says why", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const { id, turns } = await conversation(world, "one", "two");
  const tab = await world.tab(`/s/${id}`);
  await tab.getByText("answer 2").waitFor();
  await tab.keyboard.press("c");
  await tab.getByRole("alert").getByText("No turn is marked.").waitFor();
  await tab.keyboard.type("mc");
  await tab.getByRole("alert").getByText("Turn 2 is the marked turn itself.").waitFor();
  assert.equal(new URL(tab.url()).pathname, `/s/${id}`);
  await tab.keyboard.type("kkc");
  await tab.waitForURL(`${world.url}/compare/${turns[1]}/${turns[0]}`);
  await tab.goBack();
  await tab.locator(`#turn-${turns[1]} .tag`, { hasText: "marked" }).waitFor();
  assert.equal(await tab.getByRole("alert").count(), 0, "what was right afterwards has no fault");
  assert.deepEqual(tab.faults, []);
});

test("[U12] [U13] / and g n lead to the field in every view, also to that of a new session which is open already", async (t) => {
  const world = await pageWorld(t);
  const tab = await world.tab();
  const isWriting = async (): Promise<void> => {
    await tab.locator("#composer:focus").waitFor();
    await tab.keyboard.press("Escape");
    assert.equal(await focused(tab), "");
  };
  const fresh = tab.getByRole("heading", { name: "What should the model do?" });
  await fresh.waitFor();
  await isWriting();
  for (const keys of ["/", "gn"]) {
    await tab.keyboard.type(keys);
    await isWriting();
  }
  for (const keys of ["/", "gn"]) {
    await tab.keyboard.type("gc");
    await tab.getByRole("heading", { name: "Costs" }).waitFor();
    await tab.keyboard.type(keys);
    await fresh.waitFor();
    await isWriting();
  }
  await tab.keyboard.type("ga");
  await tab.getByRole("heading", { name: "Ask several" }).waitFor();
  await tab.keyboard.type("/");
  await tab.locator("#composer:focus").waitFor();
  assert.equal(new URL(tab.url()).pathname, "/several");
  assert.deepEqual(tab.faults, []);
});

test("[U3] [U12] [U13] the commands tell sessions of one name apart by their repositories and times", async (t) => {
  const world = await reasonsWorld(t);
  for (const repo of ["shop", "store"]) await world.run("the same question", { repo });
  const tab = await world.tab();
  await tab
    .getByRole("link", { name: /the same question/ })
    .nth(1)
    .waitFor();
  await tab.keyboard.press("Control+k");
  await tab.keyboard.type("same");
  const options = tab.getByRole("listbox", { name: "Commands" }).getByRole("option");
  await options.nth(1).waitFor();
  assert.deepEqual(await options.allTextContents(), ["the same questionstore · now", "the same questionshop · now"]);
  assert.deepEqual(await axeFaults(tab), []);
  assert.deepEqual(tab.faults, []);
});
