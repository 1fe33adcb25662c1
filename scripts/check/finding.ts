/** What a check finds: where, which rule, what is wrong, and how to fix it. */
export interface Finding {
  file: string;
  /** The line, counted from 1. */
  line: number;
  /** `step/rule`, for example `walls/import`. */
  rule: string;
  message: string;
  fix: string;
}

/** One line for people and for editors that make `file:line` a link. */
export function formatFinding(finding: Finding): string {
  return `${finding.file}:${finding.line} ${finding.rule} ${finding.message} (${finding.fix})`;
}

export function byPlace(a: Finding, b: Finding): number {
  return a.file.localeCompare(b.file) || a.line - b.line || a.rule.localeCompare(b.rule);
}
