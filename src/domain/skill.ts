/**
 * Skills (M4): folders with a file `SKILL.md` in the open Agent Skills form, YAML front matter with a name and a
 * description, and then instructions. Only names and descriptions are offered to a model, which reads the rest when a
 * task needs it.
 */
import { pathFault } from "./active-file.ts";
import { frontMatterOf } from "./front-matter.ts";
import { sha256 } from "./ids.ts";
import { limits } from "./limits.ts";
import { oneLine } from "./one-line.ts";

/** A `SKILL.md` as it is now. */
export interface SkillFile {
  /** The path relative to the top of the repository, or to the folder of the workspace, with forward slashes. */
  path: string;
  /** The text, or its beginning. Null if it cannot be used. */
  text: string | null;
  /** Why the file cannot be used. Absent: it can. */
  fault?: string;
  /** The folder of the engine's machine that `path` begins in. Absent: the skill's other files cannot be read there. */
  root?: string;
}

export type SkillSource = "repository" | "workspace";

/** A skill as a manifest names it. */
export interface SkillRef {
  name: string;
  source: SkillSource;
  path: string;
  /** SHA-256 of the text of `SKILL.md`. */
  contentHash: string;
}

/** A file of a skill that the model read. */
export interface SkillRead {
  name: string;
  /** The path of the file: of `SKILL.md`, or of another file in its folder. */
  path: string;
  contentHash: string;
}

/** The skills that the model was offered. */
export interface SkillsRef {
  /** The order is that of the list. */
  offered: SkillRef[];
  /** SHA-256 of the list as the model has it. */
  contentHash: string;
  /** False if an earlier message of the history has the same list. */
  wasSent: boolean;
  /** What the model read in this turn. Absent: nothing. */
  read?: SkillRead[];
}

/** A skill that can be offered. */
export interface Skill extends SkillRef {
  /** One line. */
  description: string;
  /** The text of `SKILL.md`, or its beginning. */
  text: string;
  /** True if the rest of the text is missing. */
  isCut: boolean;
  root: string | null;
}

/** A skill that is not offered. */
export interface UnusedSkill {
  source: SkillSource;
  path: string;
  /** Why it is not offered, as words that follow its path. */
  reason: string;
  /** True if its author wants it so, or if the same skill is offered from another path. Then there is no warning. */
  isMeant: boolean;
}

export interface ChosenSkills {
  skills: Skill[];
  unused: UnusedSkill[];
}

/**
 * Chooses what is offered. A skill of the workspace counts before one of the repository with the same name, because the
 * person wrote it. Among those of one source the first one counts.
 */
export function chooseSkills(files: Record<SkillSource, readonly SkillFile[]>): ChosenSkills {
  const byName = new Map<string, Skill>();
  const unused: UnusedSkill[] = [];
  let room: number = limits.skillsListCharactersMax;
  for (const source of ["workspace", "repository"] as const) {
    for (const [index, file] of files[source].entries()) {
      const skip = (reason: string, isMeant = false): void => {
        unused.push({ source, path: file.path, reason, isMeant });
      };
      const read = index < limits.skillsMax ? readSkill(file, source) : tooMany;
      if ("reason" in read) skip(read.reason, read.isMeant);
      else {
        const { skill } = read;
        const other = byName.get(skill.name);
        const length = skillLine(skill).length + 1;
        if (other?.contentHash === skill.contentHash) skip(`it is the same as ${other.path}`, true);
        else if (other !== undefined) skip(`${other.path} has the same name and counts`);
        else if (length > room) skip(`the list of skills has no room for it`);
        else {
          byName.set(skill.name, skill);
          room -= length;
        }
      }
    }
  }
  return { skills: [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)), unused };
}

const tooMany = { reason: `there are more than ${limits.skillsMax} skills`, isMeant: false };

/** Returns the line of the list that offers the skill. */
export function skillLine({ name, source, description }: Pick<Skill, "name" | "source" | "description">): string {
  return `- ${name} (${source}): ${description}`;
}

type ReadSkill = { skill: Skill } | { reason: string; isMeant: boolean };

const namePattern = /^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u;

function readSkill({ path, text, fault, root }: SkillFile, source: SkillSource): ReadSkill {
  const unfit = (reason: string): ReadSkill => ({ reason, isMeant: false });
  if (text === null) return unfit(fault ?? "the file cannot be read");
  if (text.includes("\u0000")) return unfit("the file is not text");
  const whole = plain(text);
  const front = frontMatterOf(whole);
  if (front === null) return unfit("it does not begin with front matter between two lines of ---");
  if (front.get("disable-model-invocation") === "true") {
    return { reason: "its front matter says disable-model-invocation", isMeant: true };
  }
  const name = oneLine(front.get("name") ?? "") || (path.split("/").at(-2) ?? "");
  if (!namePattern.test(name) || name.length > limits.skillNameCharactersMax) {
    return unfit(`its name is not 1 to ${limits.skillNameCharactersMax} letters, digits, ".", "_" or "-"`);
  }
  const description = oneLine(front.get("description") ?? "");
  if (description === "") return unfit("its front matter has no description");
  const { text: bounded, isCut } = cut(whole);
  return {
    skill: {
      name,
      source,
      path,
      contentHash: sha256(bounded),
      description: shortened(description),
      text: bounded,
      isCut,
      root: root ?? null,
    },
  };
}

/** Returns the text without byte order mark and with line feeds, so that a checkout with other line ends is the same. */
function plain(text: string): string {
  return text
    .replace(/^\uFEFF/, "")
    .replace(/\r\n?/g, "\n")
    .toWellFormed();
}

function shortened(description: string): string {
  const max = limits.skillDescriptionCharactersMax;
  return description.length <= max ? description : `${description.slice(0, max - 1).toWellFormed()}…`;
}

const cutMark = "[… the rest of this file is left out …]\n";

function cut(text: string): { text: string; isCut: boolean } {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= limits.skillFileBytesMax) return { text, isCut: text.endsWith(cutMark) };
  // A character that the cut divides is left out.
  const head = new TextDecoder().decode(bytes.subarray(0, limits.skillFileBytesMax), { stream: true });
  const lastLine = head.lastIndexOf("\n");
  return { text: `${lastLine > 0 ? head.slice(0, lastLine + 1) : `${head}\n`}${cutMark}`, isCut: true };
}

/** Returns why this cannot be the path of a skill, as words that follow it. Null: it can. */
export function skillPathFault(path: string): string | null {
  const fault = pathFault(path);
  if (fault !== null) return fault;
  const segments = path.split("/");
  return segments.length > 1 && segments.at(-1) === skillFileName
    ? null
    : `does not name a ${skillFileName} in a folder`;
}

export const skillFileName = "SKILL.md";
