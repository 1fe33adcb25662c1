/** What is measured of a tab: its longest task, its frames, its heap and its nodes. */
import type { Tab } from "../testing/page/page-world.ts";
import { percentile } from "./rows.ts";

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
export async function longestTask(tab: Tab, act: () => Promise<void>): Promise<number> {
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

/** Returns the number of elements in the document. */
export async function nodes(tab: Tab): Promise<number> {
  return Number(await tab.evaluate("document.querySelectorAll('*').length"));
}

/** Returns the 95th percentile of the times between two frames, in milliseconds. It depends on the load of the machine. */
export async function frameTime(tab: Tab, seconds: number): Promise<number> {
  const times = (await tab.evaluate(`new Promise((done) => {
    const times = [];
    let before = performance.now();
    const frame = (now) => {
      times.push(now - before);
      before = now;
      if (times.reduce((sum, one) => sum + one, 0) < ${seconds * 1_000}) requestAnimationFrame(frame);
      else done(times);
    };
    requestAnimationFrame(frame);
  })`)) as number[];
  return percentile(times, 95);
}

/** Returns the bytes of the page's heap that are in use after a collection, in MB. */
export async function heap(tab: Tab): Promise<number> {
  const session = await tab.context().newCDPSession(tab);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 1_048_576;
}
