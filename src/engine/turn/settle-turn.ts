/**
 * Ends a turn: it writes the blobs first, then the row, then the terminal event (T11). The turn is finished even if one
 * of these fails: if its output cannot be stored, the turn fails with the reason, and what was acknowledged before is
 * kept.
 */
import type { Caller } from "../../domain/caller.ts";
import { failure, failureOf, type Failure } from "../../domain/errors.ts";
import type { RunFailed, RunFinished } from "../../domain/events.ts";
import { answerText, openToolCalls, type HistoryItem } from "../../domain/history.ts";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { extendState, stateFile, type State } from "../../domain/lineage.ts";
import type { Step } from "../../domain/step.ts";
import type { DeferredCall } from "../../domain/tool.ts";
import {
  completeTurn,
  failTurn,
  messageOf,
  parkTurn,
  type FailedTurn,
  type FinishedTurn,
  type PendingTurn,
  type ProviderChain,
  type RunEnd,
} from "../../domain/turn.ts";
import type { TurnFinish } from "../../records/record-store.ts";
import { ownsWorkspaces } from "../access/access.ts";
import { followControls } from "./live/control.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { runnerLost } from "./live/leases.ts";
import { hasLostLease } from "./live/live-turn.ts";
import type { TurnPlan } from "./prepare/turn-plan.ts";
import type { RunRecorder } from "./live/run-recorder.ts";
import { transcribe } from "./transcribe.ts";
import type { AnsweredTurn } from "./live/turn-stages.ts";
import { turnDigest } from "./kept/turn-digest.ts";
import { blobKeys, encodeBlob } from "./kept/turn-blobs.ts";

export interface SettlingTurn extends AnsweredTurn {
  /**
   * The attempt, from 1. A message from another process may arrive while the end is being stored. Then the end is
   * stored again with the message (R3).
   */
  attempt?: number;
  /** True if the transcript of the workspace already has the turn. */
  isTranscribed?: boolean;
}

export interface SettledTurn {
  turn: FinishedTurn;
  /** Resolves when the live log is deleted, if it is deleted now. */
  logDropped: Promise<void>;
}

/** Ends the turn, and returns it. Never rejects. */
export async function settleTurn(core: EngineCore, settling: SettlingTurn): Promise<SettledTurn> {
  const { pending, recorder, live } = settling;
  live.settle();
  recorder.endAll();
  leaveSteers(settling);
  const ending = decideEnd(settling);
  try {
    return await keepAndFinish(core, settling, ending);
  } catch (error) {
    core.deps.report(`turn ${pending.id} could not be stored`, error);
    return settled(await failWithoutBlobs(core, settling, failureOf(error)));
  }
}

function settled(turn: FinishedTurn, logDropped: Promise<void> = Promise.resolve()): SettledTurn {
  return { turn, logDropped };
}

/** Closes the queue of messages. One that came too late for a model call is recorded as a warning (V4). */
function leaveSteers({ live, recorder }: SettlingTurn): void {
  for (const { text } of live.steers.close()) {
    recorder.warn({ code: "steer_undelivered", message: `no model call was left to deliver this message: ${text}` });
  }
}

type Ending =
  | { status: "completed" | "awaiting_tool_results"; terminal: RunFinished; items: HistoryItem[] }
  | { status: "failed"; terminal: RunFailed };

/** Returns how the turn ends (T2, T8, T10). */
function decideEnd({ answer, recorder, deferredCalls, live }: SettlingTurn): Ending {
  if (answer.ended !== "answered" && hasLostLease(live.state)) return failedEnd(runnerLost, recorder);
  if (answer.ended === "failed") return failedEnd(answer.failure, recorder);
  if (answer.ended === "interrupted") {
    if (!recorder.hasOutput) {
      return failedEnd(failure("interrupted", "the turn was stopped before it had output"), recorder);
    }
    const items = closeInterrupted(recorder.items);
    return finishedEnd(recorder, { status: "completed", stopReason: "interrupted", items });
  }
  const { items } = recorder;
  if (deferredCalls.length === 0)
    return finishedEnd(recorder, { status: "completed", stopReason: answer.stopReason, items });
  return finishedEnd(recorder, { status: "awaiting_tool_results", stopReason: "tool_calls", items, deferredCalls });
}

function failedEnd(reason: Failure, { usage }: RunRecorder): Ending {
  return { status: "failed", terminal: { type: "run_failed", failure: reason, usage } };
}

interface FinishedEnd extends Pick<RunFinished, "status" | "stopReason"> {
  items: HistoryItem[];
  deferredCalls?: DeferredCall[];
}

function finishedEnd({ usage }: RunRecorder, { status, stopReason, items, deferredCalls = [] }: FinishedEnd): Ending {
  return { status, items, terminal: { type: "run_finished", status, stopReason, usage, deferredCalls } };
}

/** Returns the items, with a result for each call that was cut off before it ran (T8). */
function closeInterrupted(items: readonly HistoryItem[]): HistoryItem[] {
  return [
    ...items,
    ...openToolCalls(items).map((call): HistoryItem => ({
      type: "tool_result",
      callId: call.callId,
      output: "interrupted: the call was not run",
      isError: true,
    })),
  ];
}

