/**
 * `npm run bench -- page`: the page in a headless Chromium (U11): the bytes of the first load, the time until it can be used, the longest
 * task, frames and nodes with long lists, a long conversation, large trees and a large answer that streams, and the heap after as many pieces of
 * answers as an hour has. Without a browser only the bytes are measured.
 */
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { findPage } from "../src/doors/http/page/find-page.ts";
import { findChromium } from "../testing/page/chromium.ts";
import { closeBrowser, pageWorld, settled, type PageWorld, type Tab } from "../testing/page/page-world.ts";
import { newId } from "../src/domain/ids.ts";
import { frameTime, heap, longestTask, nodes } from "./page-measures.ts";
import { median, type BenchRow } from "./rows.ts";

const sessionsCount = 10_000;
const turnsCount = 1_000;
const answerBytes = 1_048_576;
const pieceCharacters = 64;
const forksCount = 10_000;
/** An hour of 50 pieces a second, in so many turns. */
const hourPieces = 180_000;
const hourTurns = 60;

export async function benchPage(): Promise<BenchRow[]> {
  const rows = bytesOfFirstLoad();
  if (findChromium() === null) {
    console.error("page: not run in a browser, because there is no Chromium");
    return rows;
  }
  const closers: (() => unknown)[] = [];
  // What the tests' world needs of a test: a place for what ends it.
  const context = { after: (close: () => unknown) => void closers.unshift(close) } as unknown as TestContext;
  try {
    const world = await filledWorld(context);
    rows.push(
      await timeToUsable(world),
      ...(await longList(world)),
      ...(await longThread(world)),
      ...(await tree(world)),
      ...(await manyForks(world)),
    );
    rows.push(...(await largeAnswer(world)), ...(await hourOfStreaming(world)));
  } finally {
    for (const close of closers) await close();
    await closeBrowser();
  }
  return rows;
}

function bytesOfFirstLoad(): BenchRow[] {
  const page = findPage(fileURLToPath(new URL("..", import.meta.url)));
  if (page === null) return [];
  const html = gunzipSync(page.document.compressed.gzip).toString();
  const named = [...html.matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)].map(([, name = ""]) => name);
  return (["br", "gzip"] as const).flatMap((encoding) => {
    const sum = (ending: string): number =>
      named
        .filter((name) => name.endsWith(ending))
        .reduce((all, name) => all + (page.assets.get(name)?.compressed[encoding].length ?? 0), 0);
    return [
      { name: `script of the first load, ${encoding}`, value: sum(".js") / 1_024, unit: "KB", limit: 60 },
      { name: `styles of the first load, ${encoding}`, value: sum(".css") / 1_024, unit: "KB", limit: 12 },
    ];
  });
}

interface FilledWorld extends PageWorld {
  /** The session with 1,000 turns. */
  long: string;
  /** The session with many forks of one turn. */
  forked: string;
}

/** 10,000 sessions, and one with 1,000 turns of which every tenth was run again. */
async function filledWorld(context: TestContext): Promise<FilledWorld> {
  const large = "A sentence of the answer, with `code` in it.\n\n"
    .repeat(Math.ceil(answerBytes / 46))
    .slice(0, answerBytes);
  const pieces = Array.from({ length: Math.ceil(large.length / pieceCharacters) }, (_, at) =>
    large.slice(at * pieceCharacters, (at + 1) * pieceCharacters),
  );
  const hour = Array.from({ length: hourPieces / hourTurns }, (_, at) =>
    at % 20 === 19 ? "the end.\n\n" : "some words here ",
  );
  const world = await pageWorld(context, {
    script: ({ items }) => {
      const last = JSON.stringify(items.at(-1));
      if (last.includes("a large one")) return [{ says: pieces, everyMs: 1 }];
      if (last.includes("part of an hour")) return [{ says: hour }];
      return "A short answer with `code` and a list:\n\n- one\n- two\n";
    },
    remembers: true,
  });
  const { engine, owner } = world;
  for (let n = 0; n < sessionsCount; n++) await engine.sessions.create(owner, { name: `session ${n}` });
  const first = await engine.turns.run(owner, { instruction: "turn 1" });
  await first.finished;
  for (let n = 2; n <= turnsCount; n++) {
    const turn = await engine.turns.run(owner, { instruction: `turn ${n}`, sessionId: first.sessionId });
    await turn.finished;
    if (n % 10 === 0)
      await (
        await engine.turns.run(owner, { instruction: "", rerun: { turnId: turn.turnId } })
      ).finished;
  }
  const origin = await engine.turns.run(owner, { instruction: "the origin of many" });
  await origin.finished;
  const fork = await engine.sessions.create(owner, { forkOf: origin.turnId, name: "fork 0" });
  for (let n = 1; n < forksCount; n++) {
    await world.deps.records.sessions.insert({ ...fork, id: newId(), name: `fork ${n}`, activeAt: fork.activeAt - n });
  }
  return { ...world, long: first.sessionId, forked: origin.sessionId };
}

