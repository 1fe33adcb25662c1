import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld, type LiveCli, type RunOptions } from "../../../../testing/cli.ts";
import { newId } from "../../../domain/ids.ts";
import type { ServerFile } from "../server-file.ts";

interface RunningServer {
  call: LiveCli;
  url: string;
}

async function serving(
  world: CliWorld,
  argv = ["serve", "--port", "0"],
  options: RunOptions = {},
): Promise<RunningServer> {
  const call = world.start(argv, options);
  await call.saw("http://127.0.0.1:");
  return { call, url: serverFile(world).url };
}

function serverFile(world: CliWorld): ServerFile {
  return JSON.parse(readFileSync(join(world.dataDir, "server.json"), "utf8")) as ServerFile;
}

async function stop(server: RunningServer): Promise<number> {
  server.call.signals.emit("SIGTERM");
  return (await server.call.finished).exit;
}

test("[L1] serve listens until a stop signal, then ends with 0 and listens no more", async (t) => {
  const world = await cliWorld(t);
  const server = await serving(world);
  const health = await fetch(`${server.url}/healthz`);
  assert.equal(((await health.json()) as { status: string }).status, "ok");
  assert.equal(await stop(server), 0);
  await assert.rejects(fetch(`${server.url}/healthz`));
  assert.equal(serverFile(world).pid, 0);
});

test("[H4] [L1] serve says how to make a key as long as there is none", async (t) => {
  const world = await cliWorld(t);
  const noted = async (): Promise<boolean> => {
    const server = await serving(world);
    assert.equal(await stop(server), 0);
    return (await server.call.finished).stderr.includes("there is none yet: aptove key create <name>");
  };
  assert.equal(await noted(), true);
  assert.equal((await world.run(["key", "create", "mine"])).exit, 0);
  assert.equal(await noted(), false);
});

test("[L1] a server whose provider has no key starts, and warns of it in one line", async (t) => {
  const world = await cliWorld(t);
  const warnings = async (env: Record<string, string>): Promise<string[]> => {
    const server = await serving(world, ["serve", "--port", "0"], { env });
    assert.equal(await stop(server), 0);
    return (await server.call.finished).stderr.split("\n").filter((line) => line.includes("config check"));
  };
  const [line, ...more] = await warnings({ APTOVE_PROVIDER: "openai" });
  assert.match(line ?? "", /^warning: .* uses openai, which .*OPENAI_API_KEY.*; check it: aptove config check$/);
  assert.deepEqual(more, []);
  assert.equal((await warnings({ APTOVE_PROVIDER: "openai", APTOVE_LOG_FORMAT: "json" })).length, 1);
  assert.deepEqual(await warnings({}), []);
});

test("[L1] doctor with --server shows what the server finds about itself, and index --status what it indexed", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const server = await serving(world);
  const there = ["--server", server.url, "--key", serverFile(world).key];
  const { exit, stdout } = await world.run(["doctor", ...there]);
  assert.equal(exit, 0, stdout);
  assert.match(stdout, /^ok server: records +SQLite/m);
  assert.match(stdout, /^ok server: blobs +in the data folder$/m);
  assert.match(stdout, /^ok server: indexes +copy~[0-9a-f]{8}: \d files, 2 chunks/m);
  assert.match((await world.run(["index", "--status", ...there])).stdout, /^copy~[0-9a-f]{8}: indexed /);
  assert.equal(await stop(server), 0);
});

test("[L1] an address that is not of this machine is refused, and the fix names what gave it", async (t) => {
  const world = await cliWorld(t);
  const elsewhere = "203.0.113.1";
  const file = join(world.dataDir, "config.toml");
  const fixOf = async (argv: string[], options: RunOptions = {}): Promise<string | undefined> => {
    const { exit, stderr } = await world.run(["serve", "--port", "0", ...argv], options);
    assert.equal(exit, 1);
    assert.match(stderr, /^error: cannot listen on 203\.0\.113\.1:0 \(EADDRNOTAVAIL\) \(cannot_listen\)$/m);
    return /^fix: (.*)$/m.exec(stderr)?.[1];
  };
  const name = "name an address of this machine:";
  assert.equal(await fixOf(["--host", elsewhere]), `${name} --host <host>`);
  const environment = { env: { APTOVE_HOST: elsewhere } };
  assert.equal(await fixOf([], environment), `${name} serve.host in environment variable APTOVE_HOST`);
  writeFileSync(file, `[serve]\nhost = "${elsewhere}"\n`, { mode: 0o600 });
  assert.match((await fixOf([])) ?? "", new RegExp(`^${name} serve\\.host in ${file}`));
});

