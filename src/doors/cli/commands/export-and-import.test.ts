import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import type { WireImportReport, WireSession } from "../../../client/client.ts";

async function withTurns(t: TestContext): Promise<CliWorld> {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["ask", "how is a user greeted?"]);
  await world.run(["ask", "-c", "and why?"]);
  return world;
}

async function shown(world: CliWorld, id: string): Promise<{ session: WireSession }> {
  return JSON.parse((await world.run(["session", "show", id, "--json"])).stdout) as { session: WireSession };
}

test("[L1] a session that is exported here can be imported elsewhere, twice, and holds there", async (t) => {
  const world = await withTurns(t);
  const file = join(world.copy, "session.aptove");
  const written = await world.run(["session", "export", "-o", "session.aptove"]);
  assert.equal(written.exit, 0, written.stderr);
  assert.match(written.stdout, /session.aptove: session [0-9a-f]{8}, [\d.]+ KB\n$/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const { session } = await shown(world, "last");

  const other = await cliWorld(t);
  const first = await other.run(["session", "import", file]);
  assert.equal(first.exit, 0, first.stderr);
  assert.equal(first.stdout, `${session.id} how is a user greeted?\n`);
  assert.match(first.stderr, /^2 turns in \d+ files imported, 0 already here\n$/);
  assert.match((await other.run(["session", "verify", session.id])).stdout, /^2 turns verified/);
  const again = await other.run(["session", "import", "-", "--json"], { stdin: readFileSync(file, "utf8") });
  const report = JSON.parse(again.stdout) as WireImportReport;
  assert.deepEqual([report.turnsImported, report.turnsKnown, report.sessions[0]?.isNew], [0, 2, false]);
});

test("[L1] [O8] options for conversations of another tool import no file", async (t) => {
  const world = await withTurns(t);
  await world.run(["session", "export", "-o", "session.aptove"]);
  const other = await cliWorld(t);
  for (const option of ["--dry-run", "--all", "--yes"]) {
    const refused = await other.run(["session", "import", option, join(world.copy, "session.aptove")]);
    assert.equal(refused.exit, 2, option);
    assert.match(
      refused.stderr,
      new RegExp(`^error: ${option} is only for conversations of another tool .*\\nfix: .*--from`),
    );
  }
  assert.match((await other.run(["session", "list"])).stderr, /there are no sessions yet/);
});

test("[L1] an export goes to standard output, as one branch or as Markdown too", async (t) => {
  const world = await withTurns(t);
  const whole = await world.run(["session", "export"]);
  assert.equal(whole.stderr, "");
  for (const line of whole.stdout.trimEnd().split("\n")) assert.doesNotThrow(() => JSON.parse(line));
  const branch = await world.run(["session", "export", "last", "--turn", "1"]);
  assert.ok(branch.stdout.length < whole.stdout.length);
  const other = await cliWorld(t);
  const report = await other.run(["session", "import", "-", "--json"], { stdin: branch.stdout });
  assert.equal((JSON.parse(report.stdout) as WireImportReport).turnsImported, 1);
  const markdown = await world.run(["session", "export", "--markdown"]);
  assert.match(markdown.stdout, /how is a user greeted\?[^]*built-in offline model[^]*and why\?/);
  assert.equal((await world.run(["session", "export", "--markdown", "--turn", "1"])).exit, 2);
});

test("[L1] a terminal is shown an export without characters that deceive; a pipe gets it exact", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["ask", "greet fdp\u202egnp ä"]);
  for (const form of [[], ["--markdown"]]) {
    const piped = await world.run(["session", "export", ...form]);
    assert.match(piped.stdout, /fdp\u202egnp ä/);
    const onTerminal = await world.run(["session", "export", ...form], { isTerminal: true, env: { TERM: "dumb" } });
    assert.equal(onTerminal.stdout, piped.stdout.replaceAll("\u202e", "\\u202e"));
  }
});

