import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import { sha256 } from "../../../domain/ids.ts";

/** Asks the offline model, which understands edits of a few plain forms. */
async function propose(world: CliWorld, instruction: string, ...options: string[]): Promise<void> {
  const { exit, stderr } = await world.run(["ask", "--mode", "edit", ...options, instruction]);
  assert.equal(exit, 0, stderr);
  assert.match(stderr, /to change; write them with: aptove apply/);
}

async function bundleFile(world: CliWorld, files: unknown): Promise<string> {
  const path = join(world.dataDir, "..", "bundle.json");
  writeFileSync(path, JSON.stringify({ root: ".", files }));
  return path;
}

function textOf(world: CliWorld, path: string): string {
  return readFileSync(join(world.copy, path), "utf8");
}

const greetPatch = 'replace "hello" with "good day" in src/greet.ts';

test("[X7] [L1] apply shows the changes of the last turn and writes them", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await propose(world, `${greetPatch}\ndelete README.md\ncreate docs/new.md with:\n# New\n`, "-f", "src/greet.ts");
  const dry = await world.run(["apply", "--dry-run"]);
  assert.equal(dry.exit, 0);
  assert.match(dry.stdout, /-  return "hello " \+ name;\n\+  return "good day " \+ name;/);
  assert.match(dry.stdout, /--- a\/README.md\n\+\+\+ \/dev\/null/);
  assert.match(dry.stdout, /3 files would change; nothing was written\n$/);
  assert.match(textOf(world, "src/greet.ts"), /hello/);

  const { exit, stdout } = await world.run(["apply", "--yes"]);
  assert.equal(exit, 0);
  assert.match(stdout, /3 files written\n$/);
  assert.match(textOf(world, "src/greet.ts"), /good day/);
  assert.match(textOf(world, "docs/new.md"), /^# New/);
  assert.ok(!existsSync(join(world.copy, "README.md")));
  assert.equal(world.git("status", "--porcelain", "--ignored").includes("aptove"), false);
});

test("[X7] [L1] ask and apply print why changes are refused that no working copy may have", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const reason = 'path ".git/hooks/x" is inside .git';
  const { stderr } = await world.run(["ask", "--mode", "edit", "create .git/hooks/x with:\nx\n"]);
  assert.ok(stderr.includes(`warning: the proposed changes are not valid: ${reason}\n`), stderr);
  const applied = await world.run(["apply", "--yes"]);
  assert.equal(applied.exit, 1);
  assert.ok(applied.stderr.includes(`the turn proposes changes that are not valid: ${reason}`), applied.stderr);
  const chat = await world.run(["chat", "--mode", "edit"], { stdin: "create .git/hooks/x with: x\n" });
  assert.ok(chat.stderr.includes(reason), chat.stderr);
});

test("[X7] without a terminal apply writes only with --yes", async (t) => {
  const world = await cliWorld(t);
  const file = await bundleFile(world, [{ path: "a", operation: "create", content: "x" }]);
  const { exit, stderr } = await world.run(["apply", file]);
  assert.equal(exit, 2);
  assert.match(stderr, /there is no terminal to ask for confirmation.*\nfix: .*--yes/);
  assert.ok(!existsSync(join(world.copy, "a")));
});

test("[X7] on a terminal apply asks, and anything but yes means no", async (t) => {
  const world = await cliWorld(t);
  const file = await bundleFile(world, [{ path: "a", operation: "create", content: "x" }]);
  const answer = async (text: string) => {
    const call = world.start(["apply", file], { isTerminal: true, env: { NO_COLOR: "1" } });
    await call.saw("write 1 file? [y/N]");
    call.input.write(`${text}\n`);
    return (await call.finished).exit;
  };
  assert.equal(await answer(""), 1);
  assert.ok(!existsSync(join(world.copy, "a")));
  assert.equal(await answer("y"), 0);
  assert.equal(textOf(world, "a"), "x");
});

test("[X7] a file that changed since the model saw it is refused, and nothing of the bundle is written", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await propose(world, `${greetPatch}\ncreate new.txt with: x`, "-f", "src/greet.ts");
  await world.write("src/greet.ts", `${textOf(world, "src/greet.ts")}// hello\n`);
  const { exit, stderr } = await world.run(["apply", "--yes"]);
  assert.equal(exit, 1);
  assert.match(stderr, /nothing was written: src\/greet.ts changed since the answer was made \(file_bundle_conflict\)/);
  assert.ok(!existsSync(join(world.copy, "new.txt")));
});

test("[X7] a file that the model did not get whole is refused when it was changed later, until it is put back byte for byte", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await propose(world, greetPatch);
  const text = textOf(world, "src/greet.ts");
  await world.write("src/greet.ts", `${text}// hey\n`);
  const refused = await world.run(["apply", "--yes"]);
  assert.match(refused.stderr, /src\/greet.ts was written after the answer was made/);
  await world.write("src/greet.ts", text);
  assert.equal((await world.run(["apply", "--yes"])).exit, 0);
  assert.match(textOf(world, "src/greet.ts"), /good day/);
});

test("[X7] the time of a file decides where git does not know it", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.write("new.txt", "hello\n");
  await propose(world, 'replace "hello" with "good day" in new.txt');
  const path = join(world.copy, "new.txt");
  const later = new Date(Date.now() + 60_000);
  utimesSync(path, later, later);
  assert.match((await world.run(["apply", "--yes"])).stderr, /new.txt was written after the answer was made/);
  const earlier = new Date(Date.now() - 60_000);
  utimesSync(path, earlier, earlier);
  assert.equal((await world.run(["apply", "--yes"])).exit, 0);
});

