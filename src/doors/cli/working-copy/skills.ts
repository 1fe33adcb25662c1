/** `aptove skill list | show` (M4): the skills of the folder in which the person works, and of a workspace. They are only read. */
import { join } from "node:path";
import { chooseSkills, type ChosenSkills, type Skill } from "../../../domain/skill.ts";
import { findWorkspaceSkills } from "../../../working-copy/skills.ts";
import { skillsOf } from "../../../working-copy/surroundings.ts";
import { defaultWorkspaceId } from "../../../workspace/workspace-store.ts";
import { CommandFailed, exitCodes, type ExitCode } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";
import { findWorkspace } from "../lookup/find-by-id.ts";
import { bytes } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";

export interface SkillOptions {
  workspace?: string;
}

export async function listSkills(invocation: CliInvocation, options: SkillOptions): Promise<ExitCode> {
  const { skills, unused } = await found(invocation, options);
  const { output } = invocation;
  if (invocation.json) {
    output.json({
      skills: skills.map(onWire),
      unused: unused.map(({ source, path, reason }) => ({ source, path, reason })),
    });
    return exitCodes.fine;
  }
  if (skills.length === 0)
    output.note("there are no skills here; a skill is a folder with a SKILL.md: .agents/skills/<name>/SKILL.md");
  output.table(skills.map(({ name, source, path, description }) => [name, source, path, description]));
  if (unused.length > 0) {
    output.note(`not offered: ${plural(unused.length, "skill")}`);
    for (const { path, reason } of unused) output.note(`  ${output.safeNote(path)}: ${output.safeNote(reason)}`);
  }
  return exitCodes.fine;
}

export async function showSkill(invocation: CliInvocation, name: string, options: SkillOptions): Promise<ExitCode> {
  const { skills, unused } = await found(invocation, options);
  const skill = skills.find((each) => each.name === name);
  const { output } = invocation;
  if (skill === undefined) {
    const broken = unused.find(({ path }) => path.split("/").at(-2) === name);
    const why = broken === undefined ? "" : `: ${broken.path} is not offered, because ${broken.reason}`;
    throw new CommandFailed("not_found", `there is no skill ${JSON.stringify(name)}${why}`, "see: aptove skill list");
  }
  if (invocation.json) output.json({ ...onWire(skill), text: skill.text });
  else {
    const size = bytes(Buffer.byteLength(skill.text));
    output.note(output.safeNote(`${skill.path} of the ${skill.source}, ${size}, sha256 ${skill.contentHash}`));
    output.write(`${skill.text.trimEnd()}\n`);
  }
  return exitCodes.fine;
}

function onWire({ name, source, path, description, contentHash }: Skill): object {
  return { name, source, path, description, sha256: contentHash };
}

async function found(invocation: CliInvocation, { workspace }: SkillOptions): Promise<ChosenSkills> {
  return chooseSkills({
    repository: skillsOf(invocation.io.cwd),
    workspace: await ofWorkspace(invocation, workspace),
  });
}

/** The workspaces of another server are not on this machine, and neither are their skills. */
async function ofWorkspace(
  invocation: CliInvocation,
  asked: string | undefined,
): Promise<ReturnType<typeof findWorkspaceSkills>> {
  if (invocation.server() !== null) {
    if (asked === undefined) return [];
    throw new CommandFailed(
      "not_found",
      "the workspaces of another server are not on this machine",
      "leave out --workspace",
    );
  }
  const isNamed = asked !== undefined && asked !== defaultWorkspaceId;
  const id = isNamed
    ? findWorkspace(await (await invocation.workspaces()).workspaces.list(), asked).id
    : defaultWorkspaceId;
  return findWorkspaceSkills(join(invocation.folder().workspaces, id));
}
