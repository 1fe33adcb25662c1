/**
 * The filters of contents that a repository's configuration names. Each is a program that git would run when it compares files, so
 * each is switched off by its name.
 *
 * The names are remembered as long as every file that git can read them from is unchanged: a turn in a repository compares files
 * once or twice, and git needs as long for the names as for the files.
 */
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { BoundedCache } from "../bounded-cache.ts";
import type { GitEnvironment, GitRun } from "./git-call.ts";
import { runGitCall } from "./git-run.ts";

const outputBytesMax = 1_048_576;
const filtersMax = 1_000;
const repositoriesMax = 1_000;
/** git's own folder for the configuration of the machine is not known everywhere, so a change there counts after this time. */
const rememberedMs = 600_000;
/** Two changes within a tick of the file system's clock have the same time. A file that has just changed may change again unseen. */
const settledMs = 2_000;

type Names = readonly string[];
type NoNames = { outcome: "missing" } | { outcome: "failed"; reason: string };

interface RememberedNames {
  names: Names;
  /** What the names were read from. */
  sources: string;
  until: number;
}

const remembered = new BoundedCache<RememberedNames>(repositoriesMax);

/** Returns the names of all filters that are configured for a repository, from whichever file. `args` are the options of every call. */
export async function filterNames(
  call: Pick<GitRun, "args" | "cwd" | "env" | "root">,
  signal?: AbortSignal,
): Promise<Names | NoNames> {
  const { root, env } = call;
  const sources = sourcesOf(root, env);
  const known = remembered.get(root);
  if (known !== undefined && known.sources === sources && Date.now() < known.until) return known.names;
  const args = [...call.args, "config", "-z", "--name-only", "--get-regexp", "^(filter|include|includeif)\\."];
  const ran = await runGitCall({ ...call, args, outputBytesMax, signal });
  if (ran.outcome === "missing") return ran;
  // 1: there are none.
  const isNone = ran.outcome === "ended" && ran.exit === 1 && ran.stdout === "";
  if (ran.outcome === "stopped" || (ran.exit !== 0 && !isNone))
    return { outcome: "failed", reason: "the filters of the repository cannot be read" };
  const keys = ran.stdout.split("\0").filter((key) => key !== "");
  const filters = keys.filter((key) => key.startsWith("filter."));
  const names = [...new Set(filters.map((key) => key.slice("filter.".length, key.lastIndexOf("."))))];
  // A name that is not text cannot be written to the environment, so its filter could not be replaced.
  const isUsable = names.length <= filtersMax && !names.some((name) => name.includes("\ufffd"));
  if (!isUsable) return { outcome: "failed", reason: "the filters of the repository cannot be switched off" };
  // What a file includes may depend on the branch, and is in files that are not looked at here.
  const isWhole = sources !== null && filters.length === keys.length && sourcesOf(root, env) === sources;
  if (isWhole) remembered.set(root, { names, sources, until: Date.now() + rememberedMs }, 1);
  else remembered.delete(root);
  return names;
}

/**
 * Describes what git reads the configuration of a repository from, unless that includes other files. Null if it is not known for
 * certain: a file has just changed or cannot be looked at, or the repository is not in the folder with its files.
 */
function sourcesOf(root: string, env: GitEnvironment): string | null {
  const settings = Object.entries(env).filter(([name]) => name.startsWith("GIT_CONFIG_"));
  try {
    if (statSync(join(root, ".git"), { throwIfNoEntry: false })?.isDirectory() !== true) return null;
    const files = configurationFiles(root, env);
    const states = files.map((file) => (isAbsolute(file) ? settledState(file) : null));
    return states.includes(null) ? null : JSON.stringify([settings, states]);
  } catch {
    // git is asked, and says what is wrong.
    return null;
  }
}

function configurationFiles(root: string, env: GitEnvironment): string[] {
  const own = join(root, ".git");
  const home = env["HOME"] ?? homedir();
  return [
    join(own, "config"),
    join(own, "config.worktree"),
    env["GIT_CONFIG_GLOBAL"] ?? join(home, ".gitconfig"),
    join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "git", "config"),
    env["GIT_CONFIG_SYSTEM"] ?? "/etc/gitconfig",
  ];
}

/** Returns what changes with a file. Null if it has changed within the last moments. */
function settledState(file: string): string | null {
  const stats = statSync(file, { throwIfNoEntry: false, bigint: true });
  if (stats === undefined) return file;
  const { dev, ino, size, mtimeNs, ctimeNs } = stats;
  if (ctimeNs > BigInt(Date.now() - settledMs) * 1_000_000n) return null;
  return [file, dev, ino, size, mtimeNs, ctimeNs].join(" ");
}

/**
 * Replaces each filter by one that does nothing. Variables of the environment keep name and value apart: in an option,
 * a name with an equals sign would be cut there.
 */
export function withoutFilters(env: GitEnvironment, filters: readonly string[]): GitEnvironment {
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
