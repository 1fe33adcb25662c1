/** Sample sessions and turns for tests: plain ones, in which a test replaces the fields that it is about. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Org, User } from "../../domain/caller.ts";
import type { ContextManifest } from "../../domain/context.ts";
import { failure } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { Session } from "../../domain/session.ts";
import type { Step } from "../../domain/step.ts";
import {
  completeTurn,
  failTurn,
  mayBeParent,
  noChain,
  parkTurn,
  type AwaitingTurn,
  type CompletedTurn,
  type FailedTurn,
  type FinishedTurn,
  type PendingTurn,
  type RunEnd,
  type Turn,
  type TurnDraft,
} from "../../domain/turn.ts";
import { noUsage } from "../../domain/usage.ts";
import type { IdempotentRequest, OpenResult, RecordStore, TurnFinish, TurnOpening } from "../record-store.ts";

/** The name of a part of a store. */
export type RecordPart = Exclude<keyof RecordStore, "close">;
/** A store of which the test uses only these parts. */
export type RecordsWith<Part extends RecordPart> = Pick<RecordStore, Part | "close">;

export interface OpenRecords<Part extends RecordPart = RecordPart> {
  /** A new, empty store. */
  store: RecordsWith<Part>;
  /** Opens the same records a second time, as another process does. Null if they live in this process only. */
  reopen: (() => Promise<RecordsWith<Part>>) | null;
}
/** Opens a store for one test, and registers with `context.after` whatever must be closed and deleted. */
export type OpenRecordsForTest<Part extends RecordPart = RecordPart> = (
  context: TestContext,
) => OpenRecords<Part> | Promise<OpenRecords<Part>>;

export const needsReopen = "these records live in this process only";

/** Opens two stores on the same records. Skips the test and returns null if that is not possible. */
export async function openTwice<Part extends RecordPart>(
  context: TestContext,
  make: OpenRecordsForTest<Part>,
): Promise<[RecordsWith<Part>, RecordsWith<Part>] | null> {
  const { store, reopen } = await make(context);
  if (reopen === null) {
    context.skip(needsReopen);
    return null;
  }
  const second = await reopen();
  context.after(() => second.close());
  return [store, second];
}

/** A time and ids that all tests share. */
export const noon = 1_800_000_000_000;
export const sampleOrgId = "org-1";
export const ada = "user-ada";
export const sampleRunnerId = "runner-1";

export function orgOf(over: Partial<Org> = {}): Org {
  return { id: sampleOrgId, name: "Analytical Engines", createdAt: noon, suspendedAt: null, ...over };
}

export function userOf(over: Partial<User> = {}): User {
  const unknown = { email: null, externalId: null, disabledAt: null };
  return { id: ada, orgId: sampleOrgId, name: "Ada", role: "member", createdAt: noon, ...unknown, ...over };
}

/** Text that a database, JSON parser or query builder might misinterpret. */
export const awkwardText = `it's "so' \\ {"x": [1]} %_? $1 :id 🙂 é\u0301 \u0000 \ud800 \r\n\u2028 end`;

/** Returns a session. Its id is the id of its first turn (S4). */
export function sessionOf(over: Partial<Session> = {}): Session {
  return {
    id: newId(),
    orgId: sampleOrgId,
    userId: ada,
    name: "A question",
    nameIsSet: false,
    key: "a-question",
    description: "",
    labels: [],
    isPublic: false,
    isDraft: false,
    category: null,
    rating: null,
    agentContextId: "default",
    conversationContextId: "default",
    model: null,
    settings: {},
    workspaceId: null,
    repo: null,
    otherRepos: [],
    defaultLanguage: null,
    metadata: {},
    pins: [],
    turnNames: [],
    originTurnId: null,
    headTurnId: null,
    lastSequence: 0,
    lastTurnStatus: null,
    lastTurnAt: null,
    tokensTotal: 0,
    costUsd: 0,
    createdAt: noon,
    updatedAt: noon,
    activeAt: noon,
    archivedAt: null,
    deletedAt: null,
    ...over,
  };
}

export const plainManifest: ContextManifest = {
  agentContext: { id: "default", hash: "a1" },
  conversationContext: { id: "default", hash: "c1" },
  promptHash: "p1",
  toolsHash: "t1",
  history: "none",
  settings: {},
  chunks: [],
  activeFiles: [],
  skippedFiles: [],
  historyTurns: 0,
};

/** Returns a turn that continues the session from its head. */
export function draftOf(session: Session, over: Partial<TurnDraft> = {}): TurnDraft {
  const id = over.id ?? newId();
  return {
    id,
    sessionId: session.id,
    parentId: session.headTurnId,
    depth: session.headTurnId === null ? 1 : 2,
    kind: "agent",
    spawnedBy: null,
    rerunOf: null,
    createdAt: noon,
    createdBy: session.userId,
    mode: "ask",
    provider: "offline",
    model: "offline-1",
    instructionSummary: "A question",
    workspaceId: null,
    repo: null,
    manifest: plainManifest,
    status: "pending",
    blobs: { opening: `turns/${id}/opening.json`, run: null, state: null },
    warnings: [],
    runnerId: sampleRunnerId,
    ...over,
  };
}

/** Returns the turn as a store might have opened it. */
export function pendingOf(draft: TurnDraft, sequence: number): PendingTurn {
  return { ...draft, sequence, leaseExpiresAt: noon + 15_000 };
}

/** Returns an opening of the turn that expects its parent as the head. */
export function openingOf(turn: TurnDraft, over: Partial<TurnOpening> = {}): TurnOpening {
  return { turn, newSession: null, expectedHead: turn.parentId, idempotency: null, leaseMs: 15_000, ...over };
}