test("[L1] what is cut is refused, and what cannot be read or written is named", async (t) => {
  const world = await withTurns(t);
  const { stdout } = await world.run(["session", "export"]);
  const other = await cliWorld(t);
  const cut = await other.run(["session", "import", "-"], { stdin: stdout.slice(0, stdout.length / 2) });
  assert.equal(cut.exit, 1);
  assert.match(cut.stderr, /\(import_invalid\)/);
  assert.match((await other.run(["session", "list"])).stderr, /there are no sessions yet/);
  const missing = await other.run(["session", "import", "nowhere.aptove"]);
  assert.deepEqual([missing.exit, missing.stdout], [2, ""]);
  assert.match(missing.stderr, /nowhere.aptove is not a file/);
  const blocked = await world.run(["session", "export", "-o", "no/such/folder.aptove"]);
  assert.equal(blocked.exit, 1);
  assert.match(blocked.stderr, /cannot be written \(ENOENT\) \(storage_failed\)/);
});

test("[L1] the name of a file that is not there makes no data folder", async (t) => {
  const world = await cliWorld(t);
  const dataDir = join(world.dataDir, "absent");
  const run = await world.run(["session", "import", "nowhere.aptove"], { env: { APTOVE_DATA_DIR: dataDir } });
  assert.equal(run.exit, 2);
  assert.ok(!existsSync(dataDir));
});

test("[L1] an import reads a pipe, as a shell gives it for a program that unpacks a file", async (t) => {
  const world = await withTurns(t);
  const { stdout } = await world.run(["session", "export"]);
  const pipe = join(world.copy, "..", "pipe");
  execFileSync("mkfifo", [pipe]);
  const other = await cliWorld(t);
  const written = writeFile(pipe, stdout);
  const read = await other.run(["session", "import", pipe]);
  await written;
  assert.equal(read.exit, 0, read.stderr);
  assert.match(read.stderr, /^2 turns in/);
});

test("[L1] Markdown is no JSON: both go together only where the Markdown has a file", async (t) => {
  const world = await withTurns(t);
  const refused = await world.run(["session", "export", "--markdown", "--json"]);
  assert.deepEqual([refused.exit, /--markdown and --json contradict/.test(refused.stdout)], [2, true]);
  const written = await world.run(["session", "export", "--markdown", "--json", "-o", "page.md"]);
  assert.equal((JSON.parse(written.stdout) as { file: string }).file, join(world.copy, "page.md"));
});

test("[L1] an export that fails leaves the file that was there, and nothing beside it", async (t) => {
  const world = await withTurns(t);
  writeFileSync(join(world.copy, "kept"), "before");
  const before = readdirSync(world.copy);
  const failed = await world.run(["session", "export", "01999999-9999-7999-8999-999999999999", "-o", "kept"]);
  assert.equal(failed.exit, 1);
  assert.equal(readFileSync(join(world.copy, "kept"), "utf8"), "before");
  assert.deepEqual(readdirSync(world.copy), before);
  assert.ok(!existsSync(join(world.copy, "absent")));
});

test("[O8] [L1] without the histories of the other tool, the fix is the command that names them", async (t) => {
  const world = await cliWorld(t);
  const { exit, stderr } = await world.run(["session", "import", "--from", "codex"], { env: { HOME: world.dataDir } });
  assert.equal(exit, 2);
  assert.match(
    stderr,
    /is not a file or folder \(usage\)\nfix: .*: aptove session import <file or folder> --from codex\n$/,
  );
});

test("[O8] [L1] a file of another tool is refused with what to name instead, and without its length", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["ask", "hello"]);
  assert.equal((await world.run(["session", "export", "last", "-o", "x.aptove"])).exit, 0);
  const { exit, stderr } = await world.run(["session", "import", "--from", "gemini", "x.aptove"]);
  assert.equal(exit, 1);
  assert.match(
    stderr,
    /^error: \S+x\.aptove is not a history of gemini \(import_invalid\)\nfix: name a file that this tool wrote/,
  );
});
