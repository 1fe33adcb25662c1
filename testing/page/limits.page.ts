/** The page at its limits, with what a person sees (U5, U11): many forks, hostile names, huge outputs, changes and answers, damaged content. */
import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { replaceBlob } from "../replace-blob.ts";
import { newId } from "../../src/domain/ids.ts";
import type { ToolContent } from "../../src/domain/tool.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { askInPage, closeBrowser, pageWorld, settled, type PageWorld, type Tab } from "./page-world.ts";

after(closeBrowser);

async function nodes(tab: Tab): Promise<number> {
  return Number(await tab.evaluate("document.querySelectorAll('*').length"));
}

async function ran(world: PageWorld, instruction: string, more: object = {}) {
  const turn = await world.engine.turns.run(world.owner, { instruction, ...more });
  const finished = await turn.finished;
  return { ...turn, blobs: finished.blobs };
}

/** Forks a turn many times, by rows: making 10,000 sessions one by one takes longer than looking at them. */
async function forkOften({ engine, owner, deps }: PageWorld, turnId: string, count: number): Promise<void> {
  const fork = await engine.sessions.create(owner, { forkOf: turnId, name: "fork 0" });
  for (let n = 1; n < count; n++) {
    await deps.records.sessions.insert({ ...fork, id: newId(), name: `fork ${n}`, activeAt: fork.activeAt + n });
  }
}

test("[U5] [U11] [U12] a turn with 10,000 forks is a few rows in the tree and in the map, and shows more when it is asked for", async (t) => {
  const world = await pageWorld(t, {});
  const first = await ran(world, "one");
  await ran(world, "two", { sessionId: first.sessionId });
  await forkOften(world, first.turnId, 10_000);
  const tab = await world.tab(`/s/${first.sessionId}/t/tree`);
  const more = tab.getByRole("treeitem", { name: /9,997 more forks/ });
  await more.waitFor();
  assert.equal(await tab.getByRole("treeitem").count(), 6);
  await more.click();
  // The first of the new rows has the focus, at the place of the row that was opened.
  const focused = (name: string | RegExp) => tab.getByRole("treeitem", { name }).and(tab.locator(":focus"));
  await focused("fork 9996").waitFor();
  assert.ok((await nodes(tab)) < 1_500);

  // The arrow keys walk over rows that were not in the document.
  await tab.keyboard.press("End");
  await focused("one").waitFor();
  await tab.keyboard.press("ArrowUp");
  await focused(/9,950 more forks/).waitFor();
  await tab.keyboard.press("Enter");
  await focused("fork 9949").waitFor();

  await tab.goto(`${world.url}/map`);
  const left = tab.getByRole("treeitem", { name: /9,997 more forks of turn 1/ });
  await left.waitFor();
  await left.click();
  await focused("fork 9996").waitFor();
  assert.ok((await nodes(tab)) < 1_500);
  await tab.getByPlaceholder("Search sessions and their origins").fill("fork 4711");
  await tab.getByRole("treeitem", { name: "fork 4711" }).waitFor();
  await tab.getByRole("link", { name: "fork 4711" }).click();
  await tab.waitForURL(/\/s\//);
  assert.deepEqual(tab.faults, []);
});

async function manyTurns(t: TestContext, count: number): Promise<{ world: PageWorld; sessionId: string }> {
  const world = await pageWorld(t, { remembers: true });
  const { sessionId } = await ran(world, "turn 1");
  for (let n = 2; n <= count; n++) await ran(world, `turn ${n}`, { sessionId });
  return { world, sessionId };
}

test("[U5] [U11] a tree of more than 1,000 turns has pages, folds its lines, and unfolds one without drawing all of it", async (t) => {
  const { world, sessionId } = await manyTurns(t, 1_010);
  const tab = await world.tab(`/s/${sessionId}/t/tree`);
  const run = tab.getByRole("treeitem", { name: /… 99\d turns/ });
  await run.waitFor();
  assert.ok((await tab.getByRole("treeitem").count()) < 12);
  await run.click();
  await tab.getByRole("button", { name: "Fold again" }).waitFor();
  assert.ok((await nodes(tab)) < 3_000);
  await tab.getByRole("complementary", { name: "Tree of the session" }).getByText("Show earlier turns").click();
  await tab.locator("[role=treeitem][aria-setsize='1010']").first().focus();
  await tab.keyboard.press("End");
  await tab
    .getByRole("treeitem", { name: /^1 ?turn 1/ })
    .and(tab.locator(":focus"))
    .waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U11] a conversation goes back to its begin, and the browser finds words that are out of sight", async (t) => {
  const { world, sessionId } = await manyTurns(t, 220);
  const tab = await world.tab(`/s/${sessionId}`);
  await tab.locator(".turn").nth(49).waitFor();
  for (const count of [50, 100, 150, 200]) {
    await tab.locator(".earlier").scrollIntoViewIfNeeded();
    await tab.evaluate("globalThis.seen = document.querySelector('.turn')");
    await settled(tab);
    const top = await tab.evaluate("seen.getBoundingClientRect().top");
    await tab.locator(".earlier").click();
    await tab.locator(".turn").nth(count).waitFor({ state: "attached" });
    await settled(tab);
    const moved = Number(await tab.evaluate("seen.getBoundingClientRect().top")) - Number(top);
    assert.ok(Math.abs(moved) < 5, `what a person reads stays in sight: ${moved}`);
  }
  assert.equal(await tab.locator(".turn").count(), 220);
  assert.equal(await tab.locator(".earlier").count(), 0);
  assert.equal(await tab.evaluate("find('turn 117') && getSelection().toString()"), "turn 117");
  assert.deepEqual(tab.faults, []);
});