const slow = { env: { APTOVE_OFFLINE_DELAY_MS: "20" } };

/** Returns a server in the middle of an answer, and the call that waits for it. */
async function answering(t: TestContext) {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const server = await serving(world, ["serve", "--port", "0"], slow);
  const asked = world.start(["ask", "how is a user greeted?"], slow);
  await asked.saw("built-in");
  return { world, server, asked };
}

test("[L1] [R4] a turn that runs at a stop signal is finished first", async (t) => {
  const { server, asked } = await answering(t);
  assert.equal(await stop(server), 0);
  const { exit, stdout } = await asked.finished;
  assert.equal(exit, 0);
  assert.match(stdout, /src\/greet.ts:1-3/);
});

test("[L1] [R4] a stopping server says what it waits for, and a second one is refused with this reason", async (t) => {
  const { world, server, asked } = await answering(t);
  server.call.signals.emit("SIGINT");
  await server.call.saw("stopping: waits up to 10 s until 1 running turn ends; a second Ctrl-C stops at once");
  const { port } = new URL(server.url);
  for (const command of ["serve", "start"]) {
    const { exit, stdout, stderr } = await world.run([command, "--port", port]);
    assert.equal(exit, 1);
    assert.match(stderr, new RegExp(`at ${server.url} \\(pid ${process.pid}\\) is stopping.* \\(port_in_use\\)$`, "m"));
    assert.match(stderr, new RegExp(`^fix: try again .* kill ${process.pid}`, "m"));
    assert.equal(stdout, "");
  }
  server.call.signals.emit("SIGINT");
  assert.equal((await server.call.finished).exit, 130);
  await asked.finished;
});

test("[L1] [R4] a server without running turns says so and stops", async (t) => {
  const server = await serving(await cliWorld(t));
  assert.equal(await stop(server), 0);
  assert.match((await server.call.finished).stderr, /^stopping: no turn runs$/m);
});

/** Makes the file of the server one that cannot be written, as on a full disk: a folder has the name of its temporary file. */
function blockServerFile(world: CliWorld): void {
  mkdirSync(join(world.dataDir, `server.json.${process.pid}.tmp`));
}

test("[R4] [L1] a server whose disk takes no note of its stop ends its turns in order", async (t) => {
  const { world, server, asked } = await answering(t);
  blockServerFile(world);
  assert.equal(await stop(server), 0);
  const { stderr } = await server.call.finished;
  assert.match(stderr, /^stopping: waits up to 10 s until 1 running turn ends/m);
  assert.match(stderr, /the server stops without a note of it/);
  assert.doesNotMatch(stderr, /internal/);
  assert.equal((await asked.finished).exit, 0);
  assert.equal(existsSync(join(world.dataDir, "server.json")), false, "its key is in no file");
});

test("[B4] [L1] a server on a data folder that it cannot write is refused with what to do", async (t) => {
  const world = await cliWorld(t);
  blockServerFile(world);
  const { exit, stdout, stderr } = await world.run(["serve", "--port", "0"]);
  assert.equal(exit, 1);
  assert.equal(stdout, "");
  assert.match(stderr, /^error: a server writes to its data folder, and .*data takes no file: .* \(storage_failed\)$/m);
  assert.match(stderr, /^fix: let this user write to the folder .*APTOVE_DATA_DIR$/m);
});

test("[L1] a second signal ends the server at once, with 130", async (t) => {
  const { server, asked } = await answering(t);
  server.call.signals.emit("SIGINT");
  server.call.signals.emit("SIGINT");
  assert.equal((await server.call.finished).exit, 130);
  await asked.finished;
});

