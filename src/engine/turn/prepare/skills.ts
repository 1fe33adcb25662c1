/**
 * The skills of a turn (M4): those of the repository, which the client sends or the engine reads, and those of the
 * workspace. The model is offered their names and descriptions, and reads the rest with a tool when a task needs it.
 */
import type { Warning } from "../../../domain/errors.ts";
import { sha256 } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import { knownSkills, skillsHeader, type State } from "../../../domain/lineage.ts";
import {
  chooseSkills,
  skillPathFault,
  type Skill,
  type SkillFile,
  type SkillRead,
  type SkillsRef,
} from "../../../domain/skill.ts";
import { describedTool } from "../../../tools/described-tool.ts";
import { textArgument, toolParameters, wholeArgument } from "../../../tools/parameters.ts";
import type { SkillFolders } from "../../../tools/skill-folders.ts";
import type { Tool } from "../../../tools/tool.ts";
import { ToolFault } from "../../../tools/tool-fault.ts";
import { line } from "../request/context-block.ts";
import { readSkillTool, skillResult, skillsBlock } from "../request/skills-block.ts";

/** The skills of one turn. */
export interface TurnSkills {
  /** Empty: none are offered. */
  skills: readonly Skill[];
  warnings: Warning[];
  /** What the model has read in this turn. */
  read: SkillRead[];
}

export const noSkills: Omit<TurnSkills, "read"> = { skills: [], warnings: [] };

interface SkillsInput {
  /** The skills of the repository. */
  repository: readonly SkillFile[];
  /** The folder of this machine that their paths begin in, if they name none themselves. Null: they are on another machine. */
  root: string | null;
  /** The workspace whose skills are read. Null: none is. */
  workspaceId: string | null;
}

/** Returns the skills that a turn offers. Never throws: a skill that cannot be offered has a warning. */
export async function offeredSkills(
  folders: SkillFolders | undefined,
  { repository, root, workspaceId }: SkillsInput,
): Promise<TurnSkills> {
  const own = workspaceId === null ? [] : ((await folders?.ofWorkspace(workspaceId)) ?? []);
  if (own.length + repository.length === 0) return { ...noSkills, read: [] };
  const { skills, unused } = chooseSkills({
    workspace: own,
    repository: repository.map((file) => checkedFile({ ...file, ...withRoot(file, root) })),
  });
  const skipped = unused.filter(({ isMeant }) => !isMeant);
  const warnings: Warning[] = [
    ...skipped.map(({ path, reason }) =>
      warning("skills_skipped", `the skill ${line(path)} is not offered: ${reason}`),
    ),
    ...skills.filter(({ isCut }) => isCut).map(({ path }) => warning("skills_cut", cutMessage(path))),
  ];
  return { skills, warnings: bounded(warnings), read: [] };
}

function warning(code: Warning["code"], message: string): Warning {
  return { code, message };
}

function cutMessage(path: string): string {
  return `${line(path)} is longer than the limit for skills, and only its beginning can be read`;
}

function bounded(warnings: Warning[]): Warning[] {
  const more = warnings.length - limits.skillWarningsMax;
  if (more <= 0) return warnings;
  const shown = warnings.slice(0, limits.skillWarningsMax);
  return [...shown, warning("skills_skipped", `${more} more skills have faults: aptove skill list`)];
}

function withRoot({ root: own }: SkillFile, root: string | null): Pick<SkillFile, "root"> {
  const found = own ?? root;
  return found === null ? {} : { root: found };
}

/** A path from outside must name a `SKILL.md` inside the repository. */
function checkedFile(file: SkillFile): SkillFile {
  if (file.text === null) return file;
  const fault = skillPathFault(file.path);
  return fault === null ? file : { ...file, text: null, fault: `its path ${fault}` };
}

/** Returns the folders of the repository that have the skills, with a slash at the end. */
export function skillFoldersOf({ skills }: TurnSkills): string[] {
  return skills.flatMap(({ source, path }) =>
    source === "repository" ? [path.slice(0, path.lastIndexOf("/") + 1)] : [],
  );
}

/** What the message says about skills. */
export interface SkillsNews {
  /** Null: there is nothing to say, or the model has the same list. */
  skills: string | null;
  /** The list that the model has with this message. Null: it has none. */
  hasSkills: string | null;
}

