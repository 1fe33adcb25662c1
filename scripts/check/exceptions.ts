/**
 * The places where a rule of the check makes the code worse. Each entry names the rule, the file and the reason; an entry
 * that is no longer needed is a finding itself.
 */
import type { Finding } from "./finding.ts";

export interface Exception {
  rule: string;
  /** A file, or a folder with a slash at its end. */
  path: string;
  reason: string;
}

const ownPath = "scripts/check/exceptions.ts";

export const exceptions: readonly Exception[] = [
  { rule: "habits/silenced", path: "src/domain/turn.test.ts", reason: "T3 is that these lines do not type-check" },
  {
    rule: "habits/silenced",
    path: "src/engine/turn/live/live-turn.test.ts",
    reason: "the test is that states which cannot be do not type-check",
  },
  { rule: "sizes/interface", path: "src/domain/session.ts", reason: "rule S1 lists the fields of a session" },
  {
    rule: "sizes/interface",
    path: "src/records/sql/tables.ts",
    reason: "the tables of the schema, and a table's columns",
  },
  { rule: "sizes/interface", path: "src/records/record-store.ts", reason: "one field for each part of the contract" },
  {
    rule: "sizes/interface",
    path: "src/records/memory/rows.ts",
    reason: "one collection for each table of the schema",
  },
  {
    rule: "sizes/folder",
    path: "src/domain",
    reason: "the nouns of the product, which a reader looks for in one place",
  },
  { rule: "words/unfinished", path: "scripts/check/words.ts", reason: "the list of the words itself" },
  { rule: "words/unfinished", path: "scripts/check/words.test.ts", reason: "plants the words to see them found" },
  { rule: "words/dialect", path: "scripts/check/words.ts", reason: "the list of the words itself" },
  { rule: "words/dialect", path: "scripts/check/words.test.ts", reason: "plants the words to see them found" },
];

/** The findings that no exception covers, and a finding for each exception of these steps that covers none. */
export function applyExceptions(
  findings: readonly Finding[],
  { list, steps }: { list: readonly Exception[]; steps: readonly string[] },
): Finding[] {
  const covers = ({ rule, path }: Exception, finding: Finding): boolean =>
    finding.rule === rule && (finding.file === path || (path.endsWith("/") && finding.file.startsWith(path)));
  const unused = list
    .filter(({ rule }) => steps.includes(rule.split("/")[0] ?? ""))
    .filter((exception) => !findings.some((finding) => covers(exception, finding)));
  return [
    ...findings.filter((finding) => !list.some((exception) => covers(exception, finding))),
    ...unused.map(({ rule, path }) => ({
      file: ownPath,
      line: 1,
      rule: "exceptions/unused",
      message: `${rule} for ${path} covers nothing`,
      fix: "take it out",
    })),
  ];
}