test("[B6] [H4] only its owner can read server.json, whose key is new at each start and ends with the server", async (t) => {
  const world = await cliWorld(t);
  const server = await serving(world);
  assert.equal(statSync(join(world.dataDir, "server.json")).mode & 0o777, 0o600);
  const statusOf = async (url: string, key: string): Promise<number> =>
    (await fetch(`${url}/api/me`, { headers: { authorization: `Bearer ${key}` } })).status;
  const { key } = serverFile(world);
  assert.equal(await statusOf(server.url, key), 200);
  const { keys } = JSON.parse((await world.run(["key", "list", "--json"])).stdout) as { keys: unknown[] };
  assert.deepEqual(keys, [], "it is stored nowhere else");
  await stop(server);
  assert.equal(serverFile(world).key, "");
  const again = await serving(world);
  const fresh = serverFile(world).key;
  assert.notEqual(fresh, key);
  // Also the key of a server that was killed before it could remove it.
  assert.deepEqual([await statusOf(again.url, key), await statusOf(again.url, fresh)], [401, 200]);
  await stop(again);
});

test("[H4] a key that an earlier version stored in server.json ends at the next start", async (t) => {
  const world = await cliWorld(t);
  const made = JSON.parse((await world.run(["key", "create", "commands on this machine", "--json"])).stdout) as {
    key: { id: string };
    secret: string;
  };
  const former = {
    pid: 0,
    url: "http://127.0.0.1:1",
    key: made.secret,
    keyId: made.key.id,
    configuration: "",
    records: "",
  };
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify(former));
  const server = await serving(world);
  const me = await fetch(`${server.url}/api/me`, { headers: { authorization: `Bearer ${made.secret}` } });
  assert.equal(me.status, 401);
  await stop(server);
});

test("[L1] commands of the same configuration go to the running server, others do it themselves", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const server = await serving(world);
  const log: string[] = [];
  const { fetch: real } = globalThis;
  t.mock.method(globalThis, "fetch", (request: Request) => {
    log.push(new URL(request.url).pathname);
    return real(request);
  });
  assert.equal((await world.run(["ask", "greet"])).exit, 0);
  assert.ok(log.includes("/api/ai/agent/execute"), log.join(" "));
  log.length = 0;
  assert.equal((await world.run(["ask", "greet"], { env: { APTOVE_MODEL: "another" } })).exit, 0);
  assert.deepEqual(log, []);
  await stop(server);
  assert.equal((await world.run(["ask", "greet"])).exit, 0);
  assert.deepEqual(log, []);
});

test("[L1] a server that was killed is not taken for a running one", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const server = await serving(world);
  const { url } = server;
  await stop(server);
  // The process id belongs to another process, and no server listens.
  writeFileSync(
    join(world.dataDir, "server.json"),
    JSON.stringify({ ...serverFile(world), pid: process.ppid, url, key: "ended" }),
  );
  assert.equal((await world.run(["ask", "greet"])).exit, 0);
  writeFileSync(join(world.dataDir, "server.json"), "{damaged");
  assert.equal((await world.run(["ask", "greet"])).exit, 0);
});

test(
  "[L1] a server in another namespace of process ids runs if it answers, whatever has its process id here",
  { skip: !existsSync("/proc/self/ns/pid") && "there are no namespaces" },
  async (t) => {
    const world = await cliWorld(t);
    const server = await serving(world);
    const entry = serverFile(world);
    const write = (more: object): void =>
      writeFileSync(join(world.dataDir, "server.json"), JSON.stringify({ ...entry, pidNamespace: "pid:[1]", ...more }));
    const pid = spawnSync(process.execPath, ["--version"]).pid;
    write({ pid });
    assert.match((await world.run(["doctor"])).stdout, /^ok server +http/m);
    const again = await world.run(["serve", "--port", new URL(server.url).port]);
    assert.match(again.stderr, /already_serving/);
    assert.match(again.stderr, /stop it in the container where it runs/);
    write({ pid: process.ppid, url: "http://127.0.0.1:1" });
    assert.match((await world.run(["doctor"])).stdout, /^-- server +not running/m);
    write({ pid: 0 });
    assert.match((await world.run(["doctor"])).stdout, /^-- server +not running/m);
    await stop(server);
  },
);

