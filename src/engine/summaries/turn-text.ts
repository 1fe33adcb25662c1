/**
 * The conversation as the model that summarises it reads it (M5). Pure. Each turn has a heading with its number, and each line
 * of its text begins with `> `: no text of a turn can pretend to be a heading.
 */
import { containedFacts, withoutForgotten } from "../../domain/forgetting.ts";
import { mediaOf, type HistoryItem, type UserItem } from "../../domain/history.ts";
import { limits } from "../../domain/limits.ts";
import { shownItems, type State, type StateEntry } from "../../domain/lineage.ts";
import { instructionOf } from "../turn/request/envelope.ts";

/** A turn with the text that the model may quote. */
export interface NumberedTurn {
  /** Its number in the branch, from 1: its depth. */
  number: number;
  turnId: string;
  text: string;
}

/** Returns the turns of a history, oldest first, after the turn with this depth. */
export function numberedTurns(state: State, afterDepth: number): NumberedTurn[] {
  const isShown = shownItems(state);
  // The memory itself gives its facts, so that a forgotten one is in no request and in no summary (M3).
  return withoutForgotten(state, [...containedFacts(state).keys()])
    .entries.filter(({ depth }) => depth > afterDepth)
    .map((entry) => ({ number: entry.depth, turnId: entry.turnId, text: textOf(entry, isShown) }));
}

function textOf({ turnId, items }: StateEntry, isShown: ReturnType<typeof shownItems>): string {
  return items
    .filter((_, at) => isShown(turnId, at))
    .map(itemText)
    .filter((text) => text !== "")
    .join("\n");
}

function itemText(item: HistoryItem): string {
  switch (item.type) {
    case "user":
      return userText(item);
    case "assistant":
      return item.text === "" ? "" : `Assistant: ${item.text}`;
    case "reasoning":
      return "";
    case "tool_call":
      return `Assistant calls ${item.name}: ${shortened(item.arguments)}`;
    case "tool_result":
      return `Result${item.isError === true ? " (error)" : ""}: ${[shortened(item.output), ...mediaNames(item)].join("\n")}`;
  }
}

/** What the program added to the message of a person is left out: the code, the rules, the place and the facts of the memory. */
const addedBlock = /^\[(?:NOTE|PLACE|CONTEXT)\]\n/;

function userText(item: UserItem): string {
  const [first = "", ...more] = item.parts;
  const instruction = instructionOf(item) || first;
  const parts = [instruction, ...more].filter((part) => part !== "" && !addedBlock.test(part));
  const media = mediaNames(item);
  return parts.length + media.length === 0 ? "" : `User: ${[...parts, ...media].join("\n")}`;
}

function mediaNames(item: HistoryItem): string[] {
  return mediaOf(item).map(({ name, mediaType }) => `[${name} (${mediaType})]`);
}

/** Keeps the beginning and the end of what a tool received or returned. */
function shortened(text: string): string {
  const max = limits.summaryResultCharactersMax;
  if (text.length <= max) return text;
  const end = Math.floor(max / 4);
  const left = text.length - max;
  return `${text.slice(0, max - end)}\n[${left} characters are left out here]\n${text.slice(-end)}`.toWellFormed();
}

/** What one call reads: whole turns, or a part of one that is too long for a call. */
export interface Piece {
  text: string;
  turns: NumberedTurn[];
}

/** Splits the turns into pieces of at most so many characters. Nothing is left out. */
export function piecesOf(turns: readonly NumberedTurn[], charactersMax: number): Piece[] {
  const pieces: Piece[] = [];
  let last: Piece | undefined;
  for (const turn of turns) {
    for (const text of blocksOf(turn, charactersMax)) {
      if (last === undefined || last.text.length + text.length > charactersMax) {
        last = { text: "", turns: [] };
        pieces.push(last);
      }
      last.text += text;
      if (last.turns.at(-1) !== turn) last.turns.push(turn);
    }
  }
  return pieces;
}

function blocksOf({ number, text }: NumberedTurn, charactersMax: number): string[] {
  const lines = quotedLines(text).flatMap((line) => cutLine(line, Math.max(1, charactersMax - headingRoom)));
  const blocks: string[][] = [[]];
  let size = 0;
  for (const line of lines) {
    if (size > 0 && size + line.length > charactersMax - headingRoom) {
      blocks.push([]);
      size = 0;
    }
    blocks.at(-1)?.push(line);
    size += line.length + 1;
  }
  return blocks.map((block, at) => `${heading(number, at + 1, blocks.length)}\n${block.join("\n")}\n\n`);
}

/** The room for a heading and the line breaks around it. */
const headingRoom = 64;

function heading(number: number, part: number, parts: number): string {
  return parts === 1 ? `=== TURN ${number} ===` : `=== TURN ${number}, part ${part} of ${parts} ===`;
}

export function quotedLines(text: string): string[] {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => `> ${line}`);
}

function cutLine(line: string, max: number): string[] {
  if (line.length <= max) return [line];
  const content = line.slice(2);
  const size = Math.max(1, max - 2);
  const count = Math.ceil(content.length / size);
  return Array.from({ length: count }, (_, at) => `> ${content.slice(at * size, (at + 1) * size).toWellFormed()}`);
}
