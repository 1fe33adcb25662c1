/**
 * The expected state, kept in the slowest and most obvious way: every turn has a full copy of its history. It gets
 * the requests, the acknowledgements, and the actions of models and tools. It trusts nothing of the stores until it has
 * compared it.
 */
import type { HistoryItem } from "../../src/domain/history.ts";
import type { HistorySummary } from "../../src/domain/lineage.ts";
import { limits } from "../../src/domain/limits.ts";
import type { ToolFeedback } from "../../src/domain/tool.ts";
import type { FinishedTurn } from "../../src/domain/turn.ts";
import type { RunningTurn, TurnRequest } from "../../src/engine/engine.ts";
import type { Asked, Living } from "./asked.ts";
import type { Random } from "./random.ts";

/** The items that one turn added to a history, and the summary that replaces older turns since then (C6). */
export interface NaiveEntry {
  turnId: string;
  depth: number;
  items: HistoryItem[];
  summary: HistorySummary | null;
}

export interface NaiveTurn {
  id: string;
  sessionId: string;
  asked: Asked;
  /** True if a caller got the id of the turn. */
  isAcknowledged: boolean;
  /** Null until the finished turn was checked. From then on nothing of it may change (T2). */
  sealed: SealedTurn | null;
}

export interface SealedTurn {
  row: FinishedTurn;
  /** Copies of all turns up to this one. Null for a failed turn. */
  entries: NaiveEntry[] | null;
  /** Everything else that can be read of the turn, as text. */
  reading: string;
}

export interface Asking extends Partial<Pick<Asked, "mustRefuse" | "sessionId" | "turnId">> {
  request: Omit<TurnRequest, "workspaceId">;
  random: Random;
  at: number;
  /** The request of the turn that a rerun repeats. */
  repeats?: Asked | undefined;
}

/** `null`: two requests crossed, or the result is unknown. */
type Known<T> = T | null;

export interface NaiveSession {
  id: string;
  isArchived: Known<boolean>;
  isRemoved: Known<boolean>;
  isPurged: Known<boolean>;
  /** Running changes of these marks. */
  marksUnderway: number;
  marksBegun: number;
  /** Head moves that were acknowledged. */
  moves: { from: string | null; to: string }[];
  /** True if the session was ever archived or removed, so a turn may have been refused for that. */
  wasArchived: boolean;
  wasRemoved: boolean;
}

export class NaiveModel {
  readonly asked: Asked[] = [];
  readonly turns = new Map<string, NaiveTurn>();
  readonly sessions = new Map<string, NaiveSession>();
  /** Messages that an engine accepted for a turn. A message for a turn of another process may be too late (R3). */
  readonly steers: { turnId: string; text: string; isRemote: boolean }[] = [];
  /** Turns and sessions that may have been interrupted since the world was at rest. */
  readonly stopWishes = new Set<string>();
  /** Turns whose interrupt an engine acknowledged. */
  readonly stopped = new Set<string>();
  /** Sessions that are being made. If the process died, a session may exist that no caller knows. */
  readonly making = new Set<Living>();
  /** True if a store call that reported a failure may have made a session. */
  hasLostSessions = false;

  ask({ request, random, at, ...aim }: Asking): Asked {
    const number = this.asked.length + 1;
    const marker = `ask-${number}`;
    const { repeats = null } = aim;
    const { instruction = "" } = request;
    const isSame = repeats !== null && instruction === "";
    const asked: Asked = {
      number,
      marker,
      request: { ...request, workspaceId: marker },
      instruction: isSame ? repeats.instruction : instruction,
      feedback: request.toolResults ?? repeats?.feedback ?? [],
      mustRefuse: aim.mustRefuse ?? null,
      sessionId: aim.sessionId ?? null,
      turnId: aim.turnId ?? null,
      attempts: [],
      exchanges: [],
      toolRuns: [],
      faults: 0,
      at,
      random: random.fork(),
      isEndless: random.chance(0.005),
    };
    this.asked.push(asked);
    return asked;
  }

  /** Records that a caller got the id of a turn. */
  acknowledge(asked: Asked, { turnId, sessionId }: Pick<RunningTurn, "turnId" | "sessionId">): NaiveTurn {
    const turn = this.know(asked, { turnId, sessionId });
    turn.isAcknowledged = true;
    return turn;
  }

  know(asked: Asked, { turnId, sessionId }: Pick<RunningTurn, "turnId" | "sessionId">): NaiveTurn {
    this.knowSession(sessionId);
    const known = this.turns.get(turnId);
    if (known !== undefined) return known;
    const turn: NaiveTurn = { id: turnId, sessionId, asked, isAcknowledged: false, sealed: null };
    this.turns.set(turnId, turn);
    return turn;
  }

