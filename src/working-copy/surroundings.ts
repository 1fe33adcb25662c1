/**
 * What this machine knows of the surroundings of a session: the rules of the repository (M1), the place (M2) and the skills
 * (M4). No path outside of the repository is sent to a model, so that the name of a person's home stays here.
 */
import { realpathSync } from "node:fs";
import { relative, sep } from "node:path";
import type { Place, Surroundings } from "../domain/context.ts";
import type { SkillFile } from "../domain/skill.ts";
import { limits } from "../domain/limits.ts";
import { checkedOut } from "../system/git/git-head.ts";
import { locateRepository } from "../system/git/git-repository.ts";
import { askGit } from "../system/git/git.ts";
import { changesOf } from "./git.ts";
import { findRules } from "./rules.ts";
import { findSkills } from "./skills.ts";

/** Returns the surroundings of a folder. Never rejects. */
export async function surroundingsOf(folder: string): Promise<Required<Surroundings>> {
  return await readSurroundings(folder, changedFiles);
}

/**
 * Returns the surroundings of a folder. `changed` returns the files of the repository that differ from its last commit, or
 * null if that is unknown. Never rejects.
 */
export async function readSurroundings(
  folder: string,
  changed: (root: string) => Promise<readonly string[] | null>,
): Promise<Required<Surroundings>> {
  const own = realPathOf(folder);
  if (own === null) return { rules: null, place: null, skills: null };
  const repository = locateRepository(own);
  if (repository.outcome === "refused") return { rules: null, place: placeOf(".", null, null), skills: null };
  if (repository.outcome === "none") {
    return { rules: findRules(own, own), place: placeOf(".", null, null), skills: findSkills(own, own) };
  }
  const { root } = repository;
  const rules = findRules(root, own);
  const skills = findSkills(root, own);
  const [branch, paths] = await Promise.all([branchOf(root), changed(root)]);
  const below = relative(root, own).split(sep).join("/");
  return { rules, skills, place: placeOf(below === "" ? "." : below, branch, paths) };
}

/** Returns the skills that sessions in a folder have from its repository (M4). Never throws. */
export function skillsOf(folder: string): SkillFile[] {
  const own = realPathOf(folder);
  const repository = own === null ? null : locateRepository(own);
  if (own === null || repository === null || repository.outcome === "refused") return [];
  return findSkills(repository.outcome === "none" ? own : repository.root, own);
}

function realPathOf(folder: string): string | null {
  try {
    return realpathSync.native(folder);
  } catch {
    return null;
  }
}

function placeOf(folder: string, branch: string | null, changed: readonly string[] | null): Place {
  const now = new Date();
  const two = (part: number): string => String(part).padStart(2, "0");
  const modified = changed === null ? null : changed.toSorted().slice(0, limits.placeFilesMax);
  return {
    folder,
    platform: process.platform,
    date: `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`,
    branch,
    modified,
    modifiedMore: (changed?.length ?? 0) - (modified?.length ?? 0),
  };
}

/** Returns the branch. Null: none is checked out, it has no commit, or git cannot say. */
async function branchOf(root: string): Promise<string | null> {
  const read = checkedOut(root);
  if (read !== null) return read.branch;
  const answer = await askGit({ folder: root, args: ["rev-parse", "--abbrev-ref", "HEAD"], answerBytesMax: 65_536 });
  const name = answer.outcome === "answered" ? answer.text.trim() : "";
  return name === "" || name === "HEAD" ? null : name;
}

async function changedFiles(root: string): Promise<string[] | null> {
  const changes = await changesOf(root);
  return changes === null ? null : [...changes.modified, ...changes.removed.map(({ path }) => path)];
}
