/**
 * Several servers of one team on PostgreSQL with a shared folder of blobs, on one machine: the gain of one more
 * server, 500 streams at once that are read from another server than the one that runs them, and the time that turns of a
 * killed server stay open.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, type AptoveClient } from "../src/client/client.ts";
import { startPostgres } from "../testing/postgres.ts";
import { median, percentile, type BenchRow } from "./rows.ts";

const serversMax = 3;
const clientsPerServer = 8;
const loadMs = 10_000;
const streams = 500;
const streamedTokens = 20;
const streamedTokenMs = 1_000;
const lostTurns = 24;
const recoverPollMs = 50;

interface Team {
  clients: AptoveClient[];
  residentBytes(): Promise<number>;
  /** Kills the first server with SIGKILL. `silence` leaves it running without a sign of life, like a lost machine. */
  killFirst(): Promise<void>;
  silenceFirst(): void;
  stop(): Promise<void>;
}

export async function benchCluster(): Promise<BenchRow[]> {
  return [
    ...(await throughput()),
    ...(await manyStreams()),
    ...(await recovery("kill")),
    ...(await recovery("silence")),
  ];
}

async function startTeam(size: number, model: { tokens: number; tokenMs: number }): Promise<Team> {
  const dataDir = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const postgres = await startPostgres({ isDurable: true });
  const overrides = JSON.stringify({ records: { url: postgres.url } });
  const servers = await Promise.all(
    Array.from({ length: size }, () => startServer([dataDir, String(model.tokens), String(model.tokenMs), overrides])),
  );
  return {
    clients: servers.map(({ client }) => client),
    residentBytes: async () => {
      const sizes = await Promise.all(servers.map((server) => server.residentBytes()));
      return sizes.reduce((sum, bytes) => sum + bytes, 0);
    },
    killFirst: async () => await servers[0]?.kill(),
    silenceFirst: () => void servers[0]?.signal("SIGSTOP"),
    stop: async () => {
      await Promise.all(servers.map((server) => server.kill()));
      await postgres.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function startServer(args: string[]) {
  const script = join(import.meta.dirname, "streaming-server.ts");
  const child: ChildProcess = spawn(process.execPath, [script, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]();
  const { url, key } = JSON.parse((await lines.next()).value as string) as { url: string; key: string };
  return {
    client: createClient({ url, key }),
    residentBytes: async () => {
      child.stdin?.write("memory\n");
      return Number((await lines.next()).value);
    },
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Measures throughput. The model answers at once. The clients are in this process, on the same processors. */
async function throughput(): Promise<BenchRow[]> {
  const perSecond: number[] = [];
  for (const size of [1, serversMax]) {
    const team = await startTeam(size, { tokens: 1, tokenMs: 0 });
    try {
      perSecond.push(await turnsPerSecond(team.clients));
    } finally {
      await team.stop();
    }
  }
  const [one = 0, many = 0] = perSecond;
  return [
    { name: "one server on PostgreSQL: turns a second", value: one, unit: "turns/s" },
    { name: `${serversMax} servers on this machine: turns a second`, value: many, unit: "turns/s" },
    { name: `${serversMax} servers over one`, value: many / one, unit: "x" },
  ];
}

async function turnsPerSecond(clients: readonly AptoveClient[]): Promise<number> {
  const until = performance.now() + loadMs;
  let turns = 0;
  const work = async (client: AptoveClient): Promise<void> => {
    const { sessionId } = await client.execute({ instruction: "begin" });
    while (performance.now() < until) {
      await client.execute({ instruction: "go on", sessionId });
      if (performance.now() < until) turns += 1;
    }
  };
  await Promise.all(clients.flatMap((client) => Array.from({ length: clientsPerServer }, () => work(client))));
  return turns / (loadMs / 1_000);
}

/** Measures streams that are read from another server than the one that runs them. A token is the time at which it left the model. */
async function manyStreams(): Promise<BenchRow[]> {
  const team = await startTeam(serversMax, { tokens: streamedTokens, tokenMs: streamedTokenMs });
  try {
    const all = await Promise.all(Array.from({ length: streams }, (_, index) => hear(team.clients, index)));
    const onTheWay = all.flat();
    const memory = await team.residentBytes();
    const what = `${streams} streams on ${serversMax} servers`;
    return [
      {
        name: `${what}, ${streamedTokens} tokens at ${streamedTokenMs} ms: tokens received`,
        value: onTheWay.length,
        unit: "tokens",
      },
      { name: `${what}: added latency of a token, median`, value: median(onTheWay), unit: "ms" },
      { name: `${what}: added latency of a token, 95th percentile`, value: percentile(onTheWay, 95), unit: "ms" },
      { name: `${what}: resident memory of all servers`, value: memory / 1_048_576, unit: "MiB" },
    ];
  } finally {
    await team.stop();
  }
}

async function hear(clients: readonly AptoveClient[], index: number): Promise<number[]> {
  const [runs, reads] = [clients[index % clients.length], clients[(index + 1) % clients.length]];
  if (runs === undefined || reads === undefined) return [];
  const { turnId } = await runs.start({ instruction: `stream ${index}` });
  const onTheWay: number[] = [];
  let since: number | null = null;
  for await (const { event } of reads.events(turnId)) {
    if (event.type !== "TEXT_MESSAGE_CONTENT") continue;
    const at = performance.timeOrigin + performance.now();
    since ??= at;
    const sent = Number(event.delta) / 1_000;
    // Tokens that left before the listener connected waited for the listener, so they do not count.
    if (sent >= since) onTheWay.push(at - sent);
  }
  return onTheWay;
}

/**
 * Measures the time from a server's end until another server has failed the last of its turns. A killed server is known
 * to be dead on its own machine. A silent one is noticed only when its lease expires, like a server on another machine.
 */
async function recovery(how: "kill" | "silence"): Promise<BenchRow[]> {
  const team = await startTeam(serversMax, { tokens: 1_000, tokenMs: 100 });
  try {
    const [dying, other] = team.clients;
    if (dying === undefined || other === undefined) return [];
    const running = await Promise.all(Array.from({ length: lostTurns }, () => dying.start({ instruction: "run on" })));
    await pause(2_000);
    if (how === "kill") await team.killFirst();
    else team.silenceFirst();
    const endedAt = performance.now();
    const open = new Set(running.map(({ turnId }) => turnId));
    while (open.size > 0) {
      for (const turnId of open) if ((await other.turns.summary(turnId)).status !== "pending") open.delete(turnId);
      await pause(recoverPollMs);
    }
    const seconds = (performance.now() - endedAt) / 1_000;
    const what = how === "kill" ? "kill -9 of a server" : "silence of a server";
    return [{ name: `${what} to the end of its ${lostTurns} turns`, value: seconds, unit: "s", limit: 15 }];
  } finally {
    await team.stop();
  }
}
