import assert from "node:assert/strict";
import { chmod, mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { limits } from "../../domain/limits.ts";
import { openSkillFolders } from "./skill-folders.ts";

async function repository(t: TestContext) {
  const folder = await realpath(await temporaryFolder(t));
  const root = join(folder, "shop");
  const write = async (path: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  await write(".agents/skills/pdf/SKILL.md", "---\ndescription: d\n---\n");
  const folders = openSkillFolders({ ofWorkspace: async () => [], closed: [{ folder: join(root, "data") }] });
  const skill = { root, path: ".agents/skills/pdf/SKILL.md" };
  return { folder, root, write, folders, skill };
}

test("[M4] [P5] a file is read only inside the skill's own folder, whatever paths and links say", async (t) => {
  const { folder, root, write, folders, skill } = await repository(t);
  await write(".agents/skills/pdf/references/forms.md", "forms");
  await write(".agents/skills/pdf/binary", new Uint8Array([0, 1]));
  await write(".agents/skills/other/SKILL.md", "other");
  await write(".env", "KEY=secret");
  await writeFile(join(folder, "secret"), "secret");
  const links: [string, string][] = [
    ["env", "../../../.env"],
    ["out", "../../../../secret"],
    ["up", ".."],
    ["gone", "nowhere"],
    ["inside", "references/forms.md"],
  ];
  for (const [name, target] of links) await symlink(target, join(root, ".agents/skills/pdf", name));
  const read = async (file: string): Promise<string> =>
    await folders.read(skill, file).then(
      ({ path, text }) => `${path}: ${text}`,
      (error: Error) => error.message,
    );
  assert.equal(await read("references/forms.md"), ".agents/skills/pdf/references/forms.md: forms");
  assert.equal(await read("inside"), ".agents/skills/pdf/references/forms.md: forms");
  const outside = [
    "../other/SKILL.md",
    "env",
    "out",
    "up/other/SKILL.md",
    "../../../.env",
    join(folder, "secret"),
    "..",
  ];
  for (const file of outside) assert.match(await read(file), /is not in the skill's folder$/, file);
  assert.match(await read("references"), /references is a folder/);
  assert.match(await read("binary"), /is not a text file/);
  assert.match(await read("gone"), /a link to something that does not exist/);
  assert.match(await read("forms.md"), /does not exist/);
  assert.match(await read("a\0b"), /NUL/);
  for (const file of [...outside, "gone", "forms.md"])
    assert.equal((await read(file)).includes(`${folder}/shop`), false);
});

test("[M4] a skill's folder is inside its root, and no folder that is closed", async (t) => {
  const { folder, root, write, folders, skill } = await repository(t);
  await mkdir(join(folder, "outside"));
  await writeFile(join(folder, "outside/x.md"), "outside");
  await symlink("../../../outside", join(root, ".agents/skills/out"));
  await write("data/skills/x/x.md", "closed");
  await write("x.md", "top");
  for (const path of [".agents/skills/out/SKILL.md", "data/skills/x/SKILL.md", "../outside/SKILL.md", "SKILL.md"]) {
    await assert.rejects(folders.read({ root, path }, "x.md"), path);
    assert.deepEqual(await folders.list({ root, path }), [], path);
  }
  assert.deepEqual(await folders.list(skill), []);
});

test("[M4] the other files are listed, bounded, without links and hidden ones; nothing is run", async (t) => {
  const { root, write, folders, skill } = await repository(t);
  await write(".agents/skills/pdf/scripts/run.sh", '#!/bin/sh\ntouch "$(dirname "$0")/ran"\n');
  await chmod(join(root, ".agents/skills/pdf/scripts/run.sh"), 0o755);
  await write(".agents/skills/pdf/references/forms.md", "forms");
  await write(".agents/skills/pdf/.hidden/x", "hidden");
  await symlink("../../..", join(root, ".agents/skills/pdf/loop"));
  assert.deepEqual(await folders.list(skill), ["references/forms.md", "scripts/run.sh"]);
  assert.match((await folders.read(skill, "scripts/run.sh")).text, /^#!/);
  assert.deepEqual(await folders.list(skill), ["references/forms.md", "scripts/run.sh"]);
  for (let at = 100; at < 200; at += 1) await write(`.agents/skills/pdf/many/f${at}`, "");
  assert.equal((await folders.list(skill)).length, limits.skillFilesNamedMax);
});
