/**
 * A team's deployment on this machine: PostgreSQL, optionally S3 and Redis, and several servers behind a
 * round-robin proxy, each of which can be killed, paused, cut off from its stores and started again.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { stringify } from "smol-toml";
import { newId, sha256 } from "../../src/domain/ids.ts";
import { openPostgresRecords } from "../../src/records/sql/postgres/postgres.ts";
import { startPostgres, type TestPostgres } from "../postgres.ts";
import { createBucket, startRadosgw, type TestRadosgw } from "../servers/radosgw.ts";
import { startRedis, type TestRedis } from "../servers/redis.ts";
import { startBalancer, type Balancer } from "./balancer.ts";
import { openGate, type Gate } from "./gate.ts";
import { startModel } from "./model.ts";

export interface ClusterOptions {
  servers: number;
  /** The optional services. If S3 is missing, the servers share a folder for blobs; if Redis is missing, events go through PostgreSQL. */
  s3: boolean;
  redis: boolean;
  /** Milliseconds between two pieces of the model's answer. */
  eventDelayMs: number;
  /** More settings for each server, in the form of `config.toml`. */
  settings?: Record<string, unknown>;
}

export interface Cluster {
  /** The address of the proxy. */
  url: string;
  /** The keys, one for each org. */
  keys: readonly string[];
  servers: readonly Server[];
  postgres: TestPostgres;
  redis: TestRedis | null;
  s3: TestRadosgw | null;
  /** Servers that ended by themselves. They were started again, as a supervisor would. */
  crashes: readonly string[];
  stop(): Promise<void>;
}

export interface Server {
  number: number;
  /** The address where the server listens now. */
  url: string;
  /** The gates to the stores. */
  gates: { postgres: Gate; redis: Gate | null };
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Sends SIGTERM, so the server shuts down gracefully (R4). Resolves with its exit code. */
  drain(): Promise<number | null>;
  start(): Promise<void>;
}

