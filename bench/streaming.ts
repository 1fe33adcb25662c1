/** The delay of tokens over HTTP from another process: in one session, and in 64 sessions at once. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient, type AptoveClient } from "../src/client/client.ts";
import { median, percentile, type BenchRow } from "./rows.ts";

interface Server {
  client: AptoveClient;
  residentBytes(): Promise<number>;
  stop(): void;
}

export async function benchStreaming(): Promise<BenchRow[]> {
  return [...(await firstToken()), ...(await manySessions())];
}

async function startServer(tokens: number, tokenMs: number): Promise<Server> {
  const dataDir = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const script = join(import.meta.dirname, "streaming-server.ts");
  const child: ChildProcess = spawn(process.execPath, [script, dataDir, String(tokens), String(tokenMs)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]();
  const { url, key } = JSON.parse((await lines.next()).value as string) as { url: string; key: string };
  return {
    client: createClient({ url, key }),
    residentBytes: async () => {
      child.stdin?.write("memory\n");
      return Number((await lines.next()).value);
    },
    stop: () => {
      child.kill("SIGKILL");
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Returns the time in microseconds since the epoch. Both processes use the same clock. */
function nowUs(): number {
  return (performance.timeOrigin + performance.now()) * 1000;
}

interface ReceivedTokens {
  /** Milliseconds from the request to the first token, and then the delay of each token. */
  firstMs: number;
  tokenMs: number[];
}

async function listen(client: AptoveClient, instruction: string): Promise<ReceivedTokens> {
  const askedAt = nowUs();
  const received: ReceivedTokens = { firstMs: 0, tokenMs: [] };
  await client.execute(
    { instruction },
    {
      onEvent: ({ event }) => {
        if (event.type !== "TEXT_MESSAGE_CONTENT") return;
        const at = nowUs();
        if (received.tokenMs.length === 0) received.firstMs = (at - askedAt) / 1000;
        received.tokenMs.push((at - Number(event.delta)) / 1000);
      },
    },
  );
  return received;
}

/** Measures the time to the first token. The provider answers at once, so all of it is aptove's. */
async function firstToken(): Promise<BenchRow[]> {
  const server = await startServer(1, 0);
  try {
    const times: number[] = [];
    for (let run = 0; run < 120; run += 1) {
      const { firstMs } = await listen(server.client, `first ${run}`);
      if (run >= 20) times.push(firstMs);
    }
    return [{ name: "time to the first token over the provider's, HTTP", value: median(times), unit: "ms", limit: 5 }];
  } finally {
    server.stop();
  }
}

async function manySessions(): Promise<BenchRow[]> {
  const server = await startServer(50, 20);
  try {
    await listen(server.client, "warm");
    const all = await Promise.all(Array.from({ length: 64 }, (_, index) => listen(server.client, `session ${index}`)));
    const tokens = all.flatMap((received) => received.tokenMs);
    const memory = await server.residentBytes();
    return [
      { name: "64 sessions of 50 tokens at 20 ms: tokens received", value: tokens.length, unit: "tokens" },
      { name: "64 sessions: added latency of a token, median", value: median(tokens), unit: "ms" },
      {
        name: "64 sessions: added latency of a token, 95th percentile",
        value: percentile(tokens, 95),
        unit: "ms",
        limit: 10,
      },
      { name: "64 sessions: resident memory", value: memory / 1_048_576, unit: "MiB", limit: 250 / 1.048576 },
    ];
  } finally {
    server.stop();
  }
}
