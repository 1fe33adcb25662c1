/**
 * Ends a turn: it stores the blobs and the row, then it shows the terminal event (T11). The turn is finished even if one
 * of these fails: if its output cannot be stored, the turn fails with the reason, and what was acknowledged before is
 * kept.
 */
import { builtInBootPrompt } from "../../domain/context.ts";
import { failureOf, type Failure } from "../../domain/errors.ts";
import type { RunFailed, TurnEvent } from "../../domain/events.ts";
import { answerText } from "../../domain/history.ts";
import { limits } from "../../domain/limits.ts";
import { historyItems, type State } from "../../domain/lineage.ts";
import type { Step } from "../../domain/step.ts";
import {
  completeTurn,
  failTurn,
  mayBeParent,
  noChain,
  parkTurn,
  type FailedTurn,
  type FinishedTurn,
  type PendingTurn,
  type ProviderChain,
  type RunEnd,
} from "../../domain/turn.ts";
import type { TurnFinish } from "../../records/record-store.ts";
import { ownsWorkspaces } from "../access/access.ts";
import { callNotRun, decideEnd, didSomething, type Ending, endWarnings, historyNotKept } from "./decide-end.ts";
import { followControls } from "./live/control.ts";
import { dropLog } from "./live/drop-log.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { runnerLost } from "./live/leases.ts";
import { earlierOf, withResults } from "./prepare/plan-turn.ts";
import { plannedBeginning, type TurnPlan } from "./prepare/turn-plan.ts";
import { userMessage } from "./request/envelope.ts";
import type { RunRecorder } from "./live/run-recorder.ts";
import { transcribe } from "./transcribe.ts";
import type { AnsweredTurn } from "./live/turn-stages.ts";
import { turnDigest } from "./kept/turn-digest.ts";
import { blobKeys } from "./kept/turn-blobs.ts";
import { encodeEnd, messageToMailbox, type EncodedEnd } from "./kept/turn-end.ts";
import { emptyHistoryKey, extendedKey, ownMessage, visibleToClient } from "./kept/history-key.ts";
import { undeliveredWarning } from "./kept/kept-steers.ts";
import { runningBlobs } from "./kept/turn-progress.ts";
import { closingResults, stateAfter, type TurnBeginning } from "./kept/turn-state.ts";

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
  for (const warning of endWarnings(settling)) recorder.warn(warning);
  await recorder.taken();
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
  for (const { text } of live.steers.close()) recorder.warn(undeliveredWarning(text));
}

async function keepAndFinish(core: EngineCore, settling: SettlingTurn, ending: Ending): Promise<SettledTurn> {
  const { recorder, attempt = 1 } = settling;
  const kept = await encodeWith(core, settling, ending);
  const turn = await sealedTurn(core, settling, { ending, kept });
  // Nothing is appended to the live log after the row is written, because from then on any process may delete the log.
  await recorder.flushed();
  const finish: TurnFinish = {
    turn,
    runnerId: core.deps.runner.id,
    head: mayBeParent(turn) ? { from: settling.place.head } : null,
    steps: recorder.unstoredStep === null ? [] : [recorder.unstoredStep],
    text: turnText(settling, ending),
    controls: "take first",
    ...messageToMailbox(turn),
  };
  const drop = recorder.hasProgress || settling.live.steers.isUsed ? runningBlobs(turn.id) : [];
  const result = await core.turnStore.finish(finish, { ...kept.blobs, drop });
  if (result.outcome === "controlled") {
    await followControls(core, settling.live);
    leaveSteers(settling);
    return await keepAndFinish(core, { ...settling, attempt: attempt + 1 }, ending);
  }
  if (result.outcome === "refused") {
    settling.live.close();
    return settled(await lostTurn(core, settling, turn));
  }
  remember(core, settling, { turn, state: kept.state });
  await writeDown(core, settling, { turn, state: kept.state });
  settling.live.store(kept.events);
  return settled(turn, dropFlushed(core, settling));
}

interface KeptEnd extends EncodedEnd {
  events: TurnEvent[];
  /** Null: the turn failed and did nothing, or its state could not be built. */
  state: State | null;
}

