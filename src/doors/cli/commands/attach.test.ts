import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";

const noModel = { APTOVE_PROVIDER: "offline" };

async function ask({ run }: CliWorld, instruction: string, cwd?: string): Promise<string> {
  const options = { env: noModel, ...(cwd !== undefined && { cwd }) };
  const { exit, stdout, stderr } = await run(["ask", instruction, "--json"], options);
  assert.equal(exit, 0, stderr);
  return (JSON.parse(stdout) as { sessionId: string }).sessionId;
}

async function repoOf({ run }: CliWorld, id: string, cwd: string): Promise<string | null> {
  const { stdout } = await run(["session", "show", id, "--json"], { cwd });
  return (JSON.parse(stdout) as { session: { repo: string | null } }).session.repo;
}

test("[S7] [L1] sessions of a folder that was moved and got an origin are found by doctor, and attached", async (t) => {
  const world = await cliWorld(t);
  const { run, copy } = world;
  const id = await ask(world, "Where is the greeting?");
  assert.match((await run(["doctor"])).stdout, /^ok sessions +each is in a list$/m);

  const moved = join(copy, "..", "shop");
  world.git("remote", "add", "origin", "https://example.org/team/shop.git");
  renameSync(copy, moved);
  const here = { cwd: moved, env: noModel };
  assert.notEqual((await run(["ask", "--continue", "And now?"], here)).exit, 0);
  // Nothing says that the folder that is gone is this one, so the session must be named.
  const listed = await run(["doctor", "--attach", "--yes"], here);
  assert.equal(listed.exit, 0);
  assert.match(listed.stderr, new RegExp(`name those that belong here.*\\n.*${id.slice(-8)} .*its folder .* is gone`));
  assert.notEqual(await repoOf(world, id, moved), "example.org/team/shop");

  const attached = await run(["doctor", "--attach", id.slice(-8), "--yes"], here);
  assert.equal(attached.exit, 0, attached.stderr);
  assert.match(attached.stdout, /attached 1 session; see them: aptove session list/);
  assert.equal(await repoOf(world, id, moved), "example.org/team/shop");
  assert.equal((await run(["ask", "--continue", "And now?"], here)).exit, 0);
  assert.match((await run(["doctor"], here)).stdout, /^ok sessions/m);
});

test("[S7] [L1] doctor counts sessions of this folder that a new name hides; --attach asks, and --json changes nothing", async (t) => {
  const world = await cliWorld(t);
  const { run, copy } = world;
  const id = await ask(world, "Where is the greeting?");
  const old = await repoOf(world, id, copy);
  world.git("remote", "add", "origin", `https://example.org/team/${old ?? ""}.git`);
  const noted = await run(["doctor"]);
  assert.match(noted.stdout, /^-- sessions +1 session of this folder in no list\n {3}fix: .*aptove doctor --attach$/m);
  const json = JSON.parse((await run(["doctor", "--attach", "--json"])).stdout) as { sessions: object[]; attached: [] };
  assert.deepEqual(json.attached, []);
  assert.partialDeepStrictEqual(json.sessions, [{ id, causes: ["name_changed"], isCertain: true, repo: old }]);
  const unasked = await run(["doctor", "--attach"]);
  assert.equal(unasked.exit, 2);
  assert.match(unasked.stderr, /there is no terminal to ask.*: attach 1 session to .*--yes/s);
  const no = world.start(["doctor", "--attach"], { isTerminal: true });
  await no.saw("[y/N]");
  no.input.end("n\n");
  assert.match((await no.finished).stderr, /nothing was changed/);
  assert.equal(await repoOf(world, id, copy), old);
  const yes = await run(["doctor", "--attach", "--yes", "--json"]);
  assert.deepEqual((JSON.parse(yes.stdout) as { attached: string[] }).attached, [id]);
  assert.equal(await repoOf(world, id, copy), `example.org/team/${old ?? ""}`);
  assert.match((await run(["doctor", "--attach"])).stderr, /every session that belongs here is in a list/);
});

test("[L1] ids without --attach, and ids that are none of these sessions, are refused", async (t) => {
  const { run } = await cliWorld(t);
  assert.match((await run(["doctor", "abc"])).stderr, /only with --attach/);
  const unknown = await run(["doctor", "--attach", "abc"]);
  assert.equal(unknown.exit, 1);
  assert.match(unknown.stderr, /no list lacks a session abc/);
  const other = await run(["doctor", "--attach", "--server", "http://127.0.0.1:9", "--key", "k"]);
  assert.match(other.stderr, /attaching sessions works on this machine's own data/);
});
