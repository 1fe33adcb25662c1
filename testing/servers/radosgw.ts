/**
 * A real S3 server for tests and the cluster: Ceph's radosgw in front of one monitor and one store in memory, all on
 * loopback. Killing the gateway keeps what was acknowledged; `stop` ends everything.
 */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { AwsClient } from "aws4fetch";
import { freePort, serviceFolder, startProcess, untilReady, type KeptProcess } from "./kept-process.ts";
import { requirePackages } from "./programs.ts";

export interface S3Place {
  /** The address of the server; buckets are the first part of the path. */
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

export interface TestRadosgw extends S3Place {
  /** Sends SIGSTOP to the gateway: connections stay open, and nothing answers. */
  pause(): void;
  resume(): void;
  /** Kills the gateway with SIGKILL: connections are cut, and what was acknowledged stays. */
  kill(): Promise<void>;
  /** Starts the gateway again after `kill`, on the same port. This takes some seconds. */
  start(): Promise<void>;
  /** Stops everything and removes the folder. */
  stop(): Promise<void>;
}

/** The time limit of one attempt. A step takes less than a second, but the machine may be busy. */
const stepTimeoutMs = 10_000;
const attemptsMax = 6;
const region = "us-east-1";
const keys = { accessKeyId: "AKTESTTESTTESTTEST00", secretAccessKey: "SKTESTTESTTESTTESTTESTTESTTESTTESTTEST00" };

/** Starts the server in one or two seconds. If Ceph is not installed, throws an error that states how to install it. */
export async function startRadosgw(): Promise<TestRadosgw> {
  requirePackages("radosgw", "ceph-mon", "ceph-osd", "ceph-common");
  const folder = await serviceFolder("ceph");
  const place: Place = { folder: folder.path, gatewayPort: await freePort(), processes: [] };
  const stop = async (): Promise<void> => {
    // The last one ends first, so that no program waits for one that has ended.
    for (const process of place.processes.toReversed()) await process.kill();
    await folder.remove();
  };
  try {
    await startStore(place);
    let gateway = await startGateway(place);
    await makeUser(place);
    return {
      endpoint: `http://127.0.0.1:${place.gatewayPort}`,
      region,
      ...keys,
      pause: () => gateway.pause(),
      resume: () => gateway.resume(),
      kill: () => gateway.kill(),
      start: async () => {
        if (!gateway.isRunning()) gateway = await startGateway(place);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes a bucket with a unique name. Returns the name. */
export async function createBucket(place: S3Place): Promise<string> {
  const bucket = `test-${randomUUID()}`;
  const client = new AwsClient({ ...place, service: "s3", retries: 0 });
  const answer = await client.fetch(`${place.endpoint}/${bucket}`, { method: "PUT" });
  if (!answer.ok) throw new Error(`the bucket could not be made: ${answer.status} ${await answer.text()}`);
  return bucket;
}

interface Place {
  folder: string;
  gatewayPort: number;
  processes: KeptProcess[];
}

/** Starts the monitor and one store in memory. */
async function startStore(place: Place): Promise<void> {
  const { folder } = place;
  const monitor = `[v1:127.0.0.1:${await freePort()}]`;
  const [cluster, store] = [randomUUID(), randomUUID()];
  for (const name of ["mon", "osd0", "run"]) await mkdir(join(folder, name));
  await writeFile(join(folder, "ceph.conf"), configuration(place, { cluster, monitor }));
  await run(place, "ceph-authtool", [
    "--create-keyring",
    "keyring",
    "--gen-key",
    "-n",
    "mon.",
    "--cap",
    "mon",
    "allow *",
  ]);
  await run(place, "monmaptool", ["--create", "--fsid", cluster, "--addv", "a", monitor, "monmap"]);
  await run(place, "ceph-mon", ["--mkfs", "-i", "a", "--monmap", "monmap", "--keyring", "keyring"]);
  // A request that comes before the monitor is ready is retried.
  await keep(place, { program: "ceph-mon", args: ["-i", "a"], isReady: async () => true });
  await again(() => run(place, "ceph", ["--connect-timeout", "5", "osd", "new", store]));
  await run(place, "ceph-osd", ["-i", "0", "--mkfs", "--osd-uuid", store]);
  // The gateway must not start before the store: it would make its pools without a store, and could wait for them forever.
  const isReady = (): Promise<boolean> => isStoreUp(place);
  await again(() => keep(place, { program: "ceph-osd", args: ["-i", "0"], isReady }));
}

async function isStoreUp(place: Place): Promise<boolean> {
  return (await run(place, "ceph", ["--connect-timeout", "5", "osd", "stat"]).catch(() => "")).includes("1 up");
}

async function startGateway(place: Place): Promise<KeptProcess> {
  const isReady = (): Promise<boolean> => answers(place.gatewayPort);
  return await again(() => keep(place, { program: "radosgw", args: ["-n", "client.rgw"], isReady }));
}

/**
 * Runs a program of Ceph with retries. If there is no authentication, its first request can come before it knows the cluster's id,
 * and is refused or dropped, about one in ten times. The program then ends or waits forever, and is started again.
 */
async function again<Result>(start: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (attempt === attemptsMax) throw error;
    }
  }
}

async function answers(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(5_000) });
    return true;
  } catch {
    return false;
  }
}