async function encodeWith(core: EngineCore, settling: SettlingTurn, ending: Ending): Promise<KeptEnd> {
  const { pending, recorder, attempt = 1 } = settling;
  const state = await nextState(core, settling, ending);
  const events = recorder.eventsWith(ending.terminal);
  const encoded = encodeEnd({
    run: { key: blobKeys.run(pending.id, attempt), content: recorder.runBlob(events) },
    state: { key: blobKeys.state(pending.id), content: state },
  });
  return { ...encoded, events, state };
}

/**
 * Returns the state of the turn. Null if the turn failed and did nothing. A turn that failed before it was planned brings
 * only its instruction and the results of the caller. If their history cannot be read, the turn is never a parent, and
 * says so (S5, T12).
 */
async function nextState(core: EngineCore, settling: SettlingTurn, ending: Ending): Promise<State | null> {
  const { pending, plan, place, recorder } = settling;
  const { items } = ending;
  if (items === null) return null;
  if (plan !== null) return stateAfter(plan.state, pending, { ...wholeBeginning(plan), items });
  try {
    const parent = await core.histories.state(place.parent?.id ?? null);
    return stateAfter(parent, pending, { ...unplannedBeginning(settling), items });
  } catch (error) {
    if (settling.attempt === undefined) recorder.warn(historyNotKept(failureOf(error)));
    return null;
  }
}

/** Returns the beginning of the turn. A call that was allowed and did not run has a result that says so (T8). */
function wholeBeginning(plan: TurnPlan): TurnBeginning {
  const answered = new Set(plan.newItems.flatMap((item) => (item.type === "tool_result" ? [item.callId] : [])));
  const open = plan.approved.filter(({ callId }) => !answered.has(callId));
  return plannedBeginning(open.length === 0 ? plan : withResults(plan, closingResults(open, callNotRun)));
}

function unplannedBeginning({ accepted, closed }: SettlingTurn): TurnBeginning {
  const { instruction, mode } = accepted;
  const results = [...closed.results, ...closingResults(closed.approved, callNotRun)];
  const message = instruction === "" ? [] : [userMessage(mode.id, instruction)];
  const earlier = earlierOf(accepted, []);
  return {
    newItems: [...results, ...earlier, ...message],
    sent: { chunks: [], files: [] },
    readable: [],
    summary: null,
  };
}

interface EndToSeal {
  ending: Ending;
  kept: KeptEnd;
}

/** Returns the finished turn with its digest (D2). */
async function sealedTurn(
  core: EngineCore,
  settling: SettlingTurn,
  { ending, kept }: EndToSeal,
): Promise<FinishedTurn> {
  const { pending, place, recorder } = settling;
  const end = runEnd(core, settling, { ...pending.blobs, ...kept.keys });
  const chain = chainOf(core, settling);
  const key = historyKeyOf(settling, ending);
  const historyKey = key === null ? {} : { historyKey: key };
  const unsealed = finishedTurn(asSent(settling), ending, { ...end, chain, digest: null, ...historyKey });
  const steps = await stepsOf(core, recorder);
  const hashes = { opening: settling.openingHash, ...kept.hashes };
  const sealed = { parent: place.parent?.digest ?? null, steps, hashes };
  return { ...unsealed, digest: turnDigest(unsealed, sealed) };
}

/** Returns the key by which a client finds the turn. Null if it cannot be found so (O5). */
function historyKeyOf(settling: SettlingTurn, ending: Ending): string | null {
  const { plan, place, request } = settling;
  if (request.isFindable !== true || plan === null || ending.status === "failed") return null;
  const before = place.parent?.historyKey ?? extendedKey(emptyHistoryKey, historyItems(plan.state));
  const own = ownMessage(plan.newItems, plan.accepted.input, request.input);
  return extendedKey(before, visibleToClient(wholeBeginning(plan).newItems, ending.items), own);
}

/** Keeps in memory what the next turn needs. */
function remember(
  core: EngineCore,
  settling: SettlingTurn,
  { turn, state }: { turn: FinishedTurn; state: State | null },
): void {
  const { plan } = settling;
  if (state !== null) core.histories.remember(state);
  if (plan !== null && plan.first !== null) core.histories.rememberBody(turn.id, plan.first.request.body);
}

