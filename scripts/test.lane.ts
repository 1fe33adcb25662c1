/** The runner of the tests, run on planted tests as `npm test -- <file>` would run it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

const runner = fileURLToPath(new URL("./test.ts", import.meta.url));

interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the runner on one file with these lines, in an environment with a key and a configured folder. */
function runTests(context: TestContext, lines: string[], options: string[] = []): Promise<Ran> {
  const folder = mkdtempSync(join(tmpdir(), "runner-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "planted.test.mjs");
  const imports = ["node:test", "node:assert", "node:fs", "node:os", "node:child_process"].map(
    (name) => `import * as ${name.slice(5)} from "${name}";`,
  );
  writeFileSync(file, [...imports.slice(1), `import { test } from "node:test";`, ...lines].join("\n"));
  const environment: NodeJS.ProcessEnv = { ...process.env, OPENAI_API_KEY: "sk-planted", APTOVE_DATA_DIR: folder };
  // With this the inner runner would take itself for a test of the outer one.
  delete environment["NODE_TEST_CONTEXT"];
  const child = spawn(process.execPath, [runner, ...options, file], { env: environment });
  const ran: Ran = { code: null, stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (ran.stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (ran.stderr += String(chunk)));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ ...ran, code }));
  });
}

test("ends with the runner's own summary and code", async (context) => {
  const fine = await runTests(context, [`test("a", () => {});`, `test("b", () => {});`]);
  assert.equal(fine.code, 0, fine.stderr);
  assert.match(fine.stdout, /tests 2\n.* suites 0\n.* pass 2\n.* fail 0\n[\s\S]*duration_ms [\d.]+\n$/);
  const failing = await runTests(context, [`test("a", () => assert.fail("no"));`]);
  assert.equal(failing.code, 1);
});

test("passes on what to run", async (context) => {
  const lines = [`test("one", () => {});`, `test("two", () => assert.fail("no"));`];
  const { code, stdout } = await runTests(context, lines, ["--test-name-pattern", "one"]);
  assert.equal(code, 0);
  assert.match(stdout, /pass 1\n/);
});

test("[E8] a test sees no key, no data folder and no home of the person who runs it", async (context) => {
  const { code, stdout } = await runTests(context, [
    `const { env } = process;`,
    `test("a", () => assert.deepEqual(Object.keys(env).filter((name) => /^(OPENAI|APTOVE)_/.test(name)), []));`,
    `test("b", () => assert.notEqual(os.homedir(), ${JSON.stringify(process.env["HOME"] ?? "")}));`,
    `test("c", () => assert.deepEqual(fs.readdirSync(os.homedir()), []));`,
  ]);
  assert.equal(code, 0, stdout);
});

test("a file that was left behind makes the run fail, and goes", async (context) => {
  const { code, stderr } = await runTests(context, [
    `test("a", () => fs.writeFileSync(process.env.XDG_DATA_HOME + "/left.txt", ""));`,
  ]);
  assert.equal(code, 1);
  assert.match(stderr, /left behind: data\/left\.txt/);
});

test(
  "a process that was left behind makes the run fail, and is ended",
  { skip: process.platform !== "linux" && "needs /proc" },
  async (context) => {
    const { code, stderr } = await runTests(context, [
      `test("a", () => child_process.spawn("sleep", ["300"], { detached: true, stdio: "ignore" }).unref());`,
    ]);
    assert.equal(code, 1);
    const pid = /process (\d+): sleep 300/.exec(stderr)?.[1] ?? "";
    const status = statSync(`/proc/${pid}`, { throwIfNoEntry: false });
    assert.ok(status === undefined || readFileSync(`/proc/${pid}/cmdline`, "utf8") === "", "it still runs");
  },
);

test("a test that hangs is ended, and what keeps its file running is named", async (context) => {
  const lines = [`test("a", () => new Promise(() => setInterval(() => {}, 1000)));`];
  const { code, stdout } = await runTests(context, lines, ["--test-timeout=500"]);
  assert.equal(code, 1);
  assert.match(stdout, /timed out after 500ms/);
  assert.match(stdout, /does not end after its tests; still open: .*Timeout/);
});
