/** One run of the cluster: a load, faults, and the checker's verdict. */
import { setTimeout as pause } from "node:timers/promises";
import { seededRandom } from "../simulation/random.ts";
import { askEachServer } from "./ask-each-server.ts";
import { check, type Verdict } from "./checker.ts";
import { startCluster, type ClusterOptions } from "./cluster.ts";
import { collect } from "./collect.ts";
import type { Fault, History } from "./history.ts";
import { startNemesis, type FaultKind } from "./nemesis.ts";
import { startWorkload } from "./workload.ts";

export interface RunOptions extends Omit<ClusterOptions, "eventDelayMs"> {
  seed: number;
  /** How long people work. They work longer if a kind of fault has not occurred by then. */
  seconds: number;
  people: number;
  faults: readonly FaultKind[];
  say(line: string): void;
  /** Stops the whole run at any point. */
  signal?: AbortSignal;
}

export interface RunReport extends Verdict {
  seed: number;
  faults: Fault[];
  turnsPerSecond: number;
}

const faultEveryMs = 4_000;
const faultLastsMsMax = 20_000;

export async function runCluster({
  seed,
  seconds,
  people,
  faults: kinds,
  say,
  signal: given,
  ...options
}: RunOptions): Promise<RunReport> {
  const random = seededRandom(seed);
  const cluster = await startCluster({ ...options, eventDelayMs: 5 });
  given?.addEventListener("abort", () => void cluster.stop(), { once: true });
  try {
    const startedAt = performance.now();
    const now = (): number => Math.round(performance.now() - startedAt);
    const stopping = new AbortController();
    const { signal } = stopping;
    say(`${cluster.servers.length} servers at ${cluster.url}; ${people} people for ${seconds} s`);
    const { url, keys } = cluster;
    const load = startWorkload({ url, keys, people, random: random.fork(), piecesMax: 60, signal, now });
    const { history, sessions } = load;
    const onFault = ({ at, what, server }: Fault): void =>
      say(`${(at / 1000).toFixed(1)} s: ${what}${server === null ? "" : ` of server ${server}`}; ${progress(history)}`);
    const troubles = { random: random.fork(), everyMs: faultEveryMs, lastsMsMax: faultLastsMsMax };
    const nemesis = startNemesis({ cluster, kinds, ...troubles, faults: history.faults, now, signal, onFault });
    await Promise.all([pause(seconds * 1000), nemesis.eachKind]);
    stopping.abort();
    await nemesis.over;
    await load.over;
    const ranMs = now();
    say(`all is healed; ${progress(history)}; each server is asked once more`);
    const last = await askEachServer({ cluster, history, sessions, now });
    say("reading what is stored");
    const final = await collect({ cluster, sessions, random, splitTurnsMax: 24, splitTurns: last.turnIds });
    const verdict = check(history, final);
    verdict.violations.push(...last.violations);
    for (const what of cluster.crashes) verdict.violations.push({ rule: "R5", what });
    return {
      ...verdict,
      seed,
      faults: history.faults,
      turnsPerSecond: verdict.checked.answered / (ranMs / 1000),
    };
  } finally {
    await cluster.stop();
  }
}

function progress({ turns }: History): string {
  const of = (outcome: string): number => turns.filter((operation) => operation.outcome === outcome).length;
  return `${of("answered")} answered, ${of("refused")} refused, ${of("unknown")} open`;
}
