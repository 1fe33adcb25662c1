/**
 * The lines between `---` at the top of a transcript: YAML of one level. They inform readers where the conversation comes
 * from; aptove makes no decision by them.
 */
import { isoTime, type Millis } from "../../domain/ids.ts";

export interface FrontMatter {
  provider: string;
  model: string;
  /** The time when the session was created. */
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
/** Words that some version of YAML does not read as text. */
const notPlain = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

/** Renders a value: plain if YAML reads it as the same text, otherwise quoted as in JSON, which YAML also reads. */
function scalar(value: string): string {
  return plain.test(value) && !notPlain.test(value) ? value : JSON.stringify(value.toWellFormed());
}

const opening = /^---[ \t]*(?:\r?\n|$)/;
const closing = /(?<![^\n])---[ \t]*\r?(?:\n|$)/g;

/** Returns the position after the front matter: 0 if there is none. Null if it has no end. */
export function frontMatterEnd(text: string): number | null {
  const begun = opening.exec(text)?.[0].length;
  if (begun === undefined) return 0;
  closing.lastIndex = begun;
  const end = closing.exec(text);
  return end === null ? null : end.index + end[0].length;
}

const knownKeys = /^(?:provider|model|created_at|session)[ \t]*:/;

/** Returns the text with these values in its front matter. Lines that a person wrote there stay. */
export function withFrontMatter(text: string, front: FrontMatter): string {
  const end = frontMatterEnd(text) ?? 0;
  const lines = text.slice(0, end).trimEnd().split(/\r?\n/).slice(1, -1);
  const others = lines.filter((line) => !knownKeys.test(line));
  return `---\n${[...knownLines(front), ...others].join("\n")}\n---\n${text.slice(end)}`;
}