const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}";

test("[U4] [U11] answers far from what is seen are text alone; nothing jumps, and each is drawn again when one comes near", async (t) => {
  const paragraphs = Array.from({ length: 40 }, (_, at) => `Paragraph **${at}** of an answer.`).join("\n\n");
  const world = await pageWorld(t, { script: () => paragraphs });
  const { sessionId } = await ran(world, "turn 1");
  for (let n = 2; n <= 6; n++) await ran(world, `turn ${n}`, { sessionId });
  const tab = await world.tab(`/s/${sessionId}`);
  const [first, last] = [tab.locator(".turn").first(), tab.locator(".turn").last()];
  const isFar = async (turn: typeof first): Promise<void> => {
    await turn.locator(".markdown").waitFor({ state: "detached" });
    assert.match((await turn.locator(".answer").textContent()) ?? "", /Paragraph \*\*39\*\* of an answer/);
  };
  await last.locator(".markdown").waitFor();
  await isFar(first);
  const scrolled = async (by: number): Promise<number> => {
    await tab.evaluate(`{
      const box = document.querySelector(".turns");
      box.scrollBy(0, ${by});
      const { left, top, width, height } = box.getBoundingClientRect();
      const near = [0, 10, 20, 30, 40].map((y) => document.elementFromPoint(left + width / 2, top + height / 2 + y));
      window.middle = near.find((one) => one.matches("p, .instruction")) ?? near[0];
      window.middleTop = middle.getBoundingClientRect().top;
    }`);
    await settled(tab);
    return Number(await tab.evaluate("middle.isConnected ? middle.getBoundingClientRect().top - middleTop : 1e9"));
  };
  const top = async (): Promise<number> => Number(await tab.evaluate("document.querySelector('.turns').scrollTop"));
  while ((await top()) > 0) await scrolled(-600);
  await first.locator(".markdown").waitFor();
  await isFar(last);
  await scrolled(1e9);
  await last.locator(".markdown").waitFor();
  await isFar(first);
  // What is in the middle of the box stays there while rows above and below are drawn again.
  while ((await top()) > 0) {
    const moved = await scrolled(-500);
    assert.ok(Math.abs(moved) <= 1, `moved by ${moved} px`);
  }
  await scrolled(1e9);
  await last.locator(".markdown").waitFor();
  // What a person has selected is not taken away.
  await last.locator("p").last().selectText();
  await tab.evaluate("document.querySelector('.turns').scrollTo(0, 0)");
  await first.locator(".markdown").waitFor();
  await settled(tab);
  assert.match(String(await tab.evaluate("String(getSelection())")), /Paragraph 39/);
  await tab.evaluate("getSelection().removeAllRanges()");
  await scrolled(1e9);
  await last.locator(".markdown").waitFor();
  await isFar(first);
  // The browser's search bar takes the focus and scrolls to what it finds. Its mark is lost if the text is drawn again.
  await tab.evaluate("document.hasFocus = () => false");
  await tab.evaluate("document.querySelector('.turns').scrollTo(0, 0)");
  await settled(tab);
  await isFar(first);
  await tab.evaluate("delete document.hasFocus; dispatchEvent(new Event('focus'))");
  await first.locator(".markdown").waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U12] at 360 px the head of a conversation and the row below the field are one line each", async (t) => {
  const world = await pageWorld(t, {});
  const { sessionId } = await ran(
    world,
    "a conversation with a long name, whose facts do not fit the width of a phone",
  );
  const tab = await world.anonymousTab("/", { viewport: { width: 360, height: 740 } });
  const { code } = await world.engine.keys.browsers.code(world.owner);
  await tab.goto(`${world.url}/s/${sessionId}#code=${code}`);
  await tab.locator(".turn").waitFor();
  await settled(tab);
  const tops = (parts: string) =>
    tab.evaluate(`[...document.querySelectorAll("${parts}")].map((one) => {
      const { top, bottom, right } = one.getBoundingClientRect();
      return [Math.round((top + bottom) / 2), right <= innerWidth];
    })`) as Promise<[number, boolean][]>;
  for (const parts of [".composer-row > *, .choices > *", ".thread-head > *"]) {
    const found = await tops(parts);
    assert.ok(found.length > 2);
    const [[middle] = [0]] = found;
    assert.ok(
      found.every(([one, isInside]) => isInside && Math.abs(one - middle) <= 4),
      `${parts}: ${JSON.stringify(found)}`,
    );
  }
  assert.ok(Number(await tab.evaluate("document.querySelector('.thread-title p').clientHeight")) < 30);
  assert.deepEqual(tab.faults, []);
});

