/**
 * `npm run bench -- page`: the page in a headless Chromium (U11): the bytes of the first load, the time until it can be used, and the longest
 * task with long lists, a long conversation and a large answer that streams. Without a browser only the bytes are measured.
 */
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { findPage } from "../src/doors/http/page/find-page.ts";
import { findChromium } from "../testing/page/chromium.ts";
import { closeBrowser, pageWorld, type PageWorld, type Tab } from "../testing/page/page-world.ts";
import type { BenchRow } from "./rows.ts";

const sessionsCount = 10_000;
const turnsCount = 1_000;
const answerBytes = 1_048_576;
const pieceCharacters = 64;

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
    );
    rows.push(...(await largeAnswer(world)));
  } finally {
    for (const close of closers) await close();
    await closeBrowser();
  }
  return rows;
}

function bytesOfFirstLoad(): BenchRow[] {
  const page = findPage(fileURLToPath(new URL("..", import.meta.url)));
  if (page === null) return [];
  const html = Buffer.from(page.document.bytes.identity).toString();
  const named = [...html.matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)].map(([, name = ""]) => name);
  return (["br", "gzip"] as const).flatMap((encoding) => {
    const sum = (ending: string): number =>
      named
        .filter((name) => name.endsWith(ending))
        .reduce((all, name) => all + (page.assets.get(name)?.bytes[encoding].length ?? 0), 0);
    return [
      { name: `script of the first load, ${encoding}`, value: sum(".js") / 1_024, unit: "KB", limit: 60 },
      { name: `styles of the first load, ${encoding}`, value: sum(".css") / 1_024, unit: "KB", limit: 12 },
    ];
  });
}

interface FilledWorld extends PageWorld {
  long: string;
}

/** 10,000 sessions, and one with 1,000 turns of which every tenth was run again. */
async function filledWorld(context: TestContext): Promise<FilledWorld> {
  const large = "A sentence of the answer, with `code` in it.\n\n"
    .repeat(Math.ceil(answerBytes / 46))
    .slice(0, answerBytes);
  const pieces = Array.from({ length: Math.ceil(large.length / pieceCharacters) }, (_, at) =>
    large.slice(at * pieceCharacters, (at + 1) * pieceCharacters),
  );
  const world = await pageWorld(context, {
    script: ({ items }) => {
      const isLarge = JSON.stringify(items.at(-1)).includes("a large one");
      return isLarge ? [{ says: pieces, everyMs: 1 }] : "A short answer with `code` and a list:\n\n- one\n- two\n";
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
  return { ...world, long: first.sessionId };
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** The processor time in microseconds, which does not depend on what else the machine does. */
  tdur?: number;
  args?: { name?: string };
}

/** Returns the processor time of the longest task of the page's main thread while `act` runs, in milliseconds. */
async function longestTask(tab: Tab, act: () => Promise<void>): Promise<number> {
  const browser = tab.context().browser();
  if (browser === null) throw new Error("the tab has no browser");
  await browser.startTracing(tab, { categories: ["toplevel", "__metadata"] });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const main = traceEvents.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const tasks = traceEvents.filter(
    ({ name, ph, pid, tid }) =>
      ph === "X" && /RunTask/.test(name) && main.some((thread) => thread.pid === pid && thread.tid === tid),
  );
  return tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur), 0) / 1_000;
}

async function nodes(tab: Tab): Promise<number> {
  return Number(await tab.evaluate("document.querySelectorAll('*').length"));
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
  const value = times.toSorted((a, b) => a - b)[2] ?? 0;
  return { name: "time to usable, 10,000 sessions, median of 5", value, unit: "ms", limit: 1_000 };
}

async function longList(world: FilledWorld): Promise<BenchRow[]> {
  const tab = await world.tab();
  await tab.locator(".row").first().waitFor();
  await tab.waitForLoadState("networkidle");
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
  await tab.waitForLoadState("networkidle");
  const longest = await longestTask(tab, async () => {
    for (let round = 0; round < 3; round++) {
      await tab.locator(".earlier").click();
      await tab.waitForLoadState("networkidle");
    }
  });
  return [
    { name: "opening a conversation of 1,000 turns", value: opened, unit: "ms", limit: 1_000 },
    { name: "150 earlier turns, longest task", value: longest, unit: "ms", limit: 200 },
    { name: "200 turns, nodes", value: await nodes(tab), unit: "nodes", limit: 12_000 },
  ];
}

async function tree(world: FilledWorld): Promise<BenchRow[]> {
  const tab = await world.tab();
  const start = performance.now();
  await tab.goto(`${world.url}/s/${world.long}/t/tree`);
  await tab.getByRole("treeitem").first().waitFor();
  return [
    { name: "tree of 1,100 turns, until it is drawn", value: performance.now() - start, unit: "ms", limit: 1_500 },
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
  await tab.waitForTimeout(20_000);
  const late = await longestTask(tab, () => tab.waitForTimeout(3_000));
  await tab.locator("[aria-busy=true]").waitFor({ state: "detached", timeout: 240_000 });
  const took = performance.now() - start;
  return [
    { name: "an answer of 1 MB streams, longest task at its begin", value: early, unit: "ms", limit: 50 },
    { name: "an answer of 1 MB streams, longest task 20 s later", value: late, unit: "ms", limit: 50 },
    { name: "an answer of 1 MB streams, until its end", value: took, unit: "ms" },
    { name: "an answer of 1 MB, nodes", value: await nodes(tab), unit: "nodes", limit: 5_000 },
  ];
}
