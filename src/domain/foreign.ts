/**
 * Histories of other tools (O8). A reader of such a tool's files makes turns of this form from them, and an import makes
 * turns of a session from these. What a turn of ours has no place for is counted, and remains in the kept bytes of the
 * source.
 */
import type { StopReason } from "./events.ts";
import type { Millis } from "./ids.ts";
import type { PartRef } from "./input-part.ts";
import type { Usage } from "./usage.ts";
import { ownValue } from "./own-value.ts";

/** The largest source of one turn of another tool, before it is compressed. */
export const foreignSourceBytesMax = 268_435_456;

export const foreignTools = ["claude-code", "codex", "gemini"] as const;
export type ForeignTool = (typeof foreignTools)[number];

/** The origin of a turn that another tool ran, as the turn keeps it. */
export interface ForeignRef {
  tool: ForeignTool;
  /** The version of the tool that wrote the history. Null: unknown. */
  version: string | null;
  /** The id of the conversation in that tool. */
  sessionId: string;
  /** The id of the turn in that conversation, which no other turn of it has. */
  turn: string;
  /** The part of the source that the turn was made from, unchanged. Its blob holds it compressed (gzip). */
  source: Omit<PartRef, "name" | "mediaType">;
  /** What was not taken over, by its kind, with its number. */
  unmapped: Record<string, number>;
}

/** A conversation of another tool. */
export interface ForeignSession {
  tool: ForeignTool;
  id: string;
  version: string | null;
  /** The folder in which the conversation took place. Null: unknown. */
  folder: string | null;
  /** The repository of that folder, as sessions name it. Null: unknown. */
  repo: string | null;
  /** The name that a person gave to the conversation. Null: none. */
  name: string | null;
  createdAt: Millis;
  updatedAt: Millis;
}

export type ForeignItem =
  | { type: "user"; text: string }
  | { type: "assistant"; text: string }
  | { type: "reasoning"; text: string; model: string }
  | { type: "tool_call"; callId: string; name: string; arguments: string }
  | { type: "tool_result"; callId: string; output: string; isError: boolean };

/** One turn of another tool. `S` is the form of its source: a place in a file, or its bytes. */
export interface ForeignTurn<S> {
  /** Unique in the conversation. A turn that went on after an earlier import has another id. */
  id: string;
  /** The id of the turn that it continues. Null: it begins the conversation, or a subagent. */
  parent: string | null;
  startedAt: Millis;
  endedAt: Millis;
  model: string;
  instruction: string;
  /** What followed the instruction, in order. */
  items: ForeignItem[];
  stopReason: StopReason;
  modelRequests: number;
  /** Null: the source does not say. */
  usage: Usage | null;
  /**
   * The summary that stood for everything before when the turn ran: also for the instruction and this number of items, if
   * it was made in the turn. Absent: there was none.
   */
  summary?: { text: string; items: number };
  unmapped: Record<string, number>;
  source: S;
  subagents: ForeignSubagent<S>[];
}

/** A conversation that a turn started with a subagent. */
export interface ForeignSubagent<S> {
  id: string;
  name: string;
  turns: Omit<ForeignTurn<S>, "subagents">[];
}

/** Adds one to the number of a kind. */
export function countOne(counts: Record<string, number>, kind: string): void {
  counts[kind] = (ownValue(counts, kind) ?? 0) + 1;
}

/** Adds all numbers of one list to another. */
export function addCounts(counts: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [kind, count] of Object.entries(more)) counts[kind] = (ownValue(counts, kind) ?? 0) + count;
}