async function timeToUsable(world: FilledWorld): Promise<BenchRow> {
  const tab = await world.tab();
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    await tab.reload({ waitUntil: "commit" });
    await tab.locator(".row").first().waitFor();
    await tab.locator("#composer").waitFor();
    times.push(performance.now() - start);
  }
  return { name: "time to usable, 10,000 sessions, median of 5", value: median(times), unit: "ms", limit: 1_000 };
}

async function longList(world: FilledWorld): Promise<BenchRow[]> {
  const tab = await world.tab();
  await tab.locator(".row").first().waitFor();
  await settled(tab);
  const longest = await longestTask(tab, async () => {
    for (let round = 0; round < 40; round++) {
      await tab.evaluate("document.querySelector('.rows').scrollBy(0, 3000)");
      await tab.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))");
    }
  });
  return [
    { name: "scrolling 10,000 sessions, longest task", value: longest, unit: "ms", limit: 50 },
    { name: "scrolling 10,000 sessions, nodes", value: await nodes(tab), unit: "nodes", limit: 1_500 },
  ];
}

async function longThread(world: FilledWorld): Promise<BenchRow[]> {
  const tab = await world.tab();
  const start = performance.now();
  await tab.goto(`${world.url}/s/${world.long}`);
  await tab.locator(".turn").last().waitFor();
  const opened = performance.now() - start;
  await settled(tab);
  // A locator would look at every element of the page, and that would be the longest task.
  const earlier = `new Promise((done) => {
    const button = document.querySelector(".earlier");
    const count = () => document.querySelectorAll(".turn").length;
    const before = count();
    button?.click();
    const look = () => (button === null || count() > before ? done(button !== null) : setTimeout(look, 20));
    look();
  })`;
  const longest = await longestTask(tab, async () => {
    while ((await tab.evaluate(earlier)) === true) await tab.evaluate("new Promise((done) => setTimeout(done, 50))");
  });
  const scrolling = await longestTask(tab, () => scroll(tab, ".turns", -20_000));
  return [
    { name: "opening a conversation of 1,000 turns", value: opened, unit: "ms", limit: 1_000 },
    { name: "its 950 earlier turns, longest task", value: longest, unit: "ms", limit: 200 },
    { name: "its 1,000 turns, scrolling, longest task", value: scrolling, unit: "ms", limit: 50 },
    { name: "its 1,000 turns, nodes", value: await nodes(tab), unit: "nodes", limit: 40_000 },
  ];
}

async function scroll(tab: Tab, box: string, by: number): Promise<void> {
  for (let round = 0; round < 30; round++) {
    await tab.evaluate(`document.querySelector("${box}").scrollBy(0, ${by})`);
    await tab.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))");
  }
}

