/**
 * Cases from a repository's own history: the message of a commit is the question, the tree of its parent is searched, and what the
 * commit changed is to be found. No labels are needed, and any language will do.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { changedFiles, kindOf, type ChangeKind, type LocalisationCase } from "./case.ts";

const filesMax = 5;
const wordsMin = 3;
/** Commits that say nothing about code, or whose diff is no answer to what they say. */
const emptySubject =
  /^(?:merge|revert|bump|release|version|changeset|update (?:dependenc|deps|lock|snapshot|changelog|contributors|sponsors)|format|formatting|lint|prettier|typos?\b|fix typos?|wip\b|v?\d+\.\d+|apply suggestions|rename|\[pre-commit|run (?:black|prettier|rustfmt|gofmt))|^(?:chore|style|ci|build|release)(?:\([^)]*\))?!?:|\bbump\b.*\b(?:from|to)\b|dependabot|renovate/i;

export interface HistoryOptions {
  folder: string;
  /** How many cases of each kind are chosen. */
  count: number;
}

interface Commit {
  id: string;
  parent: string;
  message: string;
}

/** Chooses commits by their hash, so that the choice does not depend on a person or on time. */
export function historyCases({ folder, count }: HistoryOptions): LocalisationCase[] {
  const left: Record<ChangeKind, number> = { code: count, tests: count, docs: count };
  const chosen: LocalisationCase[] = [];
  const order = (id: string): string => createHash("sha256").update(id).digest("hex");
  const commits = log(folder).filter(({ message }) => isQuestion(message));
  for (const commit of commits.toSorted((a, b) => (order(a.id) < order(b.id) ? -1 : 1))) {
    if (Object.values(left).every((each) => each === 0)) break;
    const found = caseOf(folder, commit);
    if (found === null || left[found.kind] === 0) continue;
    left[found.kind] -= 1;
    chosen.push(found);
  }
  return chosen;
}

/** Returns the cases of a frozen list. */
export function listedCases(folder: string, ids: readonly string[]): LocalisationCase[] {
  return ids.map((id) => {
    const text = git(folder, ["log", "-1", "--format=%P%x00%B", id]);
    const [parent = "", message = ""] = text.split("\0");
    const found = caseOf(folder, { id, parent, message: cleaned(message) });
    if (found === null) throw new Error(`${id} of ${folder} is no case any more`);
    return found;
  });
}

function log(folder: string): Commit[] {
  const text = git(folder, ["log", "--no-merges", "--format=%x01%H%x00%P%x00%B", "-n", "20000", "HEAD"]);
  return text
    .split("\u0001")
    .slice(1)
    .map((entry) => {
      const [id = "", parent = "", message = ""] = entry.split("\0");
      return { id, parent: parent.trim(), message: cleaned(message) };
    })
    .filter(({ parent }) => /^[0-9a-f]+$/.test(parent));
}

/** Removes what tools add to a message: trailers and numbers of requests. */
function cleaned(message: string): string {
  return message
    .replace(/^(?:[A-Z][\w-]+-by|Closes|Fixes|Refs?|PR-URL|Change-Id|Link|See|Ref)s?:? .*$/gim, "")
    .replace(/\s*\(?#\d+\)?/g, "")
    .replace(/https?:\/\/\S+/g, "")
    .trim();
}

function isQuestion(message: string): boolean {
  const [subject = ""] = message.split("\n");
  return !emptySubject.test(subject) && (subject.match(/\p{L}{2,}/gu)?.length ?? 0) >= wordsMin;
}

function caseOf(folder: string, { id, parent, message }: Commit): LocalisationCase | null {
  const diff = diffOf(folder, parent, id);
  if (diff === null) return null;
  const touched = changedFiles(diff).filter(({ path }) => path !== "/dev/null");
  const known = touched.map((file) => ({ file, kind: kindOf(file.path) }));
  const ofKind = (kind: ChangeKind) => known.filter((each) => each.kind === kind).map(({ file }) => file);
  const [code, tests, docs] = [ofKind("code"), ofKind("tests"), ofKind("docs")];
  const kind = code.length > 0 ? "code" : tests.length > 0 ? "tests" : "docs";
  const gold = { code, tests, docs }[kind].filter(({ path }) => !/change-?log|changes|history|news/i.test(path));
  const size = code.length > 0 ? code.length : tests.length + docs.length;
  if (gold.length === 0 || size > filesMax || touched.length > 4 * filesMax) return null;
  if (touched.some(({ path }) => names(message, path))) return null;
  return { id, commit: parent, question: message, kind, gold, touched: touched.map(({ path }) => path) };
}

/** Returns null if the clone lacks an object, or if the diff is too large to be an answer. */
function diffOf(folder: string, parent: string, id: string): string | null {
  try {
    return git(folder, ["diff", "--no-color", "--no-ext-diff", "--no-renames", "--unified=0", parent, id]);
  } catch {
    return null;
  }
}

/** Returns whether the message names the file, so that any search for names would find it. */
function names(message: string, path: string): boolean {
  const base = path.slice(path.lastIndexOf("/") + 1);
  return message.toLowerCase().includes(base.toLowerCase());
}

function git(folder: string, args: string[]): string {
  return execFileSync("git", args, {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 2 ** 30,
    stdio: ["ignore", "pipe", "ignore"],
  });
}
