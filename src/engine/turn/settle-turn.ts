/**
 * Ends a turn: blobs first, then the row, then the terminal event (T11). Whatever fails on the way, the turn
 * is finished: if its output cannot be kept it fails with the reason, and what was acknowledged before stays.
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
  /** From 1. A message from another process may come while the end is being kept: then it is kept once more, with it (R3). */
  attempt?: number;
  /** The transcript of its workspace has it already. */
  isTranscribed?: boolean;
}

export interface SettledTurn {
  turn: FinishedTurn;
  /** Resolves when its live log is gone, if it goes now. */
  logDropped: Promise<void>;
}

/** Never rejects. */
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

/** V4: the turn takes no more messages. One that came too late for a model call is still part of the record. */
function leaveSteers({ live, recorder }: SettlingTurn): void {
  for (const { text } of live.steers.close()) {
    recorder.warn({ code: "steer_undelivered", message: `there was no model call left to hand this in: ${text}` });
  }
}

type Ending =
  | { status: "completed" | "awaiting_tool_results"; terminal: RunFinished; items: HistoryItem[] }
  | { status: "failed"; terminal: RunFailed };

/** What becomes of the turn (T2, T8, T10). */
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

/** T8: a call that was cut off before it ran gets a result that says so. */
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
    // Nothing is added to the live log once the row is written: from then on any process may drop the log.
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

/** A2: a subagent's end and its message are one write. */
export function messageToMailbox(turn: FinishedTurn): Pick<TurnFinish, "message"> {
  const message = messageOf(turn);
  return message === null ? {} : { message };
}

interface TranscribedEnd {
  turn: FinishedTurn;
  state: State;
  caller: Caller;
}

/** Into the transcript of its workspace (W4). */
function writeDown(
  core: EngineCore,
  { place, isTranscribed }: SettlingTurn,
  { turn, state, caller }: TranscribedEnd,
): void {
  const items = state.entries.at(-1)?.items ?? [];
  if (isTranscribed !== true && place.subagent === null && ownsWorkspaces(caller))
    transcribe(core, { turn, session: place.session, items });
}

/** All steps of the turn; the last one is mostly not written yet. */
async function stepsOf({ deps }: EngineCore, { turnId, modelRequests, unstoredStep }: RunRecorder): Promise<Step[]> {
  const written = modelRequests - (unstoredStep === null ? 0 : 1);
  const stored = written > 0 ? await deps.records.turns.listSteps(turnId) : [];
  return unstoredStep === null ? stored : [...stored, unstoredStep];
}

/** The manifest says what the model got in the end: a chain that was rebuilt was a replay, and a compaction sends more. */
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

/** The next turn may only continue a response that the provider finished and was asked to keep (C2). */
function chainOf(core: EngineCore, { answer, plan, recorder }: SettlingTurn): ProviderChain {
  if (answer.ended !== "answered" || plan === null) return noChain;
  const continued = plan.first?.call.previousResponseId ?? null;
  const previousResponseId = recorder.isRebuilt ? null : continued;
  if (plan.accepted.history !== "chain" || answer.responseId === null) return { ...noChain, previousResponseId };
  const account = plan.accepted.provider.account;
  const expiresAt = core.deps.now() + limits.chainLifetimeMs;
  return { account, responseId: answer.responseId, previousResponseId, expiresAt };
}

/** The text that search finds the turn by (S8): the whole instruction and the whole answer. */
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

/** Forgets the live log. Listeners elsewhere have the rest of the events, and the end, from the blob (T11). Never rejects. */
async function dropLog(core: EngineCore, recorder: RunRecorder): Promise<void> {
  await recorder.flushed();
  try {
    await core.deps.log.drop(recorder.turnId);
  } catch (error) {
    // The row is written and counts; a log that stays behind is only garbage.
    core.deps.report(`the live log of turn ${recorder.turnId} could not be dropped`, error);
  }
}

/**
 * R1: another process took the turn for lost, and finished it or is about to. Its end counts, and ours is dropped. The live
 * log stays while that process may still keep its events, and where it could keep nothing: listeners have seen them (V2).
 */
async function lostTurn(core: EngineCore, settling: SettlingTurn, ours: FinishedTurn): Promise<FinishedTurn> {
  const { pending, recorder } = settling;
  core.deps.report(
    `turn ${pending.id} is another's in the store, or finished: this process had lost its lease, or an answer`,
  );
  const stored = await core.deps.records.turns.get(pending.id);
  if (stored?.status === "pending") return failedTurn(core, settling, runnerLost);
  if (stored === null || stored.blobs.run !== null) await dropLog(core, recorder);
  return stored !== null && stored.status !== "archived" ? stored : ours;
}

/** The failed turn, of which only the row is kept. */
function failedTurn(core: EngineCore, settling: SettlingTurn, reason: Failure): FailedTurn {
  const { pending } = settling;
  const end = runEnd(core, settling, { ...pending.blobs, run: null, state: null });
  return failTurn(pending, reason, { ...end, chain: noChain, digest: null });
}

/** The last resort, for example on a full disk: the row alone. If even that fails, recovery finishes the turn later (R2). */
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
    // Refused also where an earlier write had succeeded though the store reported a failure: then the turn ended as it should.
    if (result.outcome === "refused") return await lostTurn(core, settling, turn);
    // The live log stays: it is all that is left of the events.
    recorder.emit(terminal);
    await recorder.flushed();
  } catch (error) {
    core.deps.report(`turn ${pending.id} could not be failed; it will be at the next recovery`, error);
    core.unsettled.set(pending.id, reason);
    // The process that ends the turn keeps what the log has.
    await recorder.flushed();
    settling.live.leaveUnwritten(reason);
  }
  return turn;
}