export function requestOf(turn: TurnDraft, over: Partial<IdempotentRequest> = {}): IdempotentRequest {
  return { userId: turn.createdBy, key: "key-1", requestHash: "hash-1", turnId: turn.id, ...over };
}

export function runEndOf(turn: PendingTurn, over: Partial<RunEnd> = {}): RunEnd {
  const usage = { input: 400, output: 100, cached: 0, reasoning: 0, total: 500 };
  return {
    at: turn.createdAt + 1_000,
    answeredAt: turn.createdAt + 900,
    blobs: { opening: turn.blobs.opening, run: `turns/${turn.id}/run.json`, state: `turns/${turn.id}/state.json` },
    warnings: [],
    run: { durationMs: 1_000, modelRequests: 1, usage, byModel: { [turn.model]: usage } },
    chain: noChain,
    digest: null,
    ...over,
  };
}

export function completedSample(turn: PendingTurn, over: Partial<RunEnd> = {}): CompletedTurn {
  return completeTurn(turn, { stopReason: "stop", answer: "Yes.", lastMessage: "Yes." }, runEndOf(turn, over));
}

export function parkedSample(turn: PendingTurn, over: Partial<RunEnd> = {}): AwaitingTurn {
  const deferredCalls = [{ callId: "call-1", name: "run", arguments: `{"a":`, waitsFor: "client" as const }];
  const output = { stopReason: "tool_calls" as const, answer: "", lastMessage: "", deferredCalls };
  return parkTurn(turn, output, runEndOf(turn, over));
}

/** Returns a failed turn that did nothing: it has no state (T12). */
export function failedSample(turn: PendingTurn, over: Partial<RunEnd> = {}): FailedTurn {
  const end = runEndOf(turn, over);
  const bare = { ...end, blobs: { ...end.blobs, state: null }, ...over };
  return failTurn(turn, failure("provider_unavailable", "the provider does not respond"), bare);
}

/** Returns a failed turn that had done something: its state can be continued (T12). */
export function sealedFailureSample(turn: PendingTurn): FailedTurn {
  return failedSample(turn, { blobs: runEndOf(turn).blobs });
}

export async function openSampleTurn(store: Pick<RecordStore, "turns">, opening: TurnOpening): Promise<PendingTurn> {
  const result = await store.turns.open(opening);
  assert.equal(result.outcome, "opened", JSON.stringify(result));
  return (result as Extract<OpenResult, { outcome: "opened" }>).turn;
}

/** Returns how the engine finishes the turn: the head moves from the turn's parent to the turn. */
export function turnFinishOf(turn: FinishedTurn, over: Partial<TurnFinish> = {}): TurnFinish {
  const head = mayBeParent(turn) ? { from: turn.parentId } : null;
  return { turn, steps: [], text: null, runnerId: sampleRunnerId, head, controls: "drop", ...over };
}

export async function finishSampleTurn(
  store: Pick<RecordStore, "turns">,
  turn: FinishedTurn,
  over: Partial<TurnFinish> = {},
): Promise<void> {
  const result = await store.turns.finish(turnFinishOf(turn, over));
  assert.equal(result.outcome, "finished");
}

/** Stores a session without a turn. */
export async function startSession(
  store: Pick<RecordStore, "sessions">,
  over: Partial<Session> = {},
): Promise<Session> {
  const session = sessionOf(over);
  await store.sessions.insert(session);
  return session;
}

/** Lets a user who is not the owner run turns in the session. */
export async function inviteUser(
  store: Pick<RecordStore, "sessions">,
  sessionId: string,
  userId: string,
): Promise<void> {
  await store.sessions.changeParticipants(sessionId, { invited: [userId], dismissed: [] });
}

/** Opens and completes a turn on the session's head. */
export async function runSampleTurn(
  store: Pick<RecordStore, "sessions" | "turns">,
  sessionId: string,
  over: Partial<TurnDraft> = {},
): Promise<CompletedTurn> {
  const turn = await openSampleTurn(store, openingOf(draftOf(await readSession(store, sessionId), over)));
  const end = completedSample(turn);
  await finishSampleTurn(store, end);
  return end;
}

/** Returns the opening of a first turn in a new session, whose parent is any turn. */
export function forkOf(origin: Turn, over: Partial<TurnDraft> = {}): TurnOpening & { newSession: Session } {
  const newSession = sessionOf({ originTurnId: origin.id });
  const place = { id: newSession.id, parentId: origin.id, depth: origin.depth + 1 };
  return { ...openingOf(draftOf(newSession, { ...place, ...over })), newSession, expectedHead: null };
}

/** Opens and completes the first turn of a fork. */
export async function runSampleFork(store: Pick<RecordStore, "turns">, origin: Turn): Promise<CompletedTurn> {
  const end = completedSample(await openSampleTurn(store, forkOf(origin)));
  await finishSampleTurn(store, end, { head: { from: null } });
  return end;
}

export function stepOf(turnId: string, index: number, over: Partial<Step> = {}): Step {
  return {
    turnId,
    index,
    provider: "openai",
    model: "m",
    startedAt: noon,
    endedAt: noon + 1,
    previousResponseId: null,
    responseId: null,
    request: { blob: `turns/${turnId}/opening`, bytes: 10, sha256: "s" },
    outcome: { status: "completed", stopReason: "stop" },
    usage: noUsage,
    ...over,
  };
}

/** Returns the session as it is stored now. It must exist. */
export async function readSession(store: Pick<RecordStore, "sessions">, sessionId: string): Promise<Session> {
  const session = await store.sessions.get(sessionId);
  assert.ok(session !== null, `session ${sessionId} is not stored`);
  return session;
}
