import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import { TestTerminal } from "../../../../testing/terminal.ts";
import type { WireTurn } from "../../../client/client.ts";
import { sha256 } from "../../../domain/ids.ts";
import { scriptedProvider, type Script, type ScriptedProvider } from "../../../providers/scripted/scripted.ts";
import type { Tool } from "../../../tools/tool.ts";

const release = "---\nname: release\ndescription: Makes a release: tag, changelog.\n---\nRun release.sh.\n";

/** A model that reads a skill, then one of its other files, and then tries to leave its folder. */
const reading: Script = ({ items }) => {
  const calls = items.filter((item) => item.type === "tool_result").length;
  const files = [undefined, "references/form.md", "../../../src/greet.ts"];
  if (calls >= files.length) return "done";
  const file = files[calls];
  return [{ calls: "read_skill", callId: `c${calls}`, with: { name: "release", ...(file !== undefined && { file }) } }];
};

async function shop(
  t: TestContext,
  { script = reading, ...more }: { script?: Script; sessionTools?: Tool[] } = {},
): Promise<CliWorld & { provider: ScriptedProvider }> {
  const provider = scriptedProvider({ name: "offline", remembers: false, script });
  const world = await cliWorld(t, { providers: [provider], ...more });
  await world.write(".agents/skills/release/SKILL.md", release);
  await world.write(".agents/skills/release/references/form.md", "the form");
  await world.write(".claude/skills/release/SKILL.md", release);
  await world.write(".codex/skills/broken/SKILL.md", "# nothing");
  return { ...world, provider };
}

function writeOwn({ dataDir }: CliWorld, path: string, text: string): void {
  const file = join(dataDir, "workspaces/default/skills", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

test("[M4] [L1] skill list and show name what sessions here have, and what is wrong with the others", async (t) => {
  const world = await shop(t);
  const from = { cwd: join(world.copy, "src") };
  const { stdout, stderr } = await world.run(["skill", "list"], from);
  assert.equal(stdout, "release  repository  .agents/skills/release/SKILL.md  Makes a release: tag, changelog.\n");
  assert.equal(
    stderr,
    "not offered: 2 skills\n" +
      "  .claude/skills/release/SKILL.md: it is the same as .agents/skills/release/SKILL.md\n" +
      "  .codex/skills/broken/SKILL.md: it does not begin with front matter between two lines of ---\n",
  );
  const shown = await world.run(["skill", "show", "release"], from);
  assert.equal(shown.stdout, release);
  assert.match(
    shown.stderr,
    new RegExp(`^\\.agents/skills/release/SKILL\\.md of the repository, .*${sha256(release)}`),
  );
  const broken = await world.run(["skill", "show", "broken"], from);
  assert.deepEqual([broken.exit, broken.stdout], [1, ""]);
  assert.match(broken.stderr, /\.codex\/skills\/broken\/SKILL\.md is not offered, because it does not begin with/);
  writeOwn(world, "release/SKILL.md", "---\nname: release\ndescription: \u001b[31mMine\u001b[0m.\n---\n");
  const json = JSON.parse((await world.run(["skill", "list", "--json"], from)).stdout) as { skills: object[] };
  const own = "---\nname: release\ndescription: \u001b[31mMine\u001b[0m.\n---\n";
  assert.deepEqual(json.skills, [
    {
      name: "release",
      source: "workspace",
      path: "skills/release/SKILL.md",
      description: "[31mMine [0m.",
      sha256: sha256(own),
    },
  ]);
  assert.equal((await world.run(["skill", "list", "--workspace", "nope"], from)).exit, 1);
});

test("[M4] [V5] a chat offers the skills beside its own tools, also in the turn that brings their results", async (t) => {
  const script: Script = ({ items }) => {
    const outputs = items.flatMap((item) => (item.type === "tool_result" ? [item.output] : []));
    if (outputs.length === 0) return [{ calls: "look", callId: "c0", with: {} }];
    return outputs.length === 1 ? [{ calls: "read_skill", callId: "c1", with: { name: "release" } }] : "all done";
  };
  const look: Tool = {
    definition: { name: "look", parameters: { type: "object" }, effect: "read" },
    needsApproval: () => false,
    run: async () => ({ output: "looked", isError: false }),
  };
  const { provider, ...world } = await shop(t, { script, sessionTools: [look] });
  writeOwn(world, "own/SKILL.md", "---\ndescription: Mine.\n---\n");
  await world.run(["index"]);
  const terminal = new TestTerminal({ columns: 80, rows: 40 });
  const chat = world.start(["chat", "make a release"], { terminal, env: { TERM: "xterm", NO_COLOR: "1" } });
  await chat.saw("all done");
  chat.input.write("/quit\r");
  assert.equal((await chat.finished).exit, 0);
  assert.match(await terminal.text(), /skills: own, release/);
  const { call } = provider.exchanges.at(-1) ?? assert.fail();
  const tools = new Set(call.tools.map(({ name }) => name));
  assert.deepEqual([tools.has("look"), tools.has("read_skill")], [true, true]);
  const results = call.items.flatMap((item) => (item.type === "tool_result" ? [item.output] : []));
  assert.deepEqual([results[0], results[1]?.split("\n")[0]], ["looked", "Skill: release (repository)"]);
});

test("[M4] ask reads a skill and a file of it on this machine, and nothing outside of the skill's folder", async (t) => {
  const world = await shop(t);
  symlinkSync("../../../src/greet.ts", join(world.copy, ".agents/skills/release/linked.ts"));
  await world.run(["index"]);
  const asked = await world.run(["ask", "make a release"], { cwd: join(world.copy, "src") });
  assert.equal(asked.exit, 0, asked.stderr);
  assert.match(asked.stderr, /^skills: release$/m);
  assert.match(asked.stderr, /\.codex\/skills\/broken\/SKILL\.md is not offered.*skills_skipped/);
  const { call } = world.provider.exchanges.at(-1) ?? assert.fail();
  const outputs = call.items.flatMap((item) => (item.type === "tool_result" ? [item.output] : []));
  assert.match(outputs[0] ?? "", /which read_skill reads: references\/form\.md\n.*\n```markdown\n---\nname: release\n/);
  assert.match(outputs[1] ?? "", /^Skill: release \(repository\)\nPath: .*references\/form\.md\n[^]*the form/);
  assert.match(outputs[2] ?? "", /is not in the skill's folder/);
  const json = (await world.run(["session", "show", "--turn", "1", "--json"])).stdout;
  const { turn } = JSON.parse(json) as { turn: WireTurn };
  assert.deepEqual(
    turn.manifest.skills?.read?.map(({ path, contentHash }) => [path, contentHash]),
    [
      [".agents/skills/release/SKILL.md", sha256(release)],
      [".agents/skills/release/references/form.md", sha256("the form")],
    ],
  );
  const { stdout } = await world.run(["session", "show", "--turn", "1"]);
  assert.match(stdout, /\n {2}skills\n {4}release +repository: \.agents\/skills\/release\/SKILL\.md +\w{8} +offered\n/);
  assert.match(stdout, /\n {4}release +\.agents\/skills\/release\/references\/form\.md +\w{8} +read\n/);
});