/** Compares the list with the one that the model has from the history, or from its message. */
export function skillsNews(
  { skills }: Pick<TurnSkills, "skills">,
  { state, message, mayBeSent }: { state: State; message: readonly string[]; mayBeSent: boolean },
): SkillsNews {
  const known = message.find((text) => text.startsWith(skillsHeader)) ?? knownSkills(state);
  if (known === null && skills.length === 0) return { skills: null, hasSkills: null };
  const block = skillsBlock(skills);
  if (block === known) return { skills: null, hasSkills: known };
  return mayBeSent ? { skills: block, hasSkills: block } : { skills: null, hasSkills: known };
}

/** Returns what the manifest keeps. */
export function skillsRef({ skills }: TurnSkills, news: SkillsNews): SkillsRef | null {
  if (news.hasSkills === null || skills.length === 0) return null;
  return {
    offered: skills.map(({ name, source, path, contentHash }) => ({ name, source, path, contentHash })),
    contentHash: sha256(news.hasSkills),
    wasSent: news.skills !== null,
  };
}

const parameters = toolParameters(() => ({
  name: textArgument("The skill, as [SKILLS] names it."),
  file: textArgument("Another file of it, relative to its folder. Absent: its SKILL.md.").optional(),
  offset: wholeArgument("The first character, counted from 0.", { min: 0 }).optional(),
}));

const about =
  "Read a skill that fits the task: its instructions, or another text file of it. It only reads: no script is run. A long text comes in pieces; the last line tells how to continue.";

/** Makes the tool that reads the skills of a turn. */
export function skillTool(folders: SkillFolders | undefined, turn: TurnSkills): Tool {
  return describedTool({
    name: readSkillTool,
    about,
    effect: "read",
    parameters,
    view: async ({ name, file }) => ({
      title: `Read the skill ${line(name)}${file === undefined ? "" : `: ${line(file)}`}`,
      kind: "read",
      locations: [],
      content: [],
      permission: null,
    }),
    run: async ({ name, file, offset = 0 }) => {
      const skill = turn.skills.find((each) => each.name === name);
      if (skill === undefined) throw new ToolFault(`there is no skill ${JSON.stringify(name)}; ${names(turn.skills)}`);
      const isOther = file !== undefined && file !== "SKILL.md";
      const { text, path } = isOther ? await otherFile(folders, skill, file) : skill;
      const contentHash = isOther ? sha256(text) : skill.contentHash;
      const piece = pieceOf(text, offset);
      const files = isOther || offset > 0 ? null : await filesOf(folders, skill);
      noteRead(turn.read, { name, path, contentHash });
      return { output: skillResult({ skill, path, contentHash, files, ...piece }), isError: false };
    },
  });
}

function names(skills: readonly Skill[]): string {
  return `the skills are: ${skills.map(({ name }) => name).join(", ") || "none"}`;
}

async function otherFile(
  folders: SkillFolders | undefined,
  { name, root, path }: Skill,
  file: string,
): Promise<{ text: string; path: string }> {
  if (root === null || folders === undefined) {
    const where = path.split("/").slice(0, -1).join("/");
    throw new ToolFault(
      `the other files of ${name} are on the client's machine, in ${line(where)}; read them with a tool that reads files there, if there is one`,
    );
  }
  return await folders.read({ root, path }, file);
}

async function filesOf(folders: SkillFolders | undefined, { root, path }: Skill): Promise<string[] | null> {
  return root === null || folders === undefined ? null : await folders.list({ root, path });
}

function noteRead(read: SkillRead[], one: SkillRead): void {
  const isKnown = read.some(({ path, contentHash }) => path === one.path && contentHash === one.contentHash);
  if (!isKnown) read.push(one);
}

function pieceOf(text: string, offset: number): { text: string; more: string | null } {
  if (offset > 0 && offset >= text.length) throw new ToolFault(`the file has only ${text.length} characters`);
  const end = Math.min(text.length, offset + limits.readCharactersMax);
  const more =
    end < text.length ? `(characters ${offset} to ${end} of ${text.length}; continue with offset ${end})` : null;
  return { text: text.slice(offset, end).toWellFormed(), more };
}