async function keepAndFinish(core: EngineCore, settling: SettlingTurn, ending: Ending): Promise<SettledTurn> {
  const { pending, place, plan, recorder, attempt = 1 } = settling;
  const state = plan === null || ending.status === "failed" ? null : nextState(pending, plan, ending.items);
  const events = recorder.eventsWith(ending.terminal);
  const run = encodeBlob("run", recorder.runBlob(events));
  const stateBytes = state === null ? null : encodeBlob("state", stateFile(state));
  const keys = { run: blobKeys.run(pending.id, attempt), state: state === null ? null : blobKeys.state(pending.id) };
  await Promise.all([
    // Nothing is appended to the live log after the row is written, because from then on any process may delete the
    // log.
    recorder.flushed(),
    core.deps.blobs.put(keys.run, run),
    ...(keys.state === null || stateBytes === null ? [] : [core.deps.blobs.put(keys.state, stateBytes)]),
  ]);
  const sent = asSent(settling);
  const end = runEnd(core, settling, { ...pending.blobs, ...keys });
  const unsealed = finishedTurn(sent, ending, { ...end, chain: chainOf(core, settling), digest: null });
  const digest = turnDigest(unsealed, {
    parent: place.parent?.digest ?? null,
    steps: await stepsOf(core, recorder),
    hashes: {
      opening: settling.openingHash,
      run: sha256(run),
      state: stateBytes === null ? null : sha256(stateBytes),
    },
  });
  const turn = { ...unsealed, digest };
  const isHead = ending.status !== "failed" && place.subagent === null;
  const result = await core.deps.records.turns.finish({
    turn,
    runnerId: core.deps.runner.id,
    head: isHead ? { from: place.head } : null,
    steps: recorder.unstoredStep === null ? [] : [recorder.unstoredStep],
    text: turnText(settling, ending),
    controls: "take first",
    ...messageToMailbox(turn),
  });
  if (result.outcome === "controlled") {
    await followControls(core);
    leaveSteers(settling);
    return await keepAndFinish(core, { ...settling, attempt: attempt + 1 }, ending);
  }
  if (result.outcome === "refused") {
    settling.live.close();
    return settled(await lostTurn(core, settling, turn));
  }
  settling.live.store(events);
  if (state !== null) core.histories.remember(state);
  if (state !== null && plan !== null) writeDown(core, settling, { turn, state, caller: plan.accepted.caller });
  if (plan !== null && plan.first !== null) core.histories.rememberBody(pending.id, plan.first.request.body);
  return settled(turn, dropLog(core, recorder));
}

/** Returns the mailbox message of a subagent's turn. The end and the message are one write (A2). */
export function messageToMailbox(turn: FinishedTurn): Pick<TurnFinish, "message"> {
  const message = messageOf(turn);
  return message === null ? {} : { message };
}

interface TranscribedEnd {
  turn: FinishedTurn;
  state: State;
  caller: Caller;
}

/** Queues the turn for the transcript of its workspace (W4). */
function writeDown(
  core: EngineCore,
  { place, isTranscribed }: SettlingTurn,
  { turn, state, caller }: TranscribedEnd,
): void {
  const items = state.entries.at(-1)?.items ?? [];
  if (isTranscribed !== true && place.subagent === null && ownsWorkspaces(caller))
    transcribe(core, { turn, session: place.session, items });
}

/** Returns all steps of the turn. The last one is usually not stored yet. */
async function stepsOf({ deps }: EngineCore, { turnId, modelRequests, unstoredStep }: RunRecorder): Promise<Step[]> {
  const written = modelRequests - (unstoredStep === null ? 0 : 1);
  const stored = written > 0 ? await deps.records.turns.listSteps(turnId) : [];
  return unstoredStep === null ? stored : [...stored, unstoredStep];
}

/**
 * Returns the turn with the manifest of what was really sent: a rebuilt chain was a replay, and a compaction sends
 * more.
 */
function asSent({ pending, plan, recorder }: SettlingTurn): PendingTurn {
  const manifest = plan?.manifest ?? pending.manifest;
  return { ...pending, manifest: recorder.isRebuilt ? { ...manifest, history: "replay" } : manifest };
}

function nextState(pending: PendingTurn, plan: TurnPlan, items: readonly HistoryItem[]): State {
  return extendState(plan.state, {
    turnId: pending.id,
    depth: pending.depth,
    items: [...plan.newItems, ...items],
    ...plan.sent,
    ...(plan.input.readable.length > 0 && { inputs: plan.input.readable }),
    ...(plan.summary !== null && { summary: plan.summary }),
  });
}

function runEnd(
  core: EngineCore,
  { pending, recorder }: SettlingTurn,
  blobs: RunEnd["blobs"],
): Omit<RunEnd, "chain" | "digest"> {
  const at = core.deps.now();
  const run = recorder.summary(Math.max(0, at - pending.createdAt));
  return { at, answeredAt: recorder.answeredAt, blobs, warnings: recorder.warnings, run };
}

