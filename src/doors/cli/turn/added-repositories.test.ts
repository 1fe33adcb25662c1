/** `ask` about several repositories (M7), through the command line. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import type { ExecuteAnswer } from "../../../client/client.ts";
import { scriptedProvider, type Script } from "../../../providers/scripted/scripted.ts";
import { sampleRepository, type SampleRepository } from "../../../retrieval/sample-repository.ts";

const own = "github.com/team/greeter";
const other = "github.com/team/web";

interface World extends CliWorld {
  web: SampleRepository;
}

async function world(t: TestContext, script?: Script): Promise<World> {
  const made = await cliWorld(t, script && { providers: [scriptedProvider({ name: "offline", script })] });
  const web = sampleRepository({
    "src/page.ts": '/** Shows the greeting of a person by name. */\nexport const page = "<p></p>";\n',
    "AGENTS.md": "Write pages as constants.\n",
  });
  t.after(() => web.remove());
  web.commit();
  web.git("remote", "add", "origin", `https://${other}.git`);
  made.git("remote", "add", "origin", `https://${own}.git`);
  return { ...made, web };
}

async function asked(on: CliWorld, ...argv: string[]): Promise<ExecuteAnswer> {
  const { exit, stdout, stderr } = await on.run(["ask", "--json", ...argv]);
  assert.equal(exit, 0, stderr);
  return JSON.parse(stdout) as ExecuteAnswer;
}

function sources({ sources: found }: ExecuteAnswer): string[] {
  return [...new Set(found.map(({ path }) => path.slice(0, path.indexOf(":"))))].toSorted();
}

const question = "how is a person greeted by name?";

test("[M7] a session about two repositories names both in its sources, and later turns need no option", async (t) => {
  const on = await world(t);
  const { web } = on;
  web.write({ "src/page.ts": '/** Shows the greeting of a person by name. */\nexport const page = "<b></b>";\n' });
  const first = await asked(on, "--add-dir", web.root, question);
  assert.deepEqual(sources(first), [own, other]);
  assert.deepEqual(first.warnings, []);
  const shown = await on.run(["session", "show", first.turnId, "--json"]);
  const { manifest } = (JSON.parse(shown.stdout) as { turn: { manifest: Record<string, { path: string }[]> } }).turn;
  assert.deepEqual(
    manifest["activeFiles"]?.map(({ path }) => path),
    [`${other}:src/page.ts`],
  );
  const listed = await on.run(["session", "list", "--json"]);
  const [session] = (JSON.parse(listed.stdout) as { sessions: { repo: string; otherRepos: string[]; id: string }[] })
    .sessions;
  assert.deepEqual([session?.repo, session?.otherRepos], [own, [other]]);
  const inText = await on.run(["session", "show", session?.id ?? ""]);
  assert.match(inText.stdout, /repositories +github\.com\/team\/greeter, github\.com\/team\/web/);
  assert.match((await on.run(["session", "list"])).stdout, /github\.com\/team\/greeter \+1/);
  const page = await on.run(["session", "export", session?.id ?? "", "--markdown"]);
  assert.match(page.stdout, /- Repositories: `github\.com\/team\/greeter`, `github\.com\/team\/web`/);
  const second = await asked(on, "--continue", "where is the page of a person's greeting?");
  assert.ok(sources(second).includes(other));
  const request = await on.run(["session", "show", second.turnId, "--request"]);
  assert.doesNotMatch(request.stdout, /no longer count/);
});

test("[M7] a repository that is removed while a session is about it is a warning, and the answer comes", async (t) => {
  const on = await world(t);
  await asked(on, "--add-dir", on.web.root, question);
  await rm(on.web.root, { recursive: true });
  const { warnings, kind } = await asked(on, "--continue", "and what is its name?");
  assert.deepEqual([kind, warnings.map(({ code }) => code)], ["answer", ["index_behind"]]);
});

test("[M7] the options refuse what is no repository, and what the session is not about", async (t) => {
  const on = await world(t);
  await mkdir(join(on.dataDir, "..", "plain"));
  const faults: [string[], RegExp][] = [
    [["--add-dir", join(on.dataDir, "..", "plain")], /--add-dir .*plain: it is in no git repository/],
    [["--add-dir", "gone"], /--add-dir gone: its repository cannot be read/],
    [["--add-dir", "src"], /"github.com\/team\/greeter" is given twice/],
    [["--add-repo", "x"], /one letter/],
  ];
  await on.run(["index"]);
  for (const [options, words] of faults) {
    const { exit, stderr } = await on.run(["ask", ...options, question]);
    assert.ok(exit !== 0 && words.test(stderr), `${options.join(" ")}: ${stderr}`);
  }
  await asked(on, question);
  const { exit, stderr } = await on.run(["ask", "--continue", "--add-dir", on.web.root, question]);
  assert.equal(exit, 1);
  assert.match(stderr, /its repositories are chosen when it begins/);
});

test("[M7] [X7] apply writes the changes of its folder's repository, and names the others", async (t) => {
  const files = [
    { path: `${own}:src/new.ts`, operation: "create", content: "one\n" },
    { path: `${other}:src/page.ts`, operation: "replace", content: "two\n" },
  ];
  const on = await world(t, () => `\`\`\`json\n${JSON.stringify({ root: ".", files })}\n\`\`\``);
  const { turnId } = await asked(on, "--mode", "edit", "--add-dir", on.web.root, "change both");
  const here = await on.run(["apply", turnId, "--yes"]);
  assert.deepEqual([here.exit, here.stderr.includes(`changes of ${other} are written by`)], [0, true]);
  assert.equal(readFileSync(join(on.copy, "src/new.ts"), "utf8"), "one\n");
  assert.equal(existsSync(join(on.copy, "src/page.ts")), false);
  const there = await on.run(["apply", turnId, "--yes"], { cwd: on.web.root });
  assert.equal(there.exit, 0, there.stderr);
  assert.equal(readFileSync(join(on.web.root, "src/page.ts"), "utf8"), "two\n");
  assert.equal(existsSync(join(on.web.root, "src/new.ts")), false);
});
