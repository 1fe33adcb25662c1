/**
 * One run of Node's test runner: the tests see no keys, no configuration and no home of the person who runs them,
 * and must leave nothing behind: no file, no process.
 */
import { spawn } from "node:child_process";
import { existsSync, globSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { groupedTests } from "./groups.ts";
import { memoryFolder } from "./memory-folder.ts";
import { endProcessesOf } from "./processes.ts";
import { makeTestHome } from "./test-home.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** What Node made of the sources in an earlier process. It takes half the time of making it again (bin/run.cjs). */
const compiled = join(root, "node_modules", ".cache", "compiled");
/** Tests of whole programs take longest: where they come first, the last to end is a short one. */
const folders = ["testing", "scripts", "bench", "src", "web"];
/** One test that takes longer hangs. */
const testTimeoutMs = 60_000;
/** A run that takes longer hangs in a way that neither the runner nor the watch in each file sees. On a slow machine all tests take ten minutes. */
const runTimeoutMs = 1_800_000;

export interface TestRun {
  /** The end of the file names. */
  suffix: string;
  /** The number of files that run at the same time. */
  concurrency: number;
  /** True if the files of the tests may be in memory, where a sync costs nothing. Default: false. */
  inMemory?: boolean;
  /** Files and folders, and options of node --test. All test files by default. */
  args: readonly string[];
}

/** Returns the exit code. It is also 1 if the tests left something behind. */
export async function runTests({ suffix, concurrency, inMemory = false, args }: TestRun): Promise<number> {
  const { files, below, options } = sortArguments(args);
  const missing = args.find((argument, at) => isMissingPlace(argument, args[at - 1]));
  if (missing !== undefined) {
    // Otherwise every test would run in place of the one that was meant.
    console.error(
      `There is no file or folder ${missing}. Give the path of a test file, with its ending, or of a folder.`,
    );
    return 2;
  }
  const home = makeTestHome(process.env, (inMemory ? memoryFolder() : null) ?? tmpdir());
  const grouped = (places: readonly string[]): string[] =>
    groupedTests(testsBelow(places, suffix), { root, folder: join(home.mark, "groups") });
  const run = spawn(
    process.execPath,
    [
      "--import",
      new URL("./watch.ts", import.meta.url).href,
      "--test",
      `--test-concurrency=${concurrency}`,
      `--test-timeout=${testTimeoutMs}`,
      ...options,
      ...files,
      ...grouped(files.length + below.length > 0 ? below : folders),
    ],
    { cwd: root, env: { ...home.environment, NODE_COMPILE_CACHE: compiled }, stdio: "inherit" },
  );
  // The runner gets these too and ends its tests; this process stays to clean up after it.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => run.kill(signal));
  const timer = setTimeout(() => run.kill(), runTimeoutMs);
  const code = await new Promise<number>((resolve, reject) => {
    run.on("error", reject);
    run.on("exit", (exitCode) => resolve(exitCode ?? 1));
  });
  clearTimeout(timer);
  const left = [...(await endProcessesOf(home.mark)), ...home.leftBehind()];
  home.remove();
  for (const what of left) console.error(`The tests left behind: ${what}`);
  return code === 0 && left.length > 0 ? 1 : code;
}

interface Arguments {
  files: string[];
  below: string[];
  options: string[];
}

/** Separates files and folders, which exist, from the runner's options and their values. */
function sortArguments(args: readonly string[]): Arguments {
  const isPlace = (argument: string): boolean => !argument.startsWith("-") && existsSync(argument);
  const places = args.filter(isPlace).map((place) => relative(root, place));
  const isFolder = (place: string): boolean => statSync(join(root, place)).isDirectory();
  return {
    files: places.filter((place) => !isFolder(place)),
    below: places.filter(isFolder),
    options: args.filter((argument) => !isPlace(argument)),
  };
}

/** Returns true for what looks like a path, is none, and is not the value of the option before it. */
function isMissingPlace(argument: string, before = ""): boolean {
  const isValue = before.startsWith("--") && !before.includes("=");
  return argument.includes("/") && !argument.startsWith("-") && !isValue && !existsSync(argument);
}

function testsBelow(places: readonly string[], suffix: string): string[] {
  const options = { cwd: root, exclude: ["**/node_modules/**", "**/fixtures/**"] };
  return places.flatMap((place) => globSync(`${place === "" ? "." : place}/**/*${suffix}`, options).toSorted());
}
