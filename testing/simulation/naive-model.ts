/**
 * What should be true, kept in the slowest and most obvious way: every turn has a full copy of its history. It hears
 * what was asked and acknowledged, and what models and tools did; of the stores it believes nothing until it has
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

/** What one turn added to a history, and the summary that stands for older turns since then (C6). */
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
  /** Whether somebody was told that the turn is there. */
  isAcknowledged: boolean;
  /** Null until it was seen finished and found right; from then on nothing of it may change (T2). */
  sealed: SealedTurn | null;
}

export interface SealedTurn {
  row: FinishedTurn;
  /** All turns up to this one, each copied; null for a failed turn. */
  entries: NaiveEntry[] | null;
  /** Everything else that is read of it, as text. */
  reading: string;
}

export interface Asking extends Partial<Pick<Asked, "mustRefuse" | "sessionId" | "turnId">> {
  request: Omit<TurnRequest, "workspaceId">;
  random: Random;
  at: number;
  /** Of a rerun: what the turn that it names was asked for. */
  repeats?: Asked | undefined;
}

/** `null`: two wishes crossed, or nobody heard how it went. */
type Known<T> = T | null;

export interface NaiveSession {
  id: string;
  isArchived: Known<boolean>;
  isRemoved: Known<boolean>;
  isPurged: Known<boolean>;
  /** Changes of these marks that are under way. */
  marksUnderway: number;
  marksBegun: number;
  /** Head moves that were acknowledged. */
  moves: { from: string | null; to: string }[];
  /** It was archived or removed at some time, so a turn may have been refused for it. */
  wasArchived: boolean;
  wasRemoved: boolean;
}

export class NaiveModel {
  readonly asked: Asked[] = [];
  readonly turns = new Map<string, NaiveTurn>();
  readonly sessions = new Map<string, NaiveSession>();
  /** Messages that an engine took for a turn; one for a turn of another process may come too late (R3). */
  readonly steers: { turnId: string; text: string; isRemote: boolean }[] = [];
  /** Turns and sessions that somebody may have wanted stopped since the world was at rest. */
  readonly stopWishes = new Set<string>();
  /** Turns that an engine said it stops. */
  readonly stopped = new Set<string>();
  /** Sessions that are being made; where their maker died, one may be there that nobody was told of. */
  readonly making = new Set<Living>();
  /** A store that said it failed may have made one. */
  hasLostSessions = false;

  ask({ request, random, at, ...aim }: Asking): Asked {
    const number = this.asked.length + 1;
    const marker = `ask-${number}`;
    const { repeats = null } = aim;
    const isSame = repeats !== null && request.instruction === "";
    const asked: Asked = {
      number,
      marker,
      request: { ...request, workspaceId: marker },
      instruction: isSame ? repeats.instruction : request.instruction,
      feedback: isSame && repeats.feedback.length > 0 ? repeats.feedback : (request.toolResults ?? []),
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

  /** Somebody was told of a turn. */
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

  /** The whole history of a turn, or of no turn. */
  entriesOf(turnId: string | null): NaiveEntry[] {
    if (turnId === null) return [];
    return structuredClone(this.turns.get(turnId)?.sealed?.entries ?? []);
  }

  mayBeStopped({ id, sessionId, asked }: NaiveTurn): boolean {
    return (
      this.stopWishes.has(id) || this.stopWishes.has(sessionId) || asked.attempts.some(({ isClosing }) => isClosing())
    );
  }

  /** How a turn ended, as far as somebody was told. */
  endOf(turnId: string): FinishedTurn | null {
    const turn = this.turns.get(turnId);
    return turn?.sealed?.row ?? turn?.asked.attempts.find(({ finished }) => finished !== null)?.finished ?? null;
  }
}

/** The history as a model is shown it: with the newest summary in place of what it stands for (C6). */
export function shownItems(entries: readonly NaiveEntry[]): HistoryItem[] {
  const summary = entries.findLast((entry) => entry.summary !== null)?.summary ?? null;
  const rest = entries.filter((entry) => summary === null || entry.depth > summary.throughDepth);
  const items = rest.flatMap((entry) => entry.items);
  if (summary === null) return items;
  return [{ type: "user", parts: [`[SUMMARY OF THE CONVERSATION SO FAR]\n${summary.text}`] }, ...items];
}

/** Another provider's reasoning is left out, with a warning (C5). */
export function withoutForeignThoughts(items: readonly HistoryItem[], provider: string): HistoryItem[] {
  return items.filter((item) => item.type !== "reasoning" || item.provider === provider);
}

export function userItem(instruction: string): HistoryItem {
  return { type: "user", parts: [`[MODE: ask]\n\n[INSTRUCTION]\n${instruction}`] };
}

/** What the model gets of a long result: its beginning and its end, and where the whole is. */
export function boundedOutput(callId: string, output: string): string {
  const max = limits.toolResultCharactersMax;
  if (output.length <= max) return output;
  const left = output.length - max;
  const note = `[… ${left} characters left out; the whole output is kept as output:${callId} …]`;
  return `${output.slice(0, (max * 3) / 4)}\n${note}\n${output.slice(output.length - max / 4)}`;
}

/** T9: the answer of a caller to an open call, as the history keeps it; null: it is what the allowed tool gave. */
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