async function tree(world: FilledWorld): Promise<BenchRow[]> {
  const tab = await world.tab();
  const start = performance.now();
  await tab.goto(`${world.url}/s/${world.long}/t/tree`);
  await tab.getByRole("treeitem").first().waitFor();
  const drawn = performance.now() - start;
  const longest = await longestTask(tab, () => scroll(tab, ".tree-box", 700));
  return [
    {
      name: "tree of 1,100 turns with 100 branches, until it is drawn",
      value: drawn,
      unit: "ms",
      limit: 1_500,
      aim: 700,
    },
    { name: "scrolling that tree, longest task", value: longest, unit: "ms", limit: 50 },
    { name: "that tree, nodes", value: await nodes(tab), unit: "nodes", limit: 4_000 },
  ];
}

async function manyForks(world: FilledWorld): Promise<BenchRow[]> {
  const tab = await world.tab();
  const start = performance.now();
  await tab.goto(`${world.url}/s/${world.forked}/t/tree`);
  await tab.getByRole("treeitem", { name: /more forks/ }).waitFor();
  const drawn = performance.now() - start;
  const again = performance.now();
  await tab.goto(`${world.url}/map`);
  const more = tab.getByRole("treeitem", { name: /more forks/ });
  await more.waitFor();
  const map = performance.now() - again;
  const longest = await longestTask(tab, async () => {
    await more.click();
    await tab.locator("[role=treeitem]:focus").waitFor();
    await scroll(tab, ".tree-box", 700);
  });
  return [
    { name: "tree with 10,000 forks of a turn, until it is drawn", value: drawn, unit: "ms", limit: 1_500 },
    { name: "map with 20,000 sessions, until it is drawn", value: map, unit: "ms", limit: 1_500 },
    { name: "map, 50 forks more and scrolling, longest task", value: longest, unit: "ms", limit: 50 },
    { name: "map, nodes", value: await nodes(tab), unit: "nodes", limit: 3_000 },
  ];
}

/** One megabyte in pieces of 64 characters: some 16,000 events. */
async function largeAnswer(world: FilledWorld): Promise<BenchRow[]> {
  const tab = await world.tab();
  await tab.getByLabel("Instruction").fill("a large one");
  await tab.getByLabel("Instruction").press("Enter");
  await tab.locator("[aria-busy=true] .markdown").waitFor();
  const start = performance.now();
  const early = await longestTask(tab, () => tab.waitForTimeout(3_000));
  const frames = await frameTime(tab, 20);
  const late = await longestTask(tab, () => tab.waitForTimeout(3_000));
  await tab.locator("[aria-busy=true]").waitFor({ state: "detached", timeout: 240_000 });
  const took = performance.now() - start;
  return [
    { name: "an answer of 1 MB streams, longest task at its begin", value: early, unit: "ms", limit: 50 },
    { name: "an answer of 1 MB streams, longest task 20 s later", value: late, unit: "ms", limit: 50 },
    { name: "an answer of 1 MB streams, time of a frame, p95", value: frames, unit: "ms", aim: 34 },
    { name: "an answer of 1 MB streams, until its end", value: took, unit: "ms" },
    { name: "an answer of 1 MB, nodes", value: await nodes(tab), unit: "nodes", limit: 5_000 },
  ];
}

/** The page follows one turn after the other. What it holds must not grow with what it has shown. */
async function hourOfStreaming(world: FilledWorld): Promise<BenchRow[]> {
  const tab = await world.tab();
  const heaps: number[] = [];
  for (let n = 1; n <= hourTurns; n++) {
    await tab.getByLabel("Instruction").fill(`part of an hour, ${n}`);
    await tab.getByLabel("Instruction").press("Enter");
    await tab
      .locator(".turn")
      .nth(n - 1)
      .waitFor({ state: "attached" });
    await tab.locator("[aria-busy=true]").waitFor({ state: "detached", timeout: 240_000 });
    if (n % (hourTurns / 4) === 0) heaps.push(await heap(tab));
  }
  const [first = 0, , , last = 0] = heaps;
  return [
    { name: "heap after a quarter of an hour of streaming", value: first, unit: "MB" },
    { name: "heap after an hour of streaming", value: last, unit: "MB", limit: 20 },
    { name: "nodes after an hour of streaming", value: await nodes(tab), unit: "nodes", limit: 40_000 },
  ];
}