test("[L1] [B6] a copy of a data folder has no server, and what is done there changes nothing in the original", async (t) => {
  const world = await cliWorld(t);
  assert.equal((await world.run(["ask", "kept"])).exit, 0);
  const server = await serving(world);
  const { id } = (JSON.parse((await world.run(["session", "list", "--json"])).stdout) as { sessions: [{ id: string }] })
    .sessions[0];
  const dir = `${world.dataDir}-copy`;
  cpSync(world.dataDir, dir, { recursive: true });
  const inCopy = { env: { APTOVE_DATA_DIR: dir } };
  assert.match((await world.run(["doctor"], inCopy)).stdout, /^-- server +not running/m);
  const page = await world.run(["page"], inCopy);
  assert.match(page.stderr, /no server runs on this data folder \(no_server\)/);
  assert.equal((await world.run(["session", "delete", id, "--yes"], inCopy)).exit, 0);
  assert.equal((await world.run(["session", "show", id], inCopy)).exit, 1);
  assert.equal((await world.run(["session", "show", id])).exit, 0);
  await stop(server);
});

test("[L1] [B6] a server is found after its data folder got another name, and by the file of an earlier version", async (t) => {
  const world = await cliWorld(t);
  const server = await serving(world);
  const { folder, ...earlier } = serverFile(world);
  assert.ok(folder !== undefined);
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify(earlier));
  assert.match((await world.run(["doctor"])).stdout, /^ok server +http/m);
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify({ ...earlier, folder }));
  const dir = `${world.dataDir}-renamed`;
  renameSync(world.dataDir, dir);
  assert.match((await world.run(["doctor"], { env: { APTOVE_DATA_DIR: dir } })).stdout, /^ok server +http/m);
  renameSync(dir, world.dataDir);
  await stop(server);
});

/** Starts a server beside another one of the data folder. */
async function servingBeside(world: CliWorld): Promise<RunningServer> {
  const call = world.start(["serve", "--port", "0", "--json"]);
  await call.saw('"url":');
  return { call, url: (JSON.parse(call.output()) as { url: string }).url };
}

/** The files by which commands find a server of the data folder. */
function serverFiles(world: CliWorld): string[] {
  return readdirSync(world.dataDir).filter((name) => /^server.*\.json$/.test(name));
}

test("[L1] a second server on a data folder is found when the first one has ended, in whatever way", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const found = async (): Promise<string> => (await world.run(["doctor"])).stdout.match(/ server +(\S+)/)?.[1] ?? "";
  const asked = async (): Promise<number> => (await world.run(["ask", "greet"])).exit;
  const first = await serving(world);
  const entry = serverFile(world);
  const second = await servingBeside(world);
  assert.equal(await found(), first.url);
  assert.equal(await stop(first), 0);
  assert.equal(await found(), second.url);
  assert.equal(await asked(), 0);
  assert.ok((await world.run(["page"])).stdout.startsWith(second.url), "its codes are in its memory");
  // The first was killed, and another program has its process id.
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify({ ...entry, pid: process.ppid }));
  assert.equal(await found(), second.url);
  assert.equal(await asked(), 0);
  const third = await servingBeside(world);
  assert.equal(await found(), second.url);
  assert.equal(await stop(second), 0);
  assert.equal(await found(), third.url);
  for (const name of serverFiles(world)) assert.equal(statSync(join(world.dataDir, name)).mode & 0o777, 0o600);
  assert.equal(await stop(third), 0);
});

/** Listens on loopback and answers nothing, as a server that is suspended. Returns its address. */
async function hungServer(t: TestContext): Promise<string> {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("[L1] a first server that accepts connections and answers nothing hides neither a further one nor its records", async (t) => {
  const world = await cliWorld(t);
  const first = await serving(world);
  const second = await servingBeside(world);
  const entry = serverFile(world);
  const hung = { ...entry, url: await hungServer(t) };
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify(hung));
  assert.ok((await world.run(["page"])).stdout.startsWith(second.url));
  const elsewhere = { ...entry, records: "PostgreSQL at db.example.org/aptove", configuration: "another" };
  const further = serverFiles(world).find((name) => name !== "server.json") ?? assert.fail("there is no further file");
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify({ ...elsewhere, url: hung.url }));
  const { key } = JSON.parse(readFileSync(join(world.dataDir, further), "utf8")) as ServerFile;
  writeFileSync(join(world.dataDir, further), JSON.stringify({ ...elsewhere, url: second.url, key }));
  assert.match((await world.run(["session", "list"])).stderr, /other_records/);
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify(entry));
  assert.equal(await stop(first), 0);
  assert.equal(await stop(second), 0);
});

