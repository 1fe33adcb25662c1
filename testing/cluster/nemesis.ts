/** Injects the faults of machines and networks into the cluster, one after the other, and heals each. */
import { setTimeout as pause } from "node:timers/promises";
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

/** Injects faults until the signal. Resolves when all are healed. */
export async function haunt(options: NemesisOptions): Promise<void> {
  const { random, everyMs, signal, cluster } = options;
  const kinds = options.kinds.filter((kind) => isPossible(cluster, kind));
  while (!signal.aborted && kinds.length > 0) {
    await pause(everyMs * (0.5 + random.next()), undefined, { signal }).catch(() => undefined);
    const kind = random.pick(kinds);
    const server = random.pick(cluster.servers);
    if (!signal.aborted && kind !== undefined && server !== undefined) await strike(options, kind, server);
  }
}

function isPossible({ redis, s3 }: Cluster, kind: FaultKind): boolean {
  if (kind.startsWith("redis")) return redis !== null;
  return kind !== "s3-kill" || s3 !== null;
}

async function strike(options: NemesisOptions, kind: FaultKind, server: Server): Promise<void> {
  const { random, lastsMsMax, faults, now, onFault, signal, cluster } = options;
  const isOfServer = !/^(?:redis|s3|postgres)-/.test(kind);
  const fault: Fault = { at: now(), server: isOfServer ? server.number : null, what: kind, healedAt: null };
  faults.push(fault);
  onFault(fault);
  const heal = await begin(cluster, kind, server);
  await pause(random.next() * lastsMsMax, undefined, { signal }).catch(() => undefined);
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
