/**
 * The lines between `---` at the head of a transcript: YAML of one level. Nothing is decided by what they say; they tell
 * a reader where the conversation comes from.
 */
import { isoTime, type Millis } from "../../domain/ids.ts";

export interface FrontMatter {
  provider: string;
  model: string;
  /** Of the session. */
  createdAt: Millis;
  sessionId: string;
}

export function renderFrontMatter(front: FrontMatter): string {
  return `---\n${knownLines(front).join("\n")}\n---\n`;
}

function knownLines({ provider, model, createdAt, sessionId }: FrontMatter): string[] {
  const values = { provider, model, created_at: isoTime(createdAt), session: sessionId };
  return Object.entries(values).flatMap(([key, value]) => (value === "" ? [] : [`${key}: ${scalar(value)}`]));
}

const plain = /^[A-Za-z][\w./@+-]*$|^\d{4}-\d\d-\d\dT[\d:.]+Z$|^[0-9a-f]{8}-[0-9a-f-]+$/;
/** Words that YAML, in one of its versions, takes for something else than text. */
const notPlain = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

/** Plain where YAML takes it for the same text; else in quotes, as JSON writes it, which is YAML too. */
function scalar(value: string): string {
  return plain.test(value) && !notPlain.test(value) ? value : JSON.stringify(value.toWellFormed());
}

const opening = /^---[ \t]*(?:\r?\n|$)/;
const closing = /(?<![^\n])---[ \t]*\r?(?:\n|$)/g;

/** Where what follows the front matter begins: 0 where there is none. Null: it has no end. */
export function frontMatterEnd(text: string): number | null {
  const begun = opening.exec(text)?.[0].length;
  if (begun === undefined) return 0;
  closing.lastIndex = begun;
  const end = closing.exec(text);
  return end === null ? null : end.index + end[0].length;
}

const knownKeys = /^(?:provider|model|created_at|session)[ \t]*:/;

/** The text with front matter that says this. Lines that a person wrote there stay. */
export function withFrontMatter(text: string, front: FrontMatter): string {
  const end = frontMatterEnd(text) ?? 0;
  const lines = text.slice(0, end).trimEnd().split(/\r?\n/).slice(1, -1);
  const others = lines.filter((line) => !knownKeys.test(line));
  return `---\n${[...knownLines(front), ...others].join("\n")}\n---\n${text.slice(end)}`;
}
