import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, mkdir, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld } from "../../testing/cli.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import type { WireTurn } from "../client/client.ts";
import { limits } from "../domain/limits.ts";
import { surroundingsOf } from "./surroundings.ts";

/** A folder with a repository, and a way to write files into it. */
async function repository(t: TestContext) {
  const folder = await realpath(await temporaryFolder(t));
  const root = join(folder, "shop");
  const write = async (path: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  await write("src/deep/a.ts", "1");
  const git = (...args: string[]): void => void execFileSync("git", args, { cwd: root, stdio: "ignore" });
  git("init", "-q", "-b", "main");
  return { folder, root, write, git };
}

function found({ rules }: Awaited<ReturnType<typeof surroundingsOf>>): string[] {
  return (rules ?? []).map(({ path, text, fault }) => `${path}: ${text?.slice(0, 20) ?? fault}`);
}

test("[M1] each folder from the top of the repository down gives one file, and nothing above is read", async (t) => {
  const { folder, root, write } = await repository(t);
  await writeFile(join(folder, "AGENTS.md"), "above");
  await write("AGENTS.md", "top");
  await write("CLAUDE.md", "not this one");
  await write("src/GEMINI.md", "src");
  await write("src/deep/CLAUDE.md", "\uFEFFdeep");
  await write("other/AGENTS.md", "beside");
  assert.deepEqual(found(await surroundingsOf(join(root, "src/deep"))), [
    "AGENTS.md: top",
    "src/GEMINI.md: src",
    "src/deep/CLAUDE.md: deep",
  ]);
  assert.deepEqual(found(await surroundingsOf(root)), ["AGENTS.md: top"]);
  await symlink(join(root, "src"), join(folder, "linked"));
  assert.deepEqual(found(await surroundingsOf(join(folder, "linked"))), ["AGENTS.md: top", "src/GEMINI.md: src"]);
});

test("[M1] [P5] links out of the tree, pipes, binary files and huge files do no harm, and say why they are not used", async (t) => {
  const { folder, root, write } = await repository(t);
  await writeFile(join(folder, "secret.md"), "secret");
  await write(".env", "KEY=secret");
  await write("docs/rules.md", "shared");
  await write(".git/notes.md", "in git");
  const links: [folder: string, target: string][] = [
    ["a", "../../secret.md"],
    ["b", "../.env"],
    ["c", "../docs/rules.md"],
    ["d", "../.git/notes.md"],
    ["e", "nowhere.md"],
    ["f", "AGENTS.md"],
  ];
  for (const [at, target] of links) {
    await write(`${at}/x`, "");
    await symlink(target, join(root, at, "AGENTS.md"));
  }
  const faults = await Promise.all(links.map(async ([at]) => found(await surroundingsOf(join(root, at)))[0]));
  assert.deepEqual(faults, [
    "a/AGENTS.md: it is a link that leaves the repository",
    "b/AGENTS.md: it is a link to a file that is not Markdown",
    "c/AGENTS.md: shared",
    "d/AGENTS.md: it is a link into the folder of git",
    "e/AGENTS.md: it is a link to nothing",
    "f/AGENTS.md: it cannot be read (ELOOP)",
  ]);
  await write("g/AGENTS.md", "é".repeat(3_000_000));
  await write("h/AGENTS.md", new Uint8Array([1, 0, 2]));
  await write("i/AGENTS.md", new Uint8Array([0xff, 0xfe, 0x41]));
  await mkdir(join(root, "j/AGENTS.md"), { recursive: true });
  await write("k/x", "");
  execFileSync("mkfifo", [join(root, "k/AGENTS.md")]);
  const { rules: huge } = await surroundingsOf(join(root, "g"));
  const text = huge?.[0]?.text ?? assert.fail();
  assert.ok(text.length > limits.rulesFileBytesMax / 2 && text.length < limits.rulesFileBytesMax);
  assert.ok(text.isWellFormed() && !text.includes("\uFFFD"));
  const others = await Promise.all(
    ["h", "i", "j", "k"].map(async (at) => found(await surroundingsOf(join(root, at)))[0]),
  );
  assert.deepEqual(others, [
    "h/AGENTS.md: it is not text",
    "i/AGENTS.md: it is not UTF-8 text",
    "j/AGENTS.md: it is not a regular file",
    "k/AGENTS.md: it is not a regular file",
  ]);
  await write("l/AGENTS.md", "closed");
  await chmod(join(root, "l/AGENTS.md"), 0);
  // Who runs the tests as root can read everything.
  const closed = process.getuid?.() === 0 ? "l/AGENTS.md: closed" : "l/AGENTS.md: it cannot be read (EACCES)";
  assert.deepEqual(found(await surroundingsOf(join(root, "l"))), [closed]);
});

test("[M2] the place has the folder below the top, the branch and what git says is modified, and no path above", async (t) => {
  const { folder, root, write, git } = await repository(t);
  const before = (await surroundingsOf(join(root, "src"))).place;
  assert.deepEqual([before?.folder, before?.branch, before?.modified], ["src", null, null]);
  await write("b.ts", "2");
  git("add", ".");
  git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x");
  git("checkout", "-qb", "feature/x");
  await write("b.ts", "3");
  await rm(join(root, "src/deep/a.ts"));
  const { place } = await surroundingsOf(join(root, "src"));
  assert.deepEqual([place?.folder, place?.branch, place?.modified], ["src", "feature/x", ["b.ts", "src/deep/a.ts"]]);
  assert.match(place?.date ?? "", /^\d{4}-\d\d-\d\d$/);
  assert.equal(place?.platform, process.platform);
  assert.doesNotMatch(JSON.stringify(await surroundingsOf(join(root, "src"))), new RegExp(folder));
  git("checkout", "-q", "--detach");
  assert.equal((await surroundingsOf(root)).place?.branch, null);
  assert.equal((await surroundingsOf(folder)).place?.folder, ".");
  assert.deepEqual(await surroundingsOf(join(folder, "missing")), { rules: null, place: null, skills: null });
});

test("[M2] many modified files are counted, and only some are named", async (t) => {
  const { root, write, git } = await repository(t);
  const count = limits.placeFilesMax + 5;
  for (let at = 0; at < count; at += 1) await write(`f${at}`, "1");
  git("add", ".");
  git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x");
  for (let at = 0; at < count; at += 1) await write(`f${at}`, "22");
  const { place } = await surroundingsOf(root);
  assert.deepEqual([place?.modified?.length, place?.modifiedMore], [limits.placeFilesMax, 5]);
});

async function lastTurn(world: CliWorld): Promise<WireTurn> {
  const { stdout } = await world.run(["session", "show", "--json"]);
  return (JSON.parse(stdout) as { turn: WireTurn }).turn;
}

test("[M1] [M2] ask names the rules once, sends what changed, and session show tells both", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.write("AGENTS.md", "Greet in Latin.\n");
  const first = await world.run(["ask", "how is a user greeted?"]);
  assert.match(first.stderr, /^rules: AGENTS\.md$/m);
  const again = await world.run(["ask", "--continue", "and then?"]);
  assert.doesNotMatch(again.stderr, /rules/);
  await world.write("AGENTS.md", "Greet in Greek.\n");
  const changed = await world.run(["ask", "--continue", "and now?"]);
  assert.match(changed.stderr, /^rules changed: AGENTS\.md$/m);
  const { stdout } = await world.run(["session", "show"]);
  assert.match(stdout, /place: \., branch \S+, \w+, \d{4}-\d\d-\d\d, 0 files modified/);
  assert.match(
    stdout,
    /rules\n.*AGENTS\.md +16 B +in the boot prompt\n.*AGENTS\.md +new or changed, in the note of this turn/,
  );
  const { manifest } = await lastTurn(world);
  assert.deepEqual([manifest.rules?.files.length, manifest.rules?.changed?.length], [1, 1]);
  const elsewhere = await world.run(["ask", "--repo", "other/repo", "hello", "--context", "default"]);
  assert.doesNotMatch(elsewhere.stderr, /^rules:/m);
});
