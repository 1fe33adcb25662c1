/**
 * What makes a call of git safe in a repository from a stranger: the only commands that are ever run, the options and
 * the environment. A repository names programs in its configuration: filters of contents, hooks, a watcher of files. The
 * commands here run no hook, because none of them writes. The watcher is switched off. Filters have names that the
 * repository chooses, so their names are read first and each is replaced by nothing (`git-filters.ts`).
 */
import assert from "node:assert/strict";
import { devNull } from "node:os";
import { delimiter, dirname, isAbsolute } from "node:path";
import { locateRepository } from "./git-repository.ts";
import type { GitEnvironment } from "./git-call.ts";
import { filterNames, withoutFilters } from "./git-filters.ts";

/** A call that is ready to be run, about the repository in `root`, or the reason why git is not asked. `missing`: git is not installed. */
export type SafeCall =
  | { outcome: "ready"; args: readonly string[]; cwd: string; env: GitEnvironment; root: string }
  | { outcome: "missing" }
  | { outcome: "failed"; reason: string };

/** Commands that read what git stores. None of them compares or changes files, so none runs a program of the repository. */
const readingCommands = new Set(["rev-parse", "config", "ls-files", "ls-tree", "cat-file", "rev-list"]);
/** Commands that read files of the working copy as git would store them, which is what filters are for. */
const comparingCommands = new Set(["diff-index", "hash-object"]);
/** Options with which a command would run programs, or would change something. */
const forbiddenOptions =
  /^(-p|-u|-m|-w|--patch.*|--ext-diff|--textconv|--filters|--modified|--path.*|--(add|unset|replace).*)$/;

/** Options in front of git's subcommand. */
const safeOptions: readonly string[] = [
  "--no-pager",
  // Disables the program that reports changed files, and all hooks.
  ...["-c", "core.fsmonitor=false"],
  ...["-c", `core.hooksPath=${devNull}`],
  // Ignores a folder of the repository that looks like git's own and has its own configuration. A clone can contain one.
  ...["-c", "safe.bareRepository=explicit"],
];

/** Prepares a call of git in a folder. Never rejects. */
export async function safeCall(folder: string, args: readonly string[], signal?: AbortSignal): Promise<SafeCall> {
  const [command = "", ...options] = args;
  const isComparing = comparingCommands.has(command);
  assert(isComparing || readingCommands.has(command), `git ${command} is not known to run no program`);
  assert(!options.some((option) => forbiddenOptions.test(option)), `git ${args.join(" ")} could run a program`);
  const place = locateRepository(folder);
  if (place.outcome === "refused") return { outcome: "failed", reason: place.reason };
  // git would start only to say this.
  if (place.outcome === "none") return { outcome: "failed", reason: "not a git repository" };
  const { root } = place;
  const env = safeEnvironment(process.env, root);
  const ready = { outcome: "ready" as const, args: [...safeOptions, ...args], cwd: folder, env, root };
  if (!isComparing) return ready;
  const filters = await filterNames({ ...ready, args: safeOptions }, signal);
  if ("outcome" in filters) return filters;
  return { ...ready, env: { ...env, ...withoutFilters(env, filters) } };
}

/** Drops the folders of a PATH that are relative: git is run in the repository, which may have a program of this name there. */
function absoluteOnly(path: string | undefined): string | undefined {
  return path?.split(delimiter).filter(isAbsolute).join(delimiter);
}

/**
 * Returns the environment without the variables that point git at another repository. The folder with the repository is
 * the working copy, whatever its configuration says, and no folder above it is searched.
 */
function safeEnvironment(own: GitEnvironment, root: string): GitEnvironment {
  // The user's own configuration stays in effect, and so does the folder at which git stops searching for a repository.
  const kept = Object.entries(own).filter(([name]) => !/^GIT_(?!CONFIG_|CEILING_)/.test(name));
  const ceilings = [dirname(root), own["GIT_CEILING_DIRECTORIES"] ?? ""];
  return {
    ...Object.fromEntries(kept.map(([name, value]) => [name, /^path$/i.test(name) ? absoluteOnly(value) : value])),
    GIT_WORK_TREE: root,
    GIT_CEILING_DIRECTORIES: ceilings.filter((path) => path !== "").join(delimiter),
    // Without these, programs that the repository names would fetch missing objects. Old versions of git know only the second
    // variable, which allows no protocol.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    LC_ALL: "C",
  };
}
