/** Puts faults into a copy of the sources and runs the tests that must notice them. */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mutated, staleness, type Mutant } from "./mutant.ts";
import { scratchCopy } from "./scratch-copy.ts";

export interface MutantRun {
  /** The folder of the sources. They stay as they are. */
  root: string;
  tell(line: string): void;
  stop: AbortSignal;
}

/** The time for the tests of one fault, in milliseconds. A fault may make a test wait for ever: that is noticed too. */
const testsMs = 120_000;
const testMs = 60_000;

/** Returns true if every edit applies and the tests noticed every fault. */
export async function runMutants(mutants: readonly Mutant[], { root, tell, stop }: MutantRun): Promise<boolean> {
  const stale = mutants.flatMap((mutant) => staleness(mutant, readFileSync(join(root, mutant.file), "utf8")) ?? []);
  if (stale.length > 0) {
    tell(`${stale.join("\n")}\ncorrect these entries in scripts/mutants/`);
    return false;
  }
  const copy = await scratchCopy(root);
  try {
    const files = [...new Set(mutants.flatMap(({ tests }) => tests))];
    tell(`${mutants.length} faults; first ${files.length} test files without any`);
    const sound = await runTests(copy.dir, files, { stop, limitMs: files.length * testsMs });
    if (!sound.passed) {
      tell(`the tests fail without a fault:\n${sound.output}`);
      return false;
    }
    const survivors: string[] = [];
    for (const [at, mutant] of mutants.entries()) {
      const from = performance.now();
      const { passed } = await runWith(copy.dir, mutant, stop);
      if (stop.aborted) return false;
      const seconds = ((performance.now() - from) / 1_000).toFixed(1);
      tell(`[${at + 1}/${mutants.length}] ${passed ? "SURVIVED" : "noticed "} ${mutant.name} (${seconds} s)`);
      if (passed) survivors.push(`${mutant.name}: ${mutant.does}\n  not noticed by ${mutant.tests.join(", ")}`);
    }
    if (survivors.length === 0) tell(`all ${mutants.length} faults are noticed`);
    else tell(`${survivors.length} of ${mutants.length} faults survive:\n${survivors.join("\n")}`);
    return survivors.length === 0;
  } finally {
    await copy.remove();
  }
}

async function runWith(dir: string, mutant: Mutant, stop: AbortSignal): Promise<{ passed: boolean }> {
  const path = join(dir, mutant.file);
  const source = readFileSync(path, "utf8");
  writeFileSync(path, mutated(mutant, source));
  try {
    return await runTests(dir, mutant.tests, { stop, limitMs: testsMs });
  } finally {
    writeFileSync(path, source);
  }
}

interface TestRun {
  stop: AbortSignal;
  limitMs: number;
}

/** Runs test files in a folder. Tests that do not end in time fail. */
async function runTests(
  dir: string,
  files: readonly string[],
  { stop, limitMs }: TestRun,
): Promise<{ passed: boolean; output: string }> {
  const { NODE_TEST_CONTEXT: _inTest, ...env } = process.env;
  const args = ["--test", "--test-reporter=dot", `--test-timeout=${testMs}`, ...files];
  const runner = spawn(process.execPath, args, {
    cwd: dir,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: process.platform !== "win32",
  });
  let output = "";
  for (const stream of [runner.stdout, runner.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => (output = (output + text).slice(-20_000)));
  }
  const ended = new Promise<number | null>((resolve) => runner.once("close", (code) => resolve(code)));
  const end = (): void => endFamily(runner.pid);
  const timer = setTimeout(end, limitMs);
  stop.addEventListener("abort", end);
  try {
    return { passed: (await ended) === 0, output };
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", end);
    // A test that broke off may have left processes behind.
    end();
  }
}

/** Kills a process and all that it started. */
function endFamily(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
  } catch (error) {
    // All of them have ended.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