const orgs = 2;
const startTimeoutMs = 60_000;
const bin = fileURLToPath(new URL("../../bin/aptove", import.meta.url));

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "cluster-"));
  const closings: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const close of closings.toReversed()) await close();
  };
  const opened = <T>(part: T, close: (part: T) => unknown): T => {
    closings.push(() => close(part));
    return part;
  };
  try {
    const [postgres, redis, s3, model] = await Promise.all([
      startPostgres(),
      options.redis ? startRedis() : null,
      options.s3 ? startRadosgw() : null,
      startModel(options),
    ]);
    opened(postgres, () => postgres.stop());
    opened(redis, () => redis?.stop());
    opened(s3, () => s3?.stop());
    opened(model, () => model.close());
    const keys = await makeKeys(postgres.url);
    const bucket = s3 === null ? null : await createBucket(s3);
    const blobs = join(folder, "blobs");
    mkdirSync(blobs, { mode: 0o700 });
    const place = { folder, blobs, postgres, redis, s3, bucket, modelUrl: model.url, settings: options.settings ?? {} };
    const servers: Server[] = [];
    const crashes: string[] = [];
    for (let number = 0; number < options.servers; number += 1) {
      const server = await serverAt(place, number, (what) => crashes.push(what));
      servers.push(opened(server, () => server.close()));
    }
    await Promise.all(servers.map((server) => server.start()));
    const balancer: Balancer = await startBalancer(() => servers.map(({ url }) => url));
    opened(balancer, () => balancer.close());
    return { url: balancer.url, keys, servers, postgres, redis, s3, crashes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Adds an admin with a key to each org. */
async function makeKeys(url: string): Promise<string[]> {
  const records = await openPostgresRecords({ url });
  try {
    return await Promise.all(
      Array.from({ length: orgs }, async (_, org) => {
        const [orgId, userId, secret, at] = [newId(), newId(), `aptove_${newId()}${newId()}`, Date.now()];
        await records.people.insertOrg({ id: orgId, name: `org ${org}`, createdAt: at, suspendedAt: null });
        const user = { id: userId, orgId, name: `admin ${org}`, role: "admin", createdAt: at } as const;
        await records.people.insertUser({ ...user, email: null, externalId: null, disabledAt: null });
        const key = { id: newId(), orgId, userId, name: "load", prefix: secret.slice(0, 11), hash: sha256(secret) };
        const times = {
          createdAt: at,
          expiresAt: null,
          lastUsedAt: null,
          revokedAt: null,
          workspaceId: null,
          limits: null,
        };
        await records.keys.insert({ ...key, deviceId: null, roleMax: null, ...times });
        return secret;
      }),
    );
  } finally {
    await records.close();
  }
}

interface Place {
  folder: string;
  /** The folder for blobs that the servers share if there is no S3. */
  blobs: string;
  postgres: TestPostgres;
  redis: TestRedis | null;
  s3: TestRadosgw | null;
  bucket: string | null;
  modelUrl: string;
  settings: Record<string, unknown>;
}

async function serverAt(
  place: Place,
  number: number,
  onCrash: (what: string) => void,
): Promise<Server & { close(): Promise<void> }> {
  const gates = {
    postgres: await openGate(addressOf(place.postgres.url)),
    redis: place.redis === null ? null : await openGate(addressOf(place.redis.url)),
  };
  const dataDir = join(place.folder, `server-${number}`);
  mkdirSync(dataDir, { mode: 0o700 });
  // Like a mounted network folder.
  if (place.s3 === null) symlinkSync(place.blobs, join(dataDir, "blobs"));
  writeFileSync(join(dataDir, "config.toml"), stringify(settingsOf(place, gates)), { mode: 0o600 });
  const env = environmentOf(place, dataDir);
  let child: ChildProcess | null = null;
  let isEnding = false;
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    const ending = child;
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return ending?.exitCode ?? null;
    const exited = once(ending, "exit") as Promise<[number | null]>;
    isEnding = true;
    ending.kill(signal);
    return (await exited)[0];
  };
  const server: Server = {
    number,
    url: "http://127.0.0.1:9",
    gates,
    kill: async () => void (await end("SIGKILL")),
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
    drain: () => end("SIGTERM"),
    start: async () => {
      child = spawn(bin, ["serve", "--port", "0", "--json"], {
        cwd: dataDir,
        env,
        stdio: ["ignore", "pipe", "inherit"],
      });
      isEnding = false;
      child.once("exit", (code, signal) => {
        if (isEnding) return;
        onCrash(`server ${number} ended by itself: ${signal ?? code}`);
        void server.start();
      });
      server.url = await addressSaid(child);
    },
  };
  const close = async (): Promise<void> => {
    await server.kill();
    await Promise.all([gates.postgres.close(), gates.redis?.close()]);
  };
  return Object.assign(server, { close });
}

/** Waits for the first line of the server, which states its address. */
async function addressSaid(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout ?? raise("a server without an output") });
  const firstLine = once(lines, "line", { signal: AbortSignal.timeout(startTimeoutMs) }) as Promise<[string]>;
  const gone = once(child, "exit").then(([code]) => raise(`a server ended with ${String(code)} before it listened`));
  const [line] = await Promise.race([firstLine, gone]);
  return (JSON.parse(line) as { url: string }).url;
}

function settingsOf({ redis, s3, bucket, settings }: Place, gates: Server["gates"]): Record<string, unknown> {
  return {
    records: { url: `postgres://postgres@127.0.0.1:${gates.postgres.port}/postgres` },
    ...(s3 !== null && { blobs: { url: `s3://${bucket}`, ...s3Settings(s3) } }),
    ...(redis !== null && { live: { redis: `redis://127.0.0.1:${gates.redis?.port}` } }),
    conversation_contexts: { default: { subagents: true } },
    // One user of the load represents many.
    limits: { concurrent_runs_per_user_max: 10_000, requests_per_minute_max: 1_000_000 },
    log: { level: "error" },
    ...settings,
  };
}

function s3Settings({ endpoint, region }: TestRadosgw): Record<string, unknown> {
  return { endpoint, region, path_style: true };
}

function environmentOf({ s3, modelUrl }: Place, dataDir: string): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, TEST_RUN_MARK } = process.env;
  const provider = { OPENAI_API_KEY: "sk-cluster-0123456789", OPENAI_BASE_URL: modelUrl, APTOVE_MODEL: "gpt-5.1" };
  const s3Keys = s3 === null ? {} : { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey };
  return { PATH, HOME, TMPDIR, TEST_RUN_MARK, APTOVE_DATA_DIR: dataDir, ...provider, ...s3Keys };
}

/** Returns the target of a `pg` or `redis` URL: a port on loopback, or a socket in a folder. */
function addressOf(text: string): { host: string; port: number } | { path: string } {
  const url = new URL(text);
  const folder = url.searchParams.get("host");
  if (folder?.startsWith("/") === true) return { path: join(folder, ".s.PGSQL.5432") };
  return { host: url.hostname, port: Number(url.port) };
}

function raise(message: string): never {
  throw new Error(message);
}
