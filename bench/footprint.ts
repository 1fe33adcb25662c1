/**
 * What one warm turn touches: how many of our functions run, how many of our files they stand in, and how many of our
 * frames lie between the caller and the provider. They are counted by V8 itself, so no figure depends on the machine.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAptove, type Aptove } from "../src/index.ts";
import type { Provider } from "../src/providers/provider.ts";
import { instantProvider, text400 } from "./instant-provider.ts";
import type { BenchRow } from "./rows.ts";

const warmTurns = 20;
const ownSource = new URL("../src/", import.meta.url).href;
const stackFramesMax = 200;

export async function benchFootprint(): Promise<BenchRow[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const frames: number[] = [];
  const aptove = await createAptove({
    dataDir,
    env: {},
    providers: [countingFrames(instantProvider(), frames)],
    agentContexts: [{ id: "default", name: "Default", provider: "instant", index: "local" }],
  });
  try {
    const sessionId = await converse(aptove, warmTurns);
    const { files, functions } = await coverageOf(() => converse(aptove, 1, sessionId));
    return [
      { name: "files that one warm turn touches, library", value: files, unit: "files" },
      { name: "functions that one warm turn calls, library", value: functions, unit: "functions" },
      { name: "frames of ours at the call of the provider", value: frames.at(-1) ?? 0, unit: "frames" },
    ];
  } finally {
    await aptove.engine.close();
    rmSync(dataDir, { recursive: true });
  }
}

async function converse({ engine }: Aptove, turns: number, begun?: string): Promise<string> {
  const caller = await engine.keys.owner();
  let sessionId = begun;
  for (let turn = 0; turn < turns; turn += 1) {
    const instruction = text400(`turn ${turn}`);
    const running = await engine.turns.run(caller, { instruction, ...(sessionId !== undefined && { sessionId }) });
    await running.finished;
    sessionId = running.sessionId;
  }
  return sessionId ?? "";
}

/** Notes, at each call, how many frames of ours are on the stack, those that wait for an answer included. */
function countingFrames(provider: Provider, frames: number[]): Provider {
  return {
    ...provider,
    send: (request, signal) => {
      const before = Error.stackTraceLimit;
      Error.stackTraceLimit = stackFramesMax;
      const stack = new Error("only its frames are read").stack ?? "";
      Error.stackTraceLimit = before;
      frames.push(stack.split("\n").filter((line) => line.includes(ownSource)).length);
      return provider.send(request, signal);
    },
  };
}

async function coverageOf(work: () => Promise<unknown>): Promise<{ files: number; functions: number }> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await work();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const called = result
      .filter(({ url }) => url.startsWith(ownSource))
      .map(({ functions }) => functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length)
      .filter((count) => count > 0);
    return { files: called.length, functions: called.reduce((sum, count) => sum + count, 0) };
  } finally {
    session.disconnect();
  }
}