test("[L1] the file of a further server that was killed goes away at the next start", async (t) => {
  const world = await cliWorld(t);
  const first = await serving(world);
  const dead = spawnSync(process.execPath, ["--version"]).pid;
  writeFileSync(join(world.dataDir, `server-${newId()}.json`), JSON.stringify({ ...serverFile(world), pid: dead }));
  assert.equal(await stop(first), 0);
  const next = await serving(world);
  assert.deepEqual(serverFiles(world), ["server.json"]);
  assert.equal(await stop(next), 0);
});

test("[L1] [R4] a server that was killed in a container does not keep commands from the next one at its address", async (t) => {
  const world = await cliWorld(t);
  const before = await serving(world);
  const entry = serverFile(world);
  assert.equal(await stop(before), 0);
  // In a container every server has the same process id and port, so the process "runs" and its address answers.
  const dead = { ...entry, key: "aptove_of_the_dead_server", pid: process.pid };
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify(dead));
  for (const left of [dead, { ...dead, pid: 0, stopping: process.pid }])
    writeFileSync(join(world.dataDir, `server-${newId()}.json`), JSON.stringify(left));
  const next = await serving(world, ["serve", "--port", new URL(entry.url).port]);
  assert.notEqual(serverFile(world).key, dead.key);
  assert.deepEqual(serverFiles(world), ["server.json"], "those of dead servers are removed");
  const listed = await world.run(["session", "list"]);
  assert.equal(listed.exit, 0, listed.stderr);
  assert.ok((await world.run(["page"])).stdout.startsWith(next.url));
  assert.equal(await stop(next), 0);
});

test("[L1] [H4] a server that does not accept the key in the file is not the server of the data folder", async (t) => {
  const world = await cliWorld(t);
  const other = await serving(await cliWorld(t));
  const first = await serving(world);
  const entry = serverFile(world);
  assert.equal(await stop(first), 0);
  // The server was killed, another program has its process id, and the server of another data folder its address.
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify({ ...entry, url: other.url, pid: process.ppid }));
  assert.match((await world.run(["doctor"])).stdout, /^-- server +not running/m);
  const listed = await world.run(["session", "list"]);
  assert.equal(listed.exit, 0, listed.stderr);
  const page = await world.run(["page"]);
  assert.match(page.stderr, /\(no_server\)/);
  const started = await servingBeside(world);
  assert.equal(serverFile(world).url, started.url, "the entry is replaced");
  assert.equal(await stop(started), 0);
  assert.equal(await stop(other), 0);
});

test("[L1] a folder with the name of a server's file is none, and stays", async (t) => {
  const world = await cliWorld(t);
  const folders = ["server.json", `server-${newId()}.json`];
  for (const name of folders) mkdirSync(join(world.dataDir, name), { recursive: true });
  assert.equal((await world.run(["session", "list"])).exit, 0);
  rmdirSync(join(world.dataDir, "server.json"));
  const server = await serving(world);
  assert.deepEqual(serverFiles(world).toSorted(), folders.toSorted());
  assert.equal(await stop(server), 0);
});

test("[L1] a second server on a data folder leaves the entry of the first, says so, and ends without it", async (t) => {
  const world = await cliWorld(t);
  const first = await serving(world);
  const entry = serverFile(world);
  const second = world.start(["serve", "--port", "0"]);
  await second.saw("serves at");
  await second.saw(`commands on this machine use the server at ${first.url} (pid ${process.pid}) as long as it runs`);
  assert.deepEqual(serverFile(world), entry);
  second.signals.emit("SIGTERM");
  assert.equal((await second.finished).exit, 0);
  assert.deepEqual(serverFile(world), entry);
  assert.match((await world.run(["doctor"])).stdout, new RegExp(`^ok server +${first.url}`, "m"));
  assert.equal(await stop(first), 0);
  assert.equal(serverFile(world).pid, 0);
  // The entry of a server that was killed is replaced, also if another program has its process id.
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify({ ...entry, pid: process.ppid }));
  const third = await serving(world);
  assert.equal(serverFile(world).pid, process.pid);
  assert.equal(await stop(third), 0);
});

