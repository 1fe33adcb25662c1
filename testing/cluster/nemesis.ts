/** Injects the faults of machines and networks into the cluster, one after the other, and heals each. */
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../src/domain/limits.ts";
import type { Random } from "../simulation/random.ts";
import type { Cluster, Server } from "./cluster.ts";
import type { Fault, RunMs } from "./history.ts";

export const faultKinds = [
  "kill",
  "pause",
  "partition",
  "stall",
  "drain",
  "redis-kill",
  "redis-pause",
  "s3-kill",
  "postgres-crash",
] as const;
export type FaultKind = (typeof faultKinds)[number];

const longFaultMs = limits.leaseMs + 2_000;
const shortFaultMs = 3_000;

export interface NemesisOptions {
  cluster: Cluster;
  kinds: readonly FaultKind[];
  random: Random;
  /** The average time between two faults, in milliseconds. */
  everyMs: number;
  /** The longest duration of a fault. It is longer than the lease, so that other servers take over. */
  lastsMsMax: number;
  faults: Fault[];
  now(): RunMs;
  signal: AbortSignal;
  onFault(fault: Fault): void;
}

export interface Nemesis {
  /** Resolves when each possible kind of fault has occurred once and is healed. */
  eachKind: Promise<void>;
  /** Resolves when the signal has aborted and all faults are healed. It never comes before `eachKind`. */
  over: Promise<void>;
}

/** Injects a fault of each kind, in random order, and then random ones until the signal. */
export function startNemesis(options: NemesisOptions): Nemesis {
  const kinds = options.kinds.filter((kind) => isPossible(options.cluster, kind));
  const eachKind = strikeEach(options, kinds);
  const over = eachKind.then(() => strikeOn(options, kinds));
  // A failure of the first round is that of `eachKind`.
  over.catch(() => undefined);
  return { eachKind, over };
}

/**
 * The first fault of a kind lasts as long as it needs to have its effect. A server is away for longer than its lease, so that
 * others take its turns over; a store is away for as long as a restart takes.
 */
async function strikeEach(options: NemesisOptions, kinds: readonly FaultKind[]): Promise<void> {
  const { random, everyMs, lastsMsMax, cluster } = options;
  for (const kind of shuffled(kinds, random)) {
    await pause(everyMs * random.next());
    const server = random.pick(cluster.servers);
    const isLong = isOfServer(kind) && kind !== "drain";
    const lastsMs = Math.min(lastsMsMax, isLong ? longFaultMs : shortFaultMs);
    if (server !== undefined) await strike(options, { kind, server, lastsMs });
  }
}

async function strikeOn(options: NemesisOptions, kinds: readonly FaultKind[]): Promise<void> {
  const { random, everyMs, lastsMsMax, signal, cluster } = options;
  while (!signal.aborted && kinds.length > 0) {
    await pause(everyMs * (0.5 + random.next()), undefined, { signal }).catch(() => undefined);
    const kind = random.pick(kinds);
    const server = random.pick(cluster.servers);
    const lastsMs = random.next() * lastsMsMax;
    if (!signal.aborted && kind !== undefined && server !== undefined) await strike(options, { kind, server, lastsMs });
  }
}

function shuffled<T>(from: readonly T[], random: Random): T[] {
  const places = from.map((one) => ({ one, at: random.next() }));
  return places.toSorted((a, b) => a.at - b.at).map(({ one }) => one);
}

function isPossible({ redis, s3 }: Cluster, kind: FaultKind): boolean {
  if (kind.startsWith("redis")) return redis !== null;
  return kind !== "s3-kill" || s3 !== null;
}

function isOfServer(kind: FaultKind): boolean {
  return !/^(?:redis|s3|postgres)-/.test(kind);
}

interface Strike {
  kind: FaultKind;
  server: Server;
  lastsMs: number;
}

/** Injects one fault and heals it. It ends early at the signal. */
async function strike(options: NemesisOptions, { kind, server, lastsMs }: Strike): Promise<void> {
  const { faults, now, onFault, signal, cluster } = options;
  const fault: Fault = { at: now(), server: isOfServer(kind) ? server.number : null, what: kind, healedAt: null };
  faults.push(fault);
  onFault(fault);
  const heal = await begin(cluster, kind, server);
  await pause(lastsMs, undefined, { signal }).catch(() => undefined);
  await heal();
  fault.healedAt = now();
}

async function begin(
  { postgres, redis, s3 }: Cluster,
  kind: FaultKind,
  server: Server,
): Promise<() => Promise<unknown> | void> {
  switch (kind) {
    case "kill":
      await server.kill();
      return () => server.start();
    case "pause":
      server.pause();
      return () => server.resume();
    case "partition":
      server.gates.postgres.cut();
      return () => server.gates.postgres.heal();
    case "stall":
      server.gates.postgres.stall();
      return () => server.gates.postgres.heal();
    case "drain":
      await server.drain();
      return () => server.start();
    case "redis-kill":
      await redis?.kill();
      return () => redis?.start();
    case "redis-pause":
      redis?.pause();
      return () => redis?.resume();
    case "s3-kill":
      await s3?.kill();
      return () => s3?.start();
    case "postgres-crash":
      await postgres.crash();
      return () => postgres.start();
  }
}