test("[U11] [U13] names of 60 emoji and of overrides of the direction stay in their boxes", async (t) => {
  const world = await pageWorld(t, {});
  const first = await ran(world, "one");
  const names = [family.repeat(60), "safe\u202egnp.exe\u202c", "\u05e9\u05dc\u05d5\u05dd 123", "\u2067abc\u2066def"];
  for (const [at, name] of names.entries()) {
    await world.engine.sessions.create(world.owner, { name, ...(at < 3 && { forkOf: first.turnId }) });
  }
  const shown = [family.repeat(60), "safe⟨U+202e⟩gnp.exe⟨U+202c⟩", names[2], "⟨U+2067⟩abc⟨U+2066⟩def"];
  for (const width of [360, 1_440]) {
    const tab = await world.tab("/map", { viewport: { width, height: 900 } });
    await tab.getByRole("treeitem").first().waitFor();
    const texts = await tab.locator(".map-row bdi").allTextContents();
    assert.deepEqual(new Set(texts), new Set(["one", ...shown]));
    // What follows a name is to its right or below it, whatever the name contains.
    const places = await tab.evaluate(`[...document.querySelectorAll(".map-row")].map((row) => {
      const [name, facts] = [row.querySelector("a"), row.querySelector(".map-facts")].map((one) => one.getBoundingClientRect());
      return facts.left >= name.right || facts.top >= name.bottom - 4;
    })`);
    assert.deepEqual(new Set(places as boolean[]), new Set([true]));
    for (const path of ["/map", `/s/${first.sessionId}/t/tree`, "/"]) {
      await tab.goto(world.url + path);
      await settled(tab);
      assert.equal(await tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, path);
    }
    assert.deepEqual(tab.faults, []);
    await tab.context().close();
  }
});

/** A tool that returns this. */
function toolOf(output: string, content?: ToolContent[]): Tool {
  return {
    definition: { name: "look", description: "Looks.", parameters: { type: "object" } },
    needsApproval: () => false,
    run: async () => ({ output, isError: false, ...(content !== undefined && { content }) }),
  };
}

async function withCalls(t: TestContext, tool: Tool, calls = 1): Promise<{ world: PageWorld; tab: Tab }> {
  const script = (_call: unknown, n: number) =>
    n === 1 ? Array.from({ length: calls }, (_, at) => ({ calls: "look", callId: `c${at}` })) : "Done.";
  const world = await pageWorld(t, { tools: [tool], script });
  const { sessionId } = await ran(world, "look", { mode: "edit" });
  const tab = await world.tab(`/s/${sessionId}`);
  await tab.getByRole("button", { name: "Steps" }).click();
  await tab.locator(".call").first().waitFor();
  return { world, tab };
}

