/** The page under a keyboard (U12): where the focus is, and what a key may do. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { closeBrowser, pageWorld, type Tab } from "./page-world.ts";

after(closeBrowser);

const focused = (tab: Tab): Promise<unknown> => tab.evaluate("document.activeElement.id");

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
  await tab.getByText("interrupted").waitFor();
  await tab.keyboard.type("run again");
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "run again");
});
