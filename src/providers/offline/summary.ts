/**
 * The summary of a conversation as the offline model makes it (M5). It does not think: it quotes the first and the newest
 * instruction, and the paths that it finds. Pure.
 */
import { summaryFormat, type SummaryPart } from "../../domain/summary.ts";
import type { ModelCall } from "../provider.ts";

interface OfflineLine {
  part: SummaryPart;
  text: string;
  sources: { turn: number; quote: string }[];
}

const filesMax = 12;
const quoteCharactersMax = 160;

export function wantsSummary({ settings: { answerFormat } }: Pick<ModelCall, "settings">): boolean {
  return answerFormat?.type === "schema" && answerFormat.name === summaryFormat;
}

/** Returns the answer: JSON in the form that the request wants. */
export function offlineSummary({ items }: Pick<ModelCall, "items">): string {
  const text = items.flatMap((item) => (item.type === "user" ? item.parts : [])).join("\n\n");
  const turns = readTurns(text);
  const earlier = readEarlier(text);
  const asked = turns.flatMap(({ number, lines }) =>
    lines.flatMap((line) => (line.startsWith("User: ") ? [{ number, text: line.slice("User: ".length) }] : [])),
  );
  const goal = earlier.filter(({ part }) => part === "goal");
  const files = new Map(earlier.filter(({ part }) => part === "file").map((line) => [line.text, line]));
  for (const { number, lines } of turns) {
    for (const path of lines.flatMap(pathsIn)) {
      if (!files.has(path) && files.size < filesMax)
        files.set(path, lineOf("file", path, { turn: number, quote: path }));
    }
  }
  const [first] = asked;
  const newest = asked.at(-1);
  const lines = [
    ...(goal.length > 0 || first === undefined ? goal : [quoting("goal", "It began with", first)]),
    ...files.values(),
    ...(newest === undefined || (newest === first && goal.length === 0)
      ? []
      : [quoting("open_point", "The newest instruction is", newest)]),
  ];
  return JSON.stringify({ lines });
}

function quoting(part: SummaryPart, words: string, { number, text }: { number: number; text: string }): OfflineLine {
  const quote = text.slice(0, quoteCharactersMax).toWellFormed().trim();
  return lineOf(part, `${words}: ${quote}`, { turn: number, quote });
}

function lineOf(part: SummaryPart, text: string, source: OfflineLine["sources"][number]): OfflineLine {
  return { part, text, sources: [source] };
}

function readTurns(text: string): { number: number; lines: string[] }[] {
  const turns: { number: number; lines: string[] }[] = [];
  for (const one of text.split("\n")) {
    const heading = /^=== TURN (\d+)(?:, part \d+ of \d+)? ===$/.exec(one);
    if (heading !== null) turns.push({ number: Number(heading[1]), lines: [] });
    else if (one.startsWith("> ")) turns.at(-1)?.lines.push(one.slice(2));
  }
  return turns;
}

function readEarlier(text: string): OfflineLine[] {
  const [before = ""] = text.split("[CONVERSATION]\n", 1);
  const lines = before.split("\n").filter((one) => one.startsWith('> {"part":'));
  return lines.map((one) => JSON.parse(one.slice(2)) as OfflineLine);
}

/** Returns what looks like a path of a file: it has a folder, and an ending. */
function pathsIn(text: string): string[] {
  return text.match(/(?<![\w./:-])\w[\w.-]*(?:\/[\w.-]+)+\.[A-Za-z]\w{0,9}\b/g) ?? [];
}
