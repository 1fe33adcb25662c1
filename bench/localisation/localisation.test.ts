import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleRepository } from "../../src/retrieval/sample-repository.ts";
import { changedFiles, kindOf } from "./case.ts";
import { historyCases, listedCases } from "./history-cases.ts";
import { measureRepository, type CaseOutcome } from "./measure.ts";
import { figuresOf, formatComparison, formatReport } from "./report.ts";

test("a diff tells the files and lines of the former tree", () => {
  const diff = [
    "diff --git a/src/a.ts b/src/a.ts",
    "--- a/src/a.ts",
    "+++ b/src/a.ts",
    "@@ -3,2 +3 @@",
    "-one",
    "--- a/of-a-text.ts",
    "+two",
    "@@ -9,0 +9,2 @@",
    "+three",
    "+four",
    "diff --git a/new.ts b/new.ts",
    "--- /dev/null",
    "+++ b/new.ts",
    "@@ -0,0 +1 @@",
    "+new",
  ];
  assert.deepEqual(changedFiles(diff.join("\n")), [
    {
      path: "src/a.ts",
      lines: [
        [3, 4],
        [9, 9],
      ],
    },
  ]);
  assert.deepEqual(["src/a.ts", "src/a.test.ts", "docs/a.md", "a.png"].map(kindOf), ["code", "tests", "docs", null]);
});

test("commits that say what they change are cases; merges, bumps and those that name a file are not", async (t) => {
  const repository = sampleRepository();
  t.after(() => repository.remove());
  const commit = (message: string, files: Record<string, string>): string => {
    repository.write(files);
    repository.git("commit", "--quiet", "--allow-empty", "--message", message);
    return repository.git("rev-parse", "HEAD").trim();
  };
  commit("first", {
    "src/lamp.ts": "export function lightLamp() {}\n",
    "src/tide.ts": "export function predictTide() {}\n",
    "src/lamp.test.ts": "// the lamp\n",
    "README.md": "# Lamps\n",
  });
  const parent = repository.git("rev-parse", "HEAD").trim();
  const code = commit("The tide is predicted for tomorrow (#12)", {
    "src/tide.ts": "export function predictTide() {\n  return 1;\n}\n",
  });
  commit("Correct what lamp.ts does", { "src/lamp.ts": "export function lightLamp() { }\n" });
  commit("Bump the version to 2", { "src/lamp.ts": "export function lightLamp() {  }\n" });
  const tests = commit("Cover the dark lamp more", { "src/lamp.test.ts": "// the dark lamp\n" });
  const cases = historyCases({ folder: repository.root, count: 5 });
  assert.deepEqual(new Set(cases.map(({ id }) => id)), new Set([code, tests]));
  const found = cases.find(({ id }) => id === code);
  const gold = [{ path: "src/tide.ts", lines: [[1, 1]] }];
  assert.deepEqual(found, {
    ...{ id: code, commit: parent, question: "The tide is predicted for tomorrow", kind: "code" },
    ...{ gold, touched: ["src/tide.ts"] },
  });
  assert.deepEqual(listedCases(repository.root, [code]), [found]);

  const [outcome] = await measureRepository({
    folder: repository.root,
    cases: [found],
    withPlain: true,
    indexes: null,
  });
  assert.deepEqual(
    [outcome?.rank, outcome?.plainRank, outcome?.sentFile, outcome?.sentLine, outcome?.found[0]],
    [1, 1, true, true, "src/tide.ts"],
  );
});

test("the report counts ranks, and the comparison names what was won and lost", () => {
  const outcome = (id: string, rank: number | null): CaseOutcome => ({
    ...{ id, repository: "r", kind: "code", rank, sentFile: rank !== null, sentLine: false, milliseconds: 1 },
    ...{ tokens: 100, uselessTokens: rank === null ? 100 : 50, found: [], gold: [`${id}.ts`] },
  });
  const before = [outcome("a", 1), outcome("b", 6), outcome("c", null), outcome("d", 2)];
  const after = [outcome("a", 1), outcome("b", 2), outcome("c", 4), outcome("d", 7)];
  const { acc, mrr, sentFile, useless } = figuresOf(before);
  assert.deepEqual([acc, sentFile, useless], [{ 1: 25, 3: 50, 5: 50, 10: 75 }, 75, 62.5]);
  assert.ok(Math.abs(mrr - (1 + 1 / 6 + 1 / 2) / 4) < 1e-9);
  assert.match(formatReport(before), /code: all cases +4 +25\.0/);
  const comparison = formatComparison(before, after);
  assert.match(comparison, /code, acc@5: 25\.0 points \(95 %: .*\), 2 won, 1 lost of 4/);
  assert.match(comparison, /lost: r d: d\.ts/);
});
