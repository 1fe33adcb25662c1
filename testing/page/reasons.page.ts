/** A session of 1,000 turns with forks: what a turn saw, another run of it with another model, and both compared (U5, U6, U7). */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Script } from "../../src/providers/scripted/scripted.ts";
import { closeBrowser } from "./page-world.ts";
import { reasonsWorld } from "./reasons-world.ts";

after(closeBrowser);

const table = (price: number): string =>
  `The price is **${price}**.\n\n| rule | from |\n|---|---|\n| discount | ${price} |\n\nNothing else changed.`;

test("[U5] [U6] [U7] [U13] in 1,000 turns with forks: look into a turn, run it again with another model, and compare both", async (t) => {
  const script: Script = ({ model }, n) => (n <= 1_000 ? `answer ${n}` : table(model === "claude-opus-5" ? 90 : 100));
  const world = await reasonsWorld(t, script, { remembers: true });
  const { engine, owner } = world;
  const first = await world.run("instruction 1", { repo: undefined });
  const { sessionId } = first;
  for (let n = 2; n <= 1_000; n += 1) await world.run(`instruction ${n}`, { sessionId, repo: undefined });
  const last = await world.run("What is the price?", { sessionId });
  for (const name of ["a way", "another way"]) await engine.sessions.create(owner, { forkOf: first.turnId, name });

  const tab = await world.tab(`/s/${sessionId}`);
  await tab.getByText("Nothing else changed.").waitFor();
  await tab.getByRole("link", { name: "Tree" }).click();
  await tab.getByRole("treeitem").filter({ hasText: "What is the price?" }).click();
  await tab.locator(".turn-row").last().getByRole("link", { name: "What it saw" }).click();
  const inspector = tab.getByRole("complementary", { name: "Inspector" });
  await inspector.getByText(/^1.000 turns, kept by the provider/).waitFor();
  await inspector.getByRole("toolbar", { name: "Parts of the window" }).waitFor();
  await tab.keyboard.press("r");
  const dialog = tab.getByRole("dialog", { name: "Run turn 1001 again" });
  await dialog.getByLabel("Model").selectOption("anthropic/claude-opus-5");
  await dialog.getByRole("button", { name: "Run again" }).click();
  await dialog.waitFor({ state: "detached" });
  await tab.locator(".turn td", { hasText: "90" }).waitFor();
  await tab.keyboard.press(".");
  await tab.getByRole("menuitem", { name: "Compare with the run before" }).click();
  await tab.getByRole("row", { name: /^model anthropic claude-sonnet-5 anthropic claude-opus-5/ }).waitFor();
  await tab.getByRole("heading", { name: /^Right Turn \d+ of \S/ }).waitFor();
  // The words that differ are marked in the paragraph and in the table, and the rest is not.
  const marks = tab.locator(".answer-side mark");
  await marks.first().waitFor();
  assert.deepEqual(await marks.allTextContents(), ["100", "90", "100", "90"]);
  assert.equal(await tab.locator(".answer-side td mark").count(), 2);
  assert.equal((await engine.sessions.get(owner, sessionId)).headTurnId === last.turnId, false, "the run is the head");
  await tab.getByRole("link", { name: "Swap the sides" }).click();
  await tab.getByRole("row", { name: /^model anthropic claude-opus-5 anthropic claude-sonnet-5/ }).waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U7] two forks are compared on a phone: chunks that differ by their places, and equal parts once and folded", async (t) => {
  const equal = Array.from({ length: 8 }, (_, at) => `Equal part ${at}.`).join("\n\n");
  const world = await reasonsWorld(t, (_call, n) => (n === 1 ? "start" : `Way ${n}.\n\n${equal}`));
  const { sessionId, turnId } = await world.run("start", { repo: undefined });
  const one = await world.run("go on", { fork: { turnId }, repo: undefined });
  const other = await world.run("go on", { fork: { turnId }, repo: "shop", pathPrefixes: ["data/"] });
  const tab = await world.tab(`/compare/${one.turnId}/${other.turnId}`, { viewport: { width: 360, height: 740 } });
  await tab.getByRole("row", { name: "data/big.json:1-4 not sent sent" }).waitFor();
  // Both forks have the name of their instruction, so the ends of their ids tell them apart.
  for (const { sessionId: id } of [one, other]) {
    await tab.getByRole("heading", { name: new RegExp(`Turn 1 of go on \\(${id.slice(-8)}\\)$`) }).waitFor();
  }
  await tab.getByText("Equal part 0.").first().waitFor();
  assert.equal(await tab.locator(".answer-row.same:visible .answer-side:visible").count(), 1, "it stands once");
  await tab.getByRole("button", { name: /7 equal parts/ }).click();
  await tab.getByText("Equal part 7.").first().waitFor();
  assert.equal(await tab.evaluate("document.documentElement.scrollWidth"), 360);
  assert.notEqual(one.sessionId, sessionId);
  assert.deepEqual(tab.faults, []);
});