interface TranscribedEnd {
  turn: FinishedTurn;
  /** Null: the turn failed and did nothing. Only its instruction is written. */
  state: State | null;
}

/** Writes the turn into the transcript of its workspace, before any listener learns of its end (W4). */
async function writeDown(core: EngineCore, settling: SettlingTurn, { turn, state }: TranscribedEnd): Promise<void> {
  const { place, isTranscribed, accepted } = settling;
  if (isTranscribed === true || place.subagent !== null || !ownsWorkspaces(accepted.caller)) return;
  const items = state === null ? unplannedBeginning(settling).newItems : (state.entries.at(-1)?.items ?? []);
  const { bootPrompt } = accepted.conversationContext;
  const prompt = bootPrompt === builtInBootPrompt || bootPrompt === "" ? null : bootPrompt;
  await transcribe(core, { turn, session: place.session, items, prompt });
}

/** Returns all steps of the turn. The last one is usually not stored yet. */
async function stepsOf({ deps }: EngineCore, { turnId, modelRequests, unstoredStep }: RunRecorder): Promise<Step[]> {
  const written = modelRequests - (unstoredStep === null ? 0 : 1);
  const stored = written > 0 ? await deps.records.turns.listSteps(turnId) : [];
  return unstoredStep === null ? stored : [...stored, unstoredStep];
}

/**
 * Returns the turn with the manifest of what was really sent: a rebuilt chain was a replay, a compaction sends more, and
 * the model may have read skills.
 */
function asSent({ pending, plan, recorder }: SettlingTurn): PendingTurn {
  const sent = plan?.manifest ?? pending.manifest;
  const read = plan?.accepted.surroundings.skills.read ?? [];
  const skills = sent.skills === undefined || read.length === 0 ? {} : { skills: { ...sent.skills, read } };
  const manifest = { ...sent, ...skills };
  return { ...pending, manifest: recorder.isRebuilt ? { ...manifest, history: "replay" } : manifest };
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
function turnText({ plan, accepted, recorder }: SettlingTurn, ending: Ending): TurnFinish["text"] {
  if (plan === null && ending.items === null) return null;
  return {
    instruction: accepted.instruction,
    answer: answerText(ending.items ?? recorder.items),
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

/** Deletes the live log, once everything that was recorded is in it. Never rejects. */
async function dropFlushed({ deps }: EngineCore, { recorder }: SettlingTurn): Promise<void> {
  await recorder.flushed();
  await dropLog(deps, recorder.turnId);
}

/**
 * Handles a turn that another process took over, and finished or is about to finish (R1). The end of that process
 * counts, and ours is dropped. The live log is kept as long as that process may still store its events, and if it could
 * store nothing: listeners have seen the events (V2).
 */
async function lostTurn(core: EngineCore, settling: SettlingTurn, ours: FinishedTurn): Promise<FinishedTurn> {
  const { pending } = settling;
  core.deps.report(
    `turn ${pending.id} was taken over or finished by another process: this process had lost its lease, or an answer of the store`,
  );
  const stored = await core.deps.records.turns.get(pending.id);
  if (stored?.status === "pending") return failedTurn(core, settling, runnerLost);
  if (stored === null || stored.blobs.run !== null) await dropFlushed(core, settling);
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
  const unkept = didSomething(settling) ? [historyNotKept(reason)] : [];
  const bare = failedTurn(core, settling, reason);
  const turn = { ...bare, warnings: [...bare.warnings, ...unkept] };
  try {
    const finish: TurnFinish = {
      turn,
      runnerId: core.deps.runner.id,
      head: null,
      steps: recorder.unstoredStep === null ? [] : [recorder.unstoredStep],
      text: null,
      controls: "drop",
      ...messageToMailbox(turn),
    };
    const result = await core.turnStore.finish(finish, { put: [], drop: [], history: null });
    settling.live.close();
    // The store also refuses if an earlier write succeeded although it reported a failure: the turn ended as it should.
    if (result.outcome === "refused") return await lostTurn(core, settling, turn);
    await writeDown(core, settling, { turn, state: null });
    // The live log is kept, because nothing else has the events.
    for (const warning of unkept) recorder.emit({ type: "warning", warning });
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