const noChain: ProviderChain = { account: null, responseId: null, previousResponseId: null, expiresAt: null };

/**
 * Returns what the provider remembers. The next turn may only continue a response that the provider finished and was
 * requested to keep (C2).
 */
function chainOf(core: EngineCore, { answer, plan, recorder }: SettlingTurn): ProviderChain {
  if (answer.ended !== "answered" || plan === null) return noChain;
  const continued = plan.first?.call.previousResponseId ?? null;
  const previousResponseId = recorder.isRebuilt ? null : continued;
  if (plan.accepted.history !== "chain" || answer.responseId === null) return { ...noChain, previousResponseId };
  const account = plan.accepted.provider.account;
  const expiresAt = core.deps.now() + limits.chainLifetimeMs;
  return { account, responseId: answer.responseId, previousResponseId, expiresAt };
}

/** Returns the text that search finds the turn by: the whole instruction and the whole answer (S8). */
function turnText({ plan, recorder }: SettlingTurn, ending: Ending): { instruction: string; answer: string } | null {
  if (plan === null) return null;
  return {
    instruction: plan.accepted.instruction,
    answer: answerText(ending.status === "failed" ? recorder.items : ending.items),
  };
}

function finishedTurn(pending: PendingTurn, ending: Ending, end: RunEnd): FinishedTurn {
  if (ending.status === "failed") return failTurn(pending, ending.terminal.failure, end);
  const last = ending.items.findLast((item) => item.type === "assistant");
  const output = {
    stopReason: ending.terminal.stopReason,
    answer: answerText(ending.items),
    lastMessage: last?.type === "assistant" ? last.text : "",
  };
  if (ending.status === "completed") return completeTurn(pending, output, end);
  return parkTurn(pending, { ...output, deferredCalls: ending.terminal.deferredCalls }, end);
}

/**
 * Deletes the live log. Listeners elsewhere read the rest of the events, and the end, from the blob (T11). Never
 * rejects.
 */
async function dropLog(core: EngineCore, recorder: RunRecorder): Promise<void> {
  await recorder.flushed();
  try {
    await core.deps.log.drop(recorder.turnId);
  } catch (error) {
    // The row is written and counts. A log that remains is only garbage.
    core.deps.report(`the live log of turn ${recorder.turnId} could not be deleted`, error);
  }
}

/**
 * Handles a turn that another process took over, and finished or is about to finish (R1). The end of that process
 * counts, and ours is dropped. The live log is kept as long as that process may still store its events, and if it could
 * store nothing: listeners have seen the events (V2).
 */
async function lostTurn(core: EngineCore, settling: SettlingTurn, ours: FinishedTurn): Promise<FinishedTurn> {
  const { pending, recorder } = settling;
  core.deps.report(
    `turn ${pending.id} was taken over or finished by another process: this process had lost its lease, or an answer of the store`,
  );
  const stored = await core.deps.records.turns.get(pending.id);
  if (stored?.status === "pending") return failedTurn(core, settling, runnerLost);
  if (stored === null || stored.blobs.run !== null) await dropLog(core, recorder);
  return stored !== null && stored.status !== "archived" ? stored : ours;
}

/** Returns the failed turn, of which only the row is stored. */
function failedTurn(core: EngineCore, settling: SettlingTurn, reason: Failure): FailedTurn {
  const { pending } = settling;
  const end = runEnd(core, settling, { ...pending.blobs, run: null, state: null });
  return failTurn(pending, reason, { ...end, chain: noChain, digest: null });
}

/**
 * Stores the row alone. This is the last resort, for example on a full disk. If it fails too, a recovery finishes the
 * turn later (R2).
 */
async function failWithoutBlobs(core: EngineCore, settling: SettlingTurn, reason: Failure): Promise<FinishedTurn> {
  const { pending, recorder } = settling;
  const terminal: RunFailed = { type: "run_failed", failure: reason, usage: recorder.usage };
  const turn = failedTurn(core, settling, reason);
  try {
    const result = await core.deps.records.turns.finish({
      turn,
      runnerId: core.deps.runner.id,
      head: null,
      steps: recorder.unstoredStep === null ? [] : [recorder.unstoredStep],
      text: null,
      controls: "drop",
      ...messageToMailbox(turn),
    });
    settling.live.close();
    // The store also refuses if an earlier write succeeded although it reported a failure. Then the turn ended as it
    // should.
    if (result.outcome === "refused") return await lostTurn(core, settling, turn);
    // The live log is kept, because nothing else has the events.
    recorder.emit(terminal);
    await recorder.flushed();
  } catch (error) {
    core.deps.report(`turn ${pending.id} could not be marked as failed; the next recovery will do it`, error);
    core.unsettled.set(pending.id, reason);
    // The process that ends the turn keeps the content of the log.
    await recorder.flushed();
    settling.live.leaveUnwritten(reason);
  }
  return turn;
}