test("[L1] --server with a key uses that server; what needs this machine's data is refused", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const key = (await world.run(["key", "create", "remote"])).stdout.trim();
  const server = await serving(world);
  const remote = ["--server", server.url, "--key", key];
  assert.equal((await world.run(["ask", ...remote, "greet"])).exit, 0);
  const listed = await world.run(["session", "list"], { env: { APTOVE_SERVER: server.url, APTOVE_KEY: key } });
  assert.match(listed.stdout, /greet$/m);
  const index = await world.run(["index", ...remote]);
  assert.equal(index.exit, 2);
  assert.match(
    index.stderr,
    /the index of a server is built on its own machine .*\nfix: ask the operator of the server/,
  );
  const wrong = await world.run(["session", "list", "--server", server.url, "--key", "nonsense"]);
  assert.equal(wrong.exit, 1);
  assert.match(wrong.stderr, /\(unauthenticated\)\nfix: give a key/);
  assert.equal((await world.run(["session", "list", "--server", server.url])).exit, 2);
  assert.equal((await world.run(["session", "list", "--server", "localhost", "--key", key])).exit, 2);
  await stop(server);
  const gone = await world.run(["session", "list", ...remote]);
  assert.equal(gone.exit, 1);
  assert.match(gone.stderr, /\(unreachable\)\nfix: check that the server runs/);
});

test("[L1] a port that is taken: by another program, or by this very server", async (t) => {
  const world = await cliWorld(t);
  const other = createServer((_request, response) => response.writeHead(404).end());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  t.after(() => other.close());
  const port = String((other.address() as AddressInfo).port);
  const taken = await world.run(["serve", "--port", port]);
  assert.equal(taken.exit, 1);
  assert.match(taken.stderr, new RegExp(`another program listens on 127.0.0.1:${port} \\(port_in_use\\)\\nfix: `));
  // A server that was killed leaves its file. Another program may have its process id by now, and must not be killed for it.
  for (const left of [{ pid: process.pid }, { pid: 0, stopping: process.pid }]) {
    const file = { ...left, url: `http://127.0.0.1:${port}`, key: "", configuration: "", records: "" };
    writeFileSync(join(world.dataDir, "server.json"), JSON.stringify(file));
    const { exit, stderr } = await world.run(["serve", "--port", port]);
    assert.equal(exit, 1);
    assert.match(stderr, /another program listens/);
    assert.doesNotMatch(stderr, /kill/);
  }

  const server = await serving(world);
  const own = new URL(server.url).port;
  for (const command of ["serve", "start"]) {
    const second = await world.run([command, "--port", own]);
    assert.equal(second.exit, 1);
    assert.match(second.stderr, new RegExp(`aptove serves at ${server.url} already \\(pid ${process.pid}\\)`));
    assert.match(second.stderr, new RegExp(`kill ${process.pid}`));
  }
  await stop(server);
});

test("[L1] [H3] a taken port of the metrics is named with its setting, also if the server has the same one", async (t) => {
  const world = await cliWorld(t);
  const other = createServer((_request, response) => response.writeHead(404).end());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  t.after(() => other.close());
  const port = String((other.address() as AddressInfo).port);
  const taken = await world.run(["serve", "--port", "0"], { env: { APTOVE_METRICS_PORT: port } });
  assert.equal(taken.exit, 1);
  assert.match(
    taken.stderr,
    new RegExp(`^error: another program listens on 127.0.0.1:${port}, the address of the metrics`, "m"),
  );
  const setting = "metrics\\.port in environment variable APTOVE_METRICS_PORT";
  assert.match(taken.stderr, new RegExp(`^fix: take another port for the metrics: ${setting}$`, "m"));
  await new Promise<void>((resolve) => other.close(() => resolve()));
  const same = await world.run(["serve", "--port", port], { env: { APTOVE_METRICS_PORT: port } });
  assert.equal(same.exit, 1);
  assert.match(
    same.stderr,
    new RegExp(`^error: the server and its metrics have the same port ${port} \\(port_in_use\\)$`, "m"),
  );
  assert.match(
    same.stderr,
    new RegExp(`^fix: take another port: --port <n>, or another one for the metrics: ${setting}$`, "m"),
  );
  const elsewhere = { env: { APTOVE_METRICS_PORT: "0", APTOVE_METRICS_HOST: "203.0.113.1" } };
  const { stderr } = await world.run(["serve", "--port", "0"], elsewhere);
  assert.match(stderr, /^error: cannot listen on 203\.0\.113\.1:0, the address of the metrics \(EADDRNOTAVAIL\)/m);
  assert.match(
    stderr,
    /^fix: name an address of this machine: metrics\.host in environment variable APTOVE_METRICS_HOST$/m,
  );
});

