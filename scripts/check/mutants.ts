/** Every kept fault (scripts/mutants) still applies to the sources, and names tests that exist. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { allMutants } from "../mutants/list.ts";
import { staleness } from "../mutants/mutant.ts";
import type { Finding } from "./finding.ts";
import type { Tree } from "./tree.ts";

export function checkMutants({ root }: Pick<Tree, "root">): Finding[] {
  return allMutants.flatMap((mutant) => {
    const { name, file, tests } = mutant;
    const path = join(root, file);
    const stale = existsSync(path) ? staleness(mutant, readFileSync(path, "utf8")) : `${name}: there is no ${file}`;
    const missing = tests.filter((test) => !existsSync(join(root, test))).map((test) => `${name}: there is no ${test}`);
    return [...(stale === null ? [] : [stale]), ...missing].map((message) => {
      return { file, line: 1, rule: "mutants/stale", message, fix: "correct the entry in scripts/mutants/" };
    });
  });
}
