/** Cases in the public form of SWE-bench: a JSON array with issue, base commit and patch. The person gives it, and the clones. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { changedFiles, type LocalisationCase } from "./case.ts";

const row = z.object({
  repo: z.string(),
  instance_id: z.string(),
  base_commit: z.string(),
  patch: z.string(),
  problem_statement: z.string(),
});

/** Returns the cases by the folder of their clone, `<clones>/<owner>+<name>`, of the repositories that are there. */
export function liteCases(file: string, clones: string): Map<string, LocalisationCase[]> {
  const cases = new Map<string, LocalisationCase[]>();
  for (const each of z.array(row).parse(JSON.parse(readFileSync(file, "utf8")))) {
    const folder = join(clones, each.repo.replace("/", "+"));
    if (!existsSync(folder)) continue;
    const gold = changedFiles(each.patch);
    const { instance_id: id, base_commit: commit, problem_statement: question } = each;
    const touched = gold.map(({ path }) => path);
    cases.set(folder, [...(cases.get(folder) ?? []), { id, commit, question, kind: "code", gold, touched }]);
  }
  return cases;
}