test("[L1] [H4] the first start indexes and shows a key, once; the second says how to make another", async (t) => {
  const world = await cliWorld(t);
  const first = await serving(world, ["start", "--port", "0"]);
  await first.call.saw("Ctrl-C stops the server");
  assert.equal(await stop(first), 0);
  const { stdout } = await first.call.finished;
  assert.match(stdout, /indexed copy~[0-9a-f]{8} at [0-9a-f]{10}: 2 files, 2 chunks/);
  const key = /API key +(aptove_\S+)/.exec(stdout)?.[1] ?? assert.fail(stdout);
  for (const part of [first.url, String(process.pid), world.dataDir, "built-in offline model"]) {
    assert.ok(stdout.includes(part), part);
  }
  assert.equal(stdout.match(/^ {2}\/opt\/aptove\/bin\/aptove\.mjs (ask|chat|session)/gm)?.length, 3);

  const second = await serving(world, ["start", "--port", "0"]);
  const me = await fetch(`${second.url}/api/me`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(me.status, 200);
  await second.call.saw("Ctrl-C stops the server");
  await stop(second);
  const again = (await second.call.finished).stdout;
  assert.match(again, /shown at the first start only; create another one: .* key create <name>/);
  assert.ok(!again.includes(key));
  assert.match(again, /0 changed, 0 removed, 0 chunks written/);
});

test("[L1] within npm start the commands to try are those of npx", async (t) => {
  const world = await cliWorld(t);
  const call = world.start(["start", "--port", "0"], { env: { npm_package_name: "aptove" } });
  await call.saw("npx aptove session log");
  call.signals.emit("SIGINT");
  assert.equal((await call.finished).exit, 0);
});

test("[L1] outside of a repository start serves without an index", async (t) => {
  const world = await cliWorld(t);
  const call = world.start(["start", "--port", "0"], { cwd: world.dataDir.replace(/data$/, "") });
  await call.saw("Ctrl-C stops the server");
  call.signals.emit("SIGINT");
  const { exit, stderr } = await call.finished;
  assert.equal(exit, 0);
  assert.match(stderr, /not in a git repository, so nothing is indexed/);
});

test("[L1] [B1] a command that would create records beside those of the running server is refused, also by doctor", async (t) => {
  const world = await cliWorld(t);
  const server = await serving(world);
  assert.equal(serverFile(world).records, "SQLite in the data folder");
  // As a server writes it that was started with APTOVE_RECORDS_URL.
  const file = { ...serverFile(world), records: "PostgreSQL at db.example.org/aptove", configuration: "another" };
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify(file));
  for (const argv of [["key", "create", "mine"], ["backup", join(world.dataDir, "..", "copy")], ["doctor"]]) {
    const { exit, stdout, stderr } = await world.run(argv);
    assert.equal(exit, 1, argv.join(" "));
    assert.match(
      stdout + stderr,
      /has its records in PostgreSQL at db.example.org\/aptove, and this command in SQLite/,
    );
    assert.match(stdout + stderr, /fix: set APTOVE_RECORDS_URL/);
    assert.doesNotMatch(stdout, /aptove_/);
  }
  // A reader that has gone delays no other.
  writeFileSync(join(world.dataDir, "server.json"), JSON.stringify({ ...file, url: "http://127.0.0.1:1" }));
  assert.equal((await world.run(["key", "create", "mine"])).exit, 0);
  await stop(server);
});
