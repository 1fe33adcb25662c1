/** A test of the nemesis on a cluster of which every part only counts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../simulation/random.ts";
import type { Cluster, Server } from "./cluster.ts";
import type { Fault } from "./history.ts";
import { faultKinds, startNemesis } from "./nemesis.ts";

/** A part of which every method adds its name to the list. */
function counting<T extends object>(part: string, calls: string[], more: Partial<T> = {}): T {
  const get = (target: Partial<T>, name: string): unknown =>
    name in target ? Reflect.get(target, name) : async () => void calls.push(`${part} ${name}`);
  return new Proxy(more, { get: (target, name) => get(target, String(name)) }) as T;
}

function countingCluster(calls: string[]): Cluster {
  const gates = { postgres: counting<Server["gates"]["postgres"]>("gate", calls), redis: null };
  const servers = [0, 1].map((number) => counting<Server>("server", calls, { number, gates }));
  return counting<Cluster>("cluster", calls, {
    servers,
    redis: counting("redis", calls),
    s3: counting("s3", calls),
    postgres: counting("postgres", calls),
  });
}

test("[B3] the faults of a run include each kind, and each is healed, also if the run is to end at once", async () => {
  for (const seed of [1, 2, 3]) {
    const calls: string[] = [];
    const faults: Fault[] = [];
    const options = { cluster: countingCluster(calls), kinds: faultKinds, random: seededRandom(seed), faults };
    const instant = { everyMs: 0, lastsMsMax: 0, now: () => 0, onFault: () => undefined };
    const nemesis = startNemesis({ ...options, ...instant, signal: AbortSignal.abort() });
    await nemesis.eachKind;
    await nemesis.over;
    assert.deepEqual(faults.map(({ what }) => what).toSorted(), faultKinds.toSorted());
    assert.ok(faults.every(({ healedAt }) => healedAt === 0));
    for (const healing of ["server start", "server resume", "gate heal", "redis start", "s3 start", "postgres start"]) {
      assert.ok(calls.includes(healing), `${healing} is missing in ${calls.join(", ")}`);
    }
  }
});

test("[B3] a store that does not come back ends the run with its failure", async () => {
  const cluster = countingCluster([]);
  Object.assign(cluster.postgres, { start: () => Promise.reject(new Error("it does not start")) });
  const options = { cluster, kinds: ["postgres-crash"] as const, random: seededRandom(1), faults: [] };
  const instant = { everyMs: 0, lastsMsMax: 0, now: () => 0, onFault: () => undefined };
  const nemesis = startNemesis({ ...options, ...instant, signal: new AbortController().signal });
  await assert.rejects(nemesis.eachKind, /it does not start/);
});
