/**
 * Search by words (S8), as every driver does it: which texts count as equal, which matches in a session are shown, and which
 * excerpt of each. A driver only has to find the words, in its own way.
 */

import type { Session } from "../domain/session.ts";
import type { CompletedSummary } from "../domain/summary.ts";
import type { TextMatch } from "./search.ts";

/** How many matches of a session are shown, unless more are needed to show every word. */
const matchesShown = 3;
const excerptBefore = 60;
const excerptAfter = 120;

/** Returns the text in a form that every database can hold. It is canonically equal, except for NULs and lone surrogates. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\uFFFD").normalize("NFC");
}

/**
 * Returns the text in the form in which texts are compared. It is as long as the storable text, so a position in one is the
 * same position in the other. Drivers store this form in rows: another way of folding needs a migration.
 */
export function foldedText(storable: string): string {
  // `İ` would become longer in lower case, and the lower case of `Σ` depends on its neighbours.
  return storable.replaceAll("İ", "I").toLowerCase().replaceAll("ς", "σ");
}

/** Returns the words in the form in which they are searched, each once. */
export function foldedWords(words: readonly string[]): string[] {
  return [...new Set(words.map((word) => foldedText(storableText(word))))].filter((word) => word !== "");
}

/** The labels and the metadata of a session, one text for each label and for each value. A key of the metadata stands before its value. */
interface DetailText {
  where: "label" | "metadata";
  text: string;
}

function detailTexts({ labels, metadata }: Pick<Session, "labels" | "metadata">): DetailText[] {
  return [
    ...labels.map((text): DetailText => ({ where: "label", text })),
    ...valuesOf(metadata).map((text): DetailText => ({ where: "metadata", text })),
  ];
}

/** Returns the labels and the metadata of a session as one text. Search finds words in it, and `detailMatches` says where they are. */
export function detailsOf(session: Pick<Session, "labels" | "metadata">): string {
  return detailTexts(session)
    .map(({ text }) => text)
    .join("\n");
}

/** Returns the labels and the values of the metadata that contain any of the words. */
export function detailMatches(session: Session, words: readonly string[]): TextMatch[] {
  return detailTexts(session).flatMap(({ where, text }): TextMatch[] => {
    const storable = storableText(text);
    if (wordsIn(foldedText(storable), words) === 0) return [];
    return [{ where, turnId: null, excerpt: excerptOf(storable, words) }];
  });
}

/** Returns the lines of a summary that contain any of the words. */
export function summaryMatches(summary: CompletedSummary | undefined, words: readonly string[]): TextMatch[] {
  if (summary === undefined) return [];
  return summary.end.lines.flatMap(({ text }): TextMatch[] => {
    const storable = storableText(text);
    if (wordsIn(foldedText(storable), words) === 0) return [];
    return [{ where: "summary", turnId: summary.throughTurnId, excerpt: excerptOf(storable, words) }];
  });
}

function valuesOf(value: unknown, path = ""): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object") return [path === "" ? String(value) : `${path}: ${String(value)}`];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([key, inner]) => valuesOf(inner, isList ? path : key));
}

/** Returns which of the words a folded text contains, as bits: bit n is set for word n. `limits.searchWordsMax` bits fit. */
export function wordsIn(folded: string, words: readonly string[]): number {
  return words.reduce((found, word, bit) => (folded.includes(word) ? found | (1 << bit) : found), 0);
}

/** A part of a session that has some of the words. */
export interface WordMatch {
  where: "name" | "details" | "summary" | "instruction" | "answer";
  /** The sequence number of the turn. Infinity for the session itself: its name, labels, metadata and summaries. */
  sequence: number;
  /** The words in it, as `wordsIn` returns them. */
  words: number;
}

/** Returns the matches to show. Returns null if the matches together do not contain all of the words. */
export function matchesToShow<P extends WordMatch>(matches: readonly P[], wordCount: number): P[] | null {
  const inOrder = matches.toSorted((a, b) => byNewest(a, b));
  let missing = (1 << wordCount) - 1;
  const needed = new Set<P>();
  for (const match of inOrder) {
    if ((match.words & missing) !== 0) needed.add(match);
    missing &= ~match.words;
  }
  if (missing !== 0) return null;
  const more = inOrder.filter((match) => !needed.has(match)).slice(0, Math.max(0, matchesShown - needed.size));
  return inOrder.filter((match) => needed.has(match) || more.includes(match));
}

function byNewest(a: WordMatch, b: WordMatch): number {
  if (a.sequence !== b.sequence) return b.sequence - a.sequence;
  return Number(a.where === "answer") - Number(b.where === "answer");
}

/** Returns the text around the first match of any of the words, on one line. */
export function excerptOf(storable: string, words: readonly string[]): string {
  const folded = foldedText(storable);
  const found = words.map((word) => ({ at: folded.indexOf(word), length: word.length })).filter(({ at }) => at >= 0);
  const first = found.toSorted((a, b) => a.at - b.at)[0] ?? { at: 0, length: 0 };
  const start = wholeCharacter(storable, Math.max(0, first.at - excerptBefore));
  const end = wholeCharacter(storable, Math.min(storable.length, first.at + first.length + excerptAfter));
  const line = storable.slice(start, end).replace(/\s+/gu, " ").trim();
  return `${start > 0 ? "…" : ""}${line}${end < storable.length ? "…" : ""}`;
}

/** Returns the position, or the one before it if a cut there would split a surrogate pair. */
function wholeCharacter(text: string, at: number): number {
  return at > 0 && /[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at - 1 : at;
}