test("[X7] a bundle whose content is already there changes nothing", async (t) => {
  const world = await cliWorld(t);
  const files = [{ path: "README.md", operation: "replace", content: "# Done\n" }];
  const file = await bundleFile(world, files);
  assert.equal((await world.run(["apply", file, "--yes"])).exit, 0);
  const again = await world.run(["apply", file]);
  assert.equal(again.exit, 0);
  assert.match(again.stdout, /nothing to do/);
});

test("[X7] a base hash that does not fit is a conflict; one that fits is not", async (t) => {
  const world = await cliWorld(t);
  const change = (baseSha256: string) => [{ path: "README.md", operation: "delete", baseSha256 }];
  const wrong = await world.run(["apply", await bundleFile(world, change(sha256("other"))), "--yes"]);
  assert.equal(wrong.exit, 1);
  const right = sha256(textOf(world, "README.md"));
  assert.equal((await world.run(["apply", await bundleFile(world, change(right)), "--yes"])).exit, 0);
});

test("[X5] [X7] nothing outside of the working copy, by dots or by links, and nothing in .git", async (t) => {
  const world = await cliWorld(t);
  const outside = join(world.dataDir, "..", "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "victim.txt"), "safe");
  symlinkSync(outside, join(world.copy, "way-out"));
  symlinkSync(join(outside, "victim.txt"), join(world.copy, "link.txt"));
  symlinkSync(".git", join(world.copy, "git-link"));
  const attempts: [string, RegExp][] = [
    ["../outside/victim.txt", /leaves the repository/],
    ["/etc/passwd", /is absolute/],
    ["way-out/victim.txt", /leads out of the working copy through a symbolic link/],
    ["way-out/deeper/new.txt", /leads out of the working copy through a symbolic link/],
    ["link.txt", /link.txt is a symbolic link/],
    [".git/hooks/pre-commit", /is inside .git/],
    ["git-link/hooks/pre-commit", /leads out of the working copy/],
    ["src", /src is not a file/],
    ["README.md/below", /README.md\/below is below a file/],
  ];
  for (const [path, expected] of attempts) {
    for (const operation of ["create", "replace"]) {
      const file = await bundleFile(world, [{ path, operation, content: "owned" }]);
      const { exit, stderr } = await world.run(["apply", file, "--yes"]);
      assert.equal(exit, 1, `${operation} ${path}`);
      assert.match(stderr, expected);
    }
  }
  assert.equal(readFileSync(join(outside, "victim.txt"), "utf8"), "safe");
});

test("[X7] two paths that are one file by a link are refused", async (t) => {
  const world = await cliWorld(t);
  symlinkSync("src", join(world.copy, "same"));
  const content = "x";
  const file = await bundleFile(world, [
    { path: "src/greet.ts", operation: "replace", content },
    { path: "same/greet.ts", operation: "replace", content },
  ]);
  const { exit, stderr } = await world.run(["apply", file, "--yes"]);
  assert.equal(exit, 1);
  assert.match(stderr, /same\/greet.ts is the same file as src\/greet.ts/);
});

test("[X7] a turn without a bundle, a damaged file and an absent one are errors with a fix", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["ask", "nothing to change"]);
  const none = await world.run(["apply"]);
  assert.equal(none.exit, 1);
  assert.match(none.stderr, /the turn proposes no changes \(file_bundle_invalid\)\nfix: ask for changes/);
  const damaged = join(world.dataDir, "..", "damaged.json");
  writeFileSync(damaged, "{");
  assert.match((await world.run(["apply", damaged])).stderr, /the file bundle is not valid: .*not valid JSON/);
  assert.equal((await world.run(["apply", "absent.json"])).exit, 2);
});

test("[X7] [L1] apply takes a turn by its id or the end of it, and speaks JSON", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await propose(world, "create one.txt with: 1");
  const shown = await world.run(["session", "show", "--json"]);
  const { turn } = JSON.parse(shown.stdout) as { turn: { id: string } };
  await world.run(["ask", "something else"]);
  const dry = await world.run(["apply", turn.id.slice(-8), "--dry-run", "--json"]);
  assert.deepEqual(JSON.parse(dry.stdout), { wouldApply: [{ path: "one.txt", change: "created" }] });
  const done = await world.run(["apply", turn.id, "--yes", "--json"]);
  assert.deepEqual(JSON.parse(done.stdout), { applied: [{ path: "one.txt", change: "created" }] });
});

test("[X7] an interrupted apply is rolled back before the next one", async (t) => {
  const world = await cliWorld(t);
  const staging = join(world.copy, ".aptove-apply");
  mkdirSync(staging);
  const old = textOf(world, "README.md");
  writeFileSync(join(staging, "old-0"), old);
  writeFileSync(
    join(staging, "journal.json"),
    JSON.stringify({ entries: [{ path: "README.md", before: sha256(old), after: sha256("half") }], folders: [] }),
  );
  await world.write("README.md", "half");
  const file = await bundleFile(world, [{ path: "a", operation: "create", content: "x" }]);
  const { exit, stderr } = await world.run(["apply", file, "--yes"]);
  assert.equal(exit, 0);
  assert.match(stderr, /an earlier apply was interrupted; 1 file restored/);
  assert.equal(textOf(world, "README.md"), old);
  assert.equal(textOf(world, "a"), "x");
});
