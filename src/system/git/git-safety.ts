/**
 * What makes a call of git safe in a repository from a stranger: the only commands that are ever run, the options and
 * the environment. A repository names programs in its configuration: filters of contents, hooks, a watcher of files. The
 * commands here run no hook, because none of them writes. The watcher is switched off. Filters have names that the
 * repository chooses, so their names are read first and each is replaced by nothing.
 */
import assert from "node:assert/strict";
import { devNull } from "node:os";
import { delimiter, dirname } from "node:path";
import { locateRepository } from "./git-repository.ts";
import type { GitEnvironment } from "./git-call.ts";
import { runGitCall } from "./git-run.ts";

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

const filterNamesBytesMax = 1_048_576;
const filtersMax = 1_000;

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
  const ready: ReadyCall = { outcome: "ready", args: [...safeOptions, ...args], cwd: folder, env, root };
  if (!isComparing) return ready;
  const filters = await filterNames(ready, signal);
  if (!Array.isArray(filters)) return filters;
  return { ...ready, env: { ...env, ...withoutFilters(env, filters) } };
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
    ...Object.fromEntries(kept),
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

type ReadyCall = Extract<SafeCall, { outcome: "ready" }>;
type Names = string[] | Exclude<SafeCall, { outcome: "ready" }>;

/** Returns the names of all filters that are configured for a repository, from whichever file. */
async function filterNames(call: ReadyCall, signal?: AbortSignal): Promise<Names> {
  const args = [...safeOptions, "config", "-z", "--name-only", "--get-regexp", "^filter\\."];
  const ran = await runGitCall({ ...call, args, outputBytesMax: filterNamesBytesMax, signal });
  if (ran.outcome === "missing") return ran;
  // 1: there are none.
  if (ran.outcome === "ended" && ran.exit === 1 && ran.stdout === "") return [];
  if (ran.outcome === "stopped" || ran.exit !== 0)
    return { outcome: "failed", reason: "the filters of the repository cannot be read" };
  const keys = ran.stdout.split("\0").filter((key) => key !== "");
  const names = [...new Set(keys.map((key) => key.slice("filter.".length, key.lastIndexOf("."))))];
  // A name that is not text cannot be written to the environment, so its filter could not be replaced.
  const isUsable = names.length <= filtersMax && !names.some((name) => name.includes("\ufffd"));
  return isUsable ? names : { outcome: "failed", reason: "the filters of the repository cannot be switched off" };
}

/**
 * Replaces each filter by one that does nothing. Variables of the environment keep name and value apart: in an option,
 * a name with an equals sign would be cut there.
 */
function withoutFilters(env: GitEnvironment, filters: readonly string[]): GitEnvironment {
  const settings = filters.flatMap((name) => [
    ...["clean", "smudge", "process"].map((kind) => [`filter.${name}.${kind}`, ""]),
    [`filter.${name}.required`, "false"],
  ]);
  const first = Number(env["GIT_CONFIG_COUNT"] || 0);
  const variables = settings.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${first + at}`, key],
    [`GIT_CONFIG_VALUE_${first + at}`, value],
  ]);
  return { ...Object.fromEntries(variables), GIT_CONFIG_COUNT: String(first + settings.length) };
}
