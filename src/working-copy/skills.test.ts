import assert from "node:assert/strict";
import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { limits } from "../domain/limits.ts";
import type { SkillFile } from "../domain/skill.ts";
import { findSkills, findWorkspaceSkills } from "./skills.ts";
import { surroundingsOf } from "./surroundings.ts";

async function repository(t: TestContext) {
  const folder = await realpath(await temporaryFolder(t));
  const root = join(folder, "shop");
  const write = async (path: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  const link = async (path: string, target: string): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await symlink(target, join(root, path));
  };
  await write("src/deep/a.ts", "1");
  return { folder, root, write, link };
}

function found(files: readonly SkillFile[]): string[] {
  return files.map(({ path, text, fault }) => `${path}: ${text?.slice(0, 20) ?? fault}`);
}

test("[M4] skills are found from the working folder up to the top, the nearest first, in the order of the folders", async (t) => {
  const { folder, root, write } = await repository(t);
  await write(".github/skills/d/SKILL.md", "github");
  await write(".codex/skills/c/SKILL.md", "codex");
  await write(".claude/skills/b/SKILL.md", "claude");
  await write(".agents/skills/z/SKILL.md", "last name");
  await write(".agents/skills/a/SKILL.md", "agents");
  await write(".agents/skills/a/references/SKILL.md", "not a skill of its own");
  await write(".agents/skills/empty/README.md", "no skill");
  await write(".agents/skills/README.md", "no skill");
  await write("src/.claude/skills/near/SKILL.md", "near");
  await write("other/.agents/skills/beside/SKILL.md", "beside");
  await mkdir(join(folder, ".agents/skills/above"), { recursive: true });
  await writeFile(join(folder, ".agents/skills/above/SKILL.md"), "above");
  const files = findSkills(root, join(root, "src/deep"));
  assert.deepEqual(found(files), [
    "src/.claude/skills/near/SKILL.md: near",
    ".agents/skills/a/SKILL.md: agents",
    ".agents/skills/z/SKILL.md: last name",
    ".claude/skills/b/SKILL.md: claude",
    ".codex/skills/c/SKILL.md: codex",
    ".github/skills/d/SKILL.md: github",
  ]);
  assert.deepEqual(new Set(files.map((file) => file.root)), new Set([root]));
  assert.deepEqual((await surroundingsOf(join(root, "src"))).skills?.length, 1, "without git only the folder counts");
});

test("[M4] [P5] links out of the repository, binary and huge files do no harm, and say why they are not used", async (t) => {
  const { folder, root, write, link } = await repository(t);
  await writeFile(join(folder, "secret.md"), "secret");
  await mkdir(join(folder, "outside/x"), { recursive: true });
  await writeFile(join(folder, "outside/x/SKILL.md"), "outside");
  await write(".env", "KEY=secret");
  await write("shared/good/SKILL.md", "shared");
  await write(".agents/skills/binary/SKILL.md", new Uint8Array([0, 1]));
  await write(".agents/skills/folder/SKILL.md/x", "1");
  await write(".agents/skills/long/SKILL.md", "x".repeat(10 * limits.skillFileBytesMax));
  await link(".agents/skills/env/SKILL.md", "../../../.env");
  await link(".agents/skills/file/SKILL.md", "../../../../secret.md");
  await link(".agents/skills/good", "../../shared/good");
  await link(".agents/skills/gone", "../../nowhere");
  await link(".agents/skills/out", "../../../outside/x");
  await link(".claude/skills", "../../outside");
  const files = findSkills(root, root);
  assert.deepEqual(found(files), [
    ".agents/skills/binary/SKILL.md: it is not text",
    ".agents/skills/env/SKILL.md: it is a link to a file that is not Markdown",
    ".agents/skills/file/SKILL.md: it is a link that leaves the repository",
    ".agents/skills/folder/SKILL.md: it is not a regular file",
    ".agents/skills/good/SKILL.md: shared",
    `.agents/skills/long/SKILL.md: ${"x".repeat(20)}`,
    ".agents/skills/out/SKILL.md: it is a link that leaves the repository",
    ".claude/skills: it is a link that leaves the repository",
  ]);
  assert.equal(files[5]?.text?.length, limits.skillFileBytesMax + 1_024);
});

test("[M4] all skills together are bounded", async (t) => {
  const { root, write } = await repository(t);
  const text = "x".repeat(limits.skillFileBytesMax);
  for (let at = 10; at < 30; at += 1) await write(`.agents/skills/s${at}/SKILL.md`, text);
  const files = findSkills(root, root);
  assert.equal(files.filter((file) => file.text !== null).length, limits.skillsBytesMax / limits.skillFileBytesMax);
  assert.match(files.at(-1)?.fault ?? "", /all skills have more than/);
});

test("[M4] [W1] a workspace's skills are those of its folder `skills`", async (t) => {
  const { folder, root, write, link } = await repository(t);
  await write("skills/a/SKILL.md", "mine");
  await writeFile(join(folder, "secret.md"), "secret");
  await link("skills/b/SKILL.md", "../../../secret.md");
  assert.deepEqual(found(findWorkspaceSkills(root)), [
    "skills/a/SKILL.md: mine",
    "skills/b/SKILL.md: it is a link that leaves the workspace",
  ]);
  assert.deepEqual(findWorkspaceSkills(join(folder, "nowhere")), []);
});