  knowSession(id: string): NaiveSession {
    const known = this.sessions.get(id);
    if (known !== undefined) return known;
    const session: NaiveSession = {
      id,
      isArchived: false,
      isRemoved: false,
      isPurged: false,
      marksUnderway: 0,
      marksBegun: 0,
      moves: [],
      wasArchived: false,
      wasRemoved: false,
    };
    this.sessions.set(id, session);
    return session;
  }

  /** Returns the whole history of a turn, or the empty history of no turn. */
  entriesOf(turnId: string | null): NaiveEntry[] {
    if (turnId === null) return [];
    return structuredClone(this.turns.get(turnId)?.sealed?.entries ?? []);
  }

  mayBeStopped({ id, sessionId, asked }: NaiveTurn): boolean {
    return (
      this.stopWishes.has(id) || this.stopWishes.has(sessionId) || asked.attempts.some(({ isClosing }) => isClosing())
    );
  }

  /** Returns the end of a turn, if a caller received it. */
  endOf(turnId: string): FinishedTurn | null {
    const turn = this.turns.get(turnId);
    return turn?.sealed?.row ?? turn?.asked.attempts.find(({ finished }) => finished !== null)?.finished ?? null;
  }
}

/** Returns the history as a model gets it: the newest summary replaces the turns that it covers (C6). */
export function shownItems(entries: readonly NaiveEntry[]): HistoryItem[] {
  const summary = entries.findLast((entry) => entry.summary !== null)?.summary ?? null;
  if (summary === null) return entries.flatMap((entry) => entry.items);
  const items = entries.flatMap((entry) => {
    if (entry.depth < summary.throughDepth) return [];
    return entry.depth > summary.throughDepth ? entry.items : entry.items.slice(summary.throughItems ?? Infinity);
  });
  const task = summary.instruction === undefined ? [] : [summary.instruction];
  // The summaries of the simulation name no turn (M6).
  const through = summary.throughDepth;
  const unnamed = `\n\nTurns that no line names: ${through === 1 ? "1" : `1-${through}`}`;
  const parts = [
    `[SUMMARY OF THE CONVERSATION SO FAR]\n${summary.text}${unnamed}`,
    ...task.map((text) => `[THE INSTRUCTION THAT IS BEING CARRIED OUT]\n${text}`),
  ];
  return [{ type: "user", parts }, ...items];
}

/** Leaves out the reasoning of other providers, with a warning (C5). */
export function withoutForeignThoughts(items: readonly HistoryItem[], provider: string): HistoryItem[] {
  return items.filter((item) => item.type !== "reasoning" || item.provider === provider);
}

export function userItem(instruction: string, note: string | null): HistoryItem {
  return { type: "user", parts: [`[MODE: ask]\n\n[INSTRUCTION]\n${instruction}`, ...(note === null ? [] : [note])] };
}

/** Returns what the model gets of a long result: its beginning, its end, and the location of the whole. */
export function boundedOutput(callId: string, output: string): string {
  const max = limits.toolResultCharactersMax;
  if (output.length <= max) return output;
  const left = output.length - max;
  const note = `[… ${left} characters left out; the whole output is kept as output:${callId} …]`;
  return `${output.slice(0, (max * 3) / 4)}\n${note}\n${output.slice(output.length - max / 4)}`;
}

/** Returns a caller's answer to an open call as the history stores it (T9). Null: the result is that of the allowed tool. */
export function feedbackResult(
  { callId, waitsFor }: { callId: string; waitsFor: "client" | "approval" },
  feedback: readonly ToolFeedback[],
): HistoryItem | null {
  const answer = feedback.find((one) => one.callId === callId);
  const result = (output: string, isError: boolean): HistoryItem => ({
    type: "tool_result",
    callId,
    output,
    ...(isError && { isError }),
  });
  if (answer === undefined) return result(waitsFor === "approval" ? "denied: no response" : "failed: no result", true);
  if (!("approved" in answer)) return result(answer.output, answer.isError);
  return answer.approved ? null : result(`denied: ${answer.reason ?? "the user did not allow it"}`, true);
}

/** True if the turn was ended by a recovery, from what was stored while it ran (R2, R6). */
export function wasRecovered(row: FinishedTurn): boolean {
  if (row.status !== "failed") return false;
  return row.failures[0].code === "runner_lost" || row.blobs.run?.includes("/run-recovered-") === true;
}
