/**
 * `npm run check [-- step …]`: style as a program. Every step gives findings as `file:line rule message (fix)`;
 * any finding that scripts/check/exceptions.ts does not cover makes it end with 1.
 */
import { fileURLToPath } from "node:url";
import { checkDocs } from "./check/docs.ts";
import { checkErrorCodes } from "./check/error-codes.ts";
import { applyExceptions, exceptions } from "./check/exceptions.ts";
import { byPlace, type Finding, formatFinding } from "./check/finding.ts";
import { checkHabits } from "./check/habits.ts";
import { checkLock } from "./check/lock.ts";
import { checkMutants } from "./check/mutants.ts";
import { checkNames } from "./check/names.ts";
import { checkRules } from "./check/rules.ts";
import { checkSizes } from "./check/sizes.ts";
import { checkFormat, checkLint, checkTypes, checkUnused } from "./check/tools.ts";
import { readTree } from "./check/tree.ts";
import { checkWalls } from "./check/walls.ts";
import { checkWords } from "./check/words.ts";
import { readOptions, wrongUse } from "./read-options.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The steps, by the first part of their rules. Tools run beside each other; ours share one parsed tree. */
const tools = { types: checkTypes, lint: checkLint, format: checkFormat, unused: checkUnused };
const ours = {
  walls: checkWalls,
  sizes: checkSizes,
  habits: checkHabits,
  names: checkNames,
  words: checkWords,
  rules: checkRules,
  errors: checkErrorCodes,
  docs: checkDocs,
  lock: checkLock,
  mutants: checkMutants,
};
const allSteps = [...Object.keys(tools), ...Object.keys(ours)];

interface StepResult {
  step: string;
  findings: Finding[];
  milliseconds: number;
}

async function timed(step: string, check: () => Finding[] | Promise<Finding[]>): Promise<StepResult> {
  const start = performance.now();
  const findings = await check();
  return { step, findings, milliseconds: performance.now() - start };
}

async function main(steps: string[]): Promise<void> {
  const unknown = steps.filter((step) => !allSteps.includes(step));
  if (unknown.length > 0) wrongUse(`There is no step ${unknown.join(", ")}; there are ${allSteps.join(", ")}.`);
  const isAsked = ([step]: [string, unknown]): boolean => steps.length === 0 || steps.includes(step);
  const running = Object.entries(tools)
    .filter(isAsked)
    .map(([step, check]) => timed(step, () => check(root)));
  const tree = readTree(root);
  const results = await Promise.all([
    ...running,
    ...Object.entries(ours)
      .filter(isAsked)
      .map(([step, check]) => timed(step, () => check(tree))),
  ]);
  report(results);
}

function report(results: StepResult[]): void {
  const steps = results.map((result) => result.step);
  const findings = applyExceptions(
    results.flatMap((result) => result.findings),
    { list: exceptions, steps },
  );
  for (const finding of findings.toSorted(byPlace)) console.log(formatFinding(finding));
  if (findings.length > 0) console.log("");
  for (const { step, milliseconds } of results) {
    const count = findings.filter((finding) => finding.rule.startsWith(`${step}/`)).length;
    console.log(`${count === 0 ? "ok" : String(count)}`.padStart(4), step.padEnd(7), `${Math.round(milliseconds)} ms`);
  }
  console.log(findings.length === 0 ? "\nNothing found." : `\n${findings.length} found.`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

const usage = `npm run check -- [step …]\n\nThe steps are ${allSteps.join(", ")}. Without one, all of them run.`;
await main(readOptions(usage, { allowPositionals: true }).positionals);