test("[U4] [U11] of a tool output of 5 MB the first part is shown, then more, and the whole is saved", async (t) => {
  const line = "an output line with some words in it\n";
  const output = line.repeat(Math.ceil(5_242_880 / line.length));
  const { tab } = await withCalls(t, toolOf(output));
  await tab.locator(".call summary").click();
  const shown = tab.locator(".output");
  assert.ok(((await shown.textContent()) ?? "").length <= 4_000);
  await tab.getByRole("button", { name: /Show (?:more|all)/ }).click();
  assert.ok(((await shown.textContent()) ?? "").length > 4_000);
  const [download] = await Promise.all([
    tab.waitForEvent("download"),
    tab.getByRole("button", { name: /^Save/ }).click(),
  ]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  assert.ok(
    Buffer.concat(chunks).toString() === output,
    "the whole output is saved, also what the model did not receive",
  );
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U11] of a change of 50,000 lines a bounded number is drawn, and more when it is asked for", async (t) => {
  const text = (mark: string): string => Array.from({ length: 50_000 }, (_, at) => `${mark} ${at}\n`).join("");
  const content: ToolContent[] = [{ type: "diff", path: "large.txt", oldText: text("old"), newText: text("new") }];
  const { tab } = await withCalls(t, toolOf("changed", content));
  const diff = tab.locator(".diff");
  await tab.locator(".call summary").click();
  await diff.getByText("+50,000").waitFor();
  assert.equal(await diff.locator("tr").count(), 400);
  await diff.getByRole("button", { name: /Show more/ }).click();
  await diff.locator("tr").nth(400).waitFor();
  assert.equal(await diff.locator("tr").count(), 800);
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U11] of 2,000 tool calls in one turn the newest are shown, and earlier ones when they are asked for", async (t) => {
  const { tab } = await withCalls(t, toolOf("seen"), 2_000);
  await tab.getByRole("button", { name: /earlier steps/ }).waitFor();
  assert.ok((await tab.locator(".call").count()) <= 50);
  assert.ok((await nodes(tab)) < 1_500);
  await tab.getByRole("button", { name: /earlier steps/ }).click();
  await tab.locator(".call").nth(50).waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U11] an answer that is one line of 1 MB streams, and is whole in the page's blocks", async (t) => {
  const word = "word ".repeat(4_000);
  const says = Array.from({ length: 52 }, () => word);
  const world = await pageWorld(t, { script: () => [{ says: [...says, "the end"] }] });
  const tab = await world.tab();
  await askInPage(tab, "go");
  await tab.locator("[aria-busy=false] .markdown", { hasText: "the end" }).waitFor({ timeout: 60_000 });
  const longest = await tab.evaluate(
    "Math.max(...[...document.querySelectorAll('.markdown p')].map((p) => p.textContent.length))",
  );
  assert.ok(Number(longest) < 30_000);
  const whole = await tab.evaluate("document.querySelector('.markdown').textContent.length");
  assert.ok(Number(whole) > 1_030_000, String(whole));
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U6] [U13] a damaged turn says which content is damaged and shows what can be read; all other turns are whole", async (t) => {
  const long = "a long answer. ".repeat(400);
  const world = await pageWorld(t, { script: (_call, n) => `${long} number ${n}`, remembers: true });
  const first = await ran(world, `first ${"x".repeat(3_000)}`);
  const { sessionId } = first;
  const turns = [first];
  for (const name of ["second", "third", "fourth"])
    turns.push(await ran(world, `${name} ${"y".repeat(3_000)}`, { sessionId }));
  const [, second, third] = turns;
  assert.ok(second?.blobs.run != null && third !== undefined);
  const { blobs } = world.deps;
  await blobs.delete(third.blobs.opening);
  await replaceBlob(blobs, second.blobs.run, Buffer.from("not what was written"));
  const tab = await world.tab(`/s/${sessionId}`);
  const article = (n: number) => tab.getByRole("article", { name: `Turn ${n}`, exact: true });
  await article(4).getByText("number 4").waitFor();
  await article(1).getByText("number 1").waitFor({ state: "attached" });
  const damage = (n: number) => article(n).getByRole("group", { name: /damaged/ });
  assert.match((await damage(2).textContent()) ?? "", new RegExp(second.turnId));
  assert.match((await damage(3).textContent()) ?? "", new RegExp(third.turnId));
  assert.equal(await damage(1).count(), 0);
  // The beginnings of the texts are kept apart from the damaged content.
  assert.match((await article(2).textContent()) ?? "", /second yyy.*a long answer/s);
  assert.match((await article(3).textContent()) ?? "", /third yyy.*number 3/s);
  await article(2).getByRole("button", { name: "Steps" }).click();
  await article(2).getByRole("alert").waitFor();
  // The conversation goes on after damage of what no later request needs.
  await tab.goto(`${world.url}/s/${sessionId}/t/${third.turnId}`);
  await tab.getByText(/The message cannot be read/).waitFor();
  assert.deepEqual(tab.faults, []);
});
