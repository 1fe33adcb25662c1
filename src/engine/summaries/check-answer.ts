/**
 * Reads the answer of the model that summarises (M5). Pure. The model may be wrong about turns, or lie: a source counts only
 * if its turn is in the range and its quote stands in that turn. What does not count is returned too, with the reason.
 */
import { limits } from "../../domain/limits.ts";
import { isRecord } from "../../system/guards.ts";
import {
  summaryParts,
  type LineSource,
  type RejectedLine,
  type SummaryLine,
  type SummaryPart,
} from "../../domain/summary.ts";

/** The texts in which quotes are looked for, by the number of the turn. */
export type QuotableTexts = ReadonlyMap<number, { turnId: string; texts: readonly string[] }>;

export interface CheckedAnswer {
  lines: SummaryLine[];
  rejected: RejectedLine[];
}

interface AnswerLine {
  part: SummaryPart;
  text: string;
  sources: { turn: number; quote: string }[];
}

/** Returns the lines that count, or why the answer is no summary. */
export function checkAnswer(answer: string, known: QuotableTexts): CheckedAnswer | { fault: string } {
  const parsed = parseJson(answer);
  if ("fault" in parsed) return parsed;
  const { value } = parsed;
  if (!isRecord(value) || !Array.isArray(value["lines"])) return { fault: "the answer has no list of lines" };
  const lines: readonly unknown[] = value["lines"];
  const faulty = lines.findIndex((line) => !isAnswerLine(line));
  if (faulty !== -1) return { fault: `line ${faulty + 1} of the answer is not in the form of a summary` };
  const checked: CheckedAnswer = { lines: [], rejected: [] };
  for (const line of lines.filter(isAnswerLine)) checkLine(line, known, checked);
  return checked;
}

function isAnswerLine(line: unknown): line is AnswerLine {
  if (!isRecord(line) || !isOnly(line, ["part", "text", "sources"])) return false;
  const { part, text, sources } = line;
  if (!summaryParts.some((known) => known === part) || typeof text !== "string" || !Array.isArray(sources))
    return false;
  return sources.every((source: unknown) => {
    if (!isRecord(source) || !isOnly(source, ["turn", "quote"])) return false;
    return typeof source["turn"] === "number" && typeof source["quote"] === "string";
  });
}

function isOnly(value: Record<string, unknown>, fields: readonly string[]): boolean {
  return Object.keys(value).every((field) => fields.includes(field));
}

/** Models that know no structured answers like to put JSON into a code block. */
function parseJson(answer: string): { value: unknown } | { fault: string } {
  const block = /^```(?:json)?\s*\n([\s\S]*?)\n```$/.exec(answer.trim());
  try {
    return { value: JSON.parse(block?.[1] ?? answer) as unknown };
  } catch {
    return { fault: "the answer is not JSON" };
  }
}

function checkLine({ part, text: written, sources }: AnswerLine, known: QuotableTexts, into: CheckedAnswer): void {
  const text = plainLine(written);
  const shown = text.slice(0, limits.summaryLineCharactersMax).toWellFormed();
  const reject = (reason: string): void => void into.rejected.push({ what: "line", text: shown, reason });
  if (text === "") return reject("it is empty");
  if (text.length > limits.summaryLineCharactersMax)
    return reject(`it has more than ${limits.summaryLineCharactersMax} characters`);
  if (into.lines.length >= limits.summaryLinesMax) return reject(`there are more than ${limits.summaryLinesMax} lines`);
  if (sources.length === 0) return reject("it names no turn");
  const found: LineSource[] = [];
  const faults: string[] = [];
  for (const source of sources) {
    const one = checkSource(source, text, known);
    if ("fault" in one) faults.push(one.fault);
    else if (!found.some(({ turnId, quote }) => turnId === one.turnId && quote === one.quote)) found.push(one);
  }
  if (found.length === 0) return reject([...new Set(faults)].join("; "));
  into.lines.push({ part, text, sources: found });
  for (const reason of new Set(faults)) into.rejected.push({ what: "source", text, reason });
}

function checkSource(
  { turn, quote: written }: AnswerLine["sources"][number],
  text: string,
  known: QuotableTexts,
): LineSource | { fault: string } {
  const place = known.get(turn);
  if (place === undefined) return { fault: `it names turn ${turn}, which is not in the range` };
  const quote = plainLine(written.replace(/^\s*>\s/, ""));
  const wanted = comparable(quote);
  if (quote.length > limits.summaryQuoteCharactersMax) return { fault: `its quote of turn ${turn} is too long` };
  // A short quote stands in nearly every turn. A path or a name may be short, but then the line is about it.
  const isTelling = wanted.length >= limits.summaryQuoteCharactersMin || comparable(text).includes(wanted);
  if (wanted.length < 2 || !isTelling) return { fault: `its quote of turn ${turn} is too short to show anything` };
  if (!place.texts.some((one) => comparable(one).includes(wanted)))
    return { fault: `turn ${turn} does not contain what it quotes` };
  return { turnId: place.turnId, quote };
}

/** Returns the text on one line, without control characters and marks that turn the direction of writing. */
function plainLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/[\p{Cf}]/gu, "")
    .replace(/\s+/gu, " ")
    .trim();
}

/** Case and white space do not count, as quotes are often copied across line breaks. */
function comparable(text: string): string {
  return text
    .normalize("NFC")
    .replace(/[\p{Cf}]/gu, "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .toLowerCase();
}