async function makeUser(place: Place): Promise<void> {
  const user = ["--uid=test", "--display-name=test", `--access-key=${keys.accessKeyId}`];
  await again(async () => {
    const isThere = await run(place, "radosgw-admin", ["user", "info", "--uid=test"]).catch(() => false);
    if (isThere !== false) return;
    await run(place, "radosgw-admin", ["user", "create", ...user, `--secret-key=${keys.secretAccessKey}`]);
  });
}

interface Daemon {
  program: string;
  args: readonly string[];
  isReady(): Promise<boolean>;
}

async function keep(place: Place, { program, args, isReady }: Daemon): Promise<KeptProcess> {
  const command = [program, "-c", "ceph.conf", "-f", ...args];
  const { folder } = place;
  const process = await startProcess({ folder, name: program, command });
  place.processes.push(process);
  await untilReady({ folder, name: program, process, timeoutMs: stepTimeoutMs, isReady });
  return process;
}

/** Returns the output of the program. If it fails or takes too long, throws an error with the output. */
async function run({ folder }: Place, program: string, args: readonly string[]): Promise<string> {
  const reads = ["ceph-authtool", "monmaptool"].includes(program) ? [] : ["-c", "ceph.conf"];
  const { stdout } = await promisify(execFile)(program, [...reads, ...args], {
    cwd: folder,
    timeout: stepTimeoutMs,
    killSignal: "SIGKILL",
  });
  return stdout;
}

/**
 * Settings for a quick start. The monitor decides at once (otherwise it waits one second for each new pool), and a gateway that was
 * killed is given up after 2 s instead of 30 s, for which others would delay their changes.
 */
function configuration({ folder, gatewayPort }: Place, ids: { cluster: string; monitor: string }): string {
  return `[global]
fsid = ${ids.cluster}
mon host = ${ids.monitor.slice(1, -1)}
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 0
paxos propose interval = 0.05
paxos min wait = 0.01
mon data = ${folder}/mon
osd data = ${folder}/osd$id
run dir = ${folder}/run
admin socket = ${folder}/run/$name.asok
log file = /dev/null
log to stderr = true
public addr = 127.0.0.1
[osd]
osd objectstore = memstore
memstore device bytes = 1073741824
osd client watch timeout = 2
[client.rgw]
rgw enable gc threads = false
rgw enable lc threads = false
rgw override bucket index max shards = 1
rgw frontends = beast endpoint=127.0.0.1:${gatewayPort} tcp_nodelay=1
`;
}
