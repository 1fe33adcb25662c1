/**
 * The file of one fact (M3): its text, and before it, between two lines `---`, what is known of it: YAML of one level. A file
 * without these lines is a fact too.
 */
import { plainFact, type FactSource } from "../../domain/fact.ts";
import { isoTime, type Millis } from "../../domain/ids.ts";
import { frontMatterEnd } from "../transcript/front-matter.ts";
import { timeOf } from "./toml-file.ts";

/** The version of the files. */
const formatVersion = 1;

export interface FactFile {
  text: string;
  createdAt: Millis | null;
  source: FactSource | null;
  /** Lines that this version does not know. */
  others: readonly string[];
}

export function renderFact({ text, createdAt, source, others }: FactFile): string {
  const lines = [
    `format: ${formatVersion}`,
    ...(createdAt === null ? [] : [`created_at: ${isoTime(createdAt)}`]),
    ...(source === null ? [] : [`session: ${source.sessionId}`, `turn: ${source.turnId}`]),
    ...others,
  ];
  return `---\n${lines.join("\n")}\n---\n${text}\n`;
}

const knownKeys = ["format", "created_at", "session", "turn"];
const idPattern = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** Returns the content, or why the file cannot be used. */
export function parseFact(given: string): FactFile | { reason: string } {
  const content = given.replace(/^\uFEFF/, "");
  const end = frontMatterEnd(content);
  if (end === null) return { reason: "the lines that begin with --- have no end" };
  const lines = content.slice(0, end).trimEnd().split(/\r?\n/).slice(1, -1);
  const values = new Map(
    lines.flatMap((line) => {
      const [, key, value] = /^([a-z_]+)[ \t]*:[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
      return key === undefined || value === undefined ? [] : [[key, unquoted(value)] as const];
    }),
  );
  const version = values.get("format") ?? String(formatVersion);
  if (version !== String(formatVersion)) {
    return { reason: `it has the format ${version.slice(0, 20)}, and this version reads ${formatVersion}` };
  }
  const created = values.get("created_at");
  const createdAt = created === undefined ? null : timeOf(created);
  if (created !== undefined && createdAt === null)
    return { reason: "created_at must be a time such as 2026-02-15T10:30:00Z" };
  const [sessionId, turnId] = [values.get("session"), values.get("turn")];
  const isKnown =
    sessionId !== undefined && turnId !== undefined && idPattern.test(sessionId) && idPattern.test(turnId);
  return {
    text: plainFact(content.slice(end)),
    createdAt,
    source: isKnown ? { sessionId, turnId } : null,
    others: lines.filter((line) => !knownKeys.includes(/^[a-z_]+/.exec(line)?.[0] ?? "")),
  };
}

function unquoted(value: string): string {
  return /^(?:"[^"\\]*"|'[^']*')$/.test(value) ? value.slice(1, -1) : value;
}
