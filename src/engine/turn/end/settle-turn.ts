/**
 * Ends a turn: it stores the blobs and the row, then it shows the terminal event (T11). The turn is finished even if one
 * of these fails: if its output cannot be stored, the turn fails with the reason, and what was acknowledged before is
 * kept.
 */
import { failureOf, type ErrorCode, type Failure } from "../../../domain/errors.ts";
import type { RunFailed } from "../../../domain/events.ts";
import { answerText } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import type { State } from "../../../domain/lineage.ts";
import { mayBeParent, type FailedTurn, type FinishedTurn } from "../../../domain/turn.ts";
import type { TurnFinish } from "../../../records/record-store.ts";
import { pause } from "../../../system/abort.ts";
import { ownsWorkspaces } from "../../access/access.ts";
import { decideEnd, didSomething, type Ending, endWarnings, historyNotKept } from "./decide-end.ts";
import { stateAtEnd, unplannedBeginning } from "./ended-history.ts";
import { undeliveredWarning } from "../kept/kept-steers.ts";
import { blobKeys } from "../kept/turn-blobs.ts";
import { encodeEnd, messageToMailbox } from "../kept/turn-end.ts";
import { runningBlobs } from "../kept/turn-progress.ts";
import { followControls } from "../live/control.ts";
import { dropLog } from "../live/drop-log.ts";
import type { EngineCore } from "../live/engine-core.ts";
import { runnerLost } from "../live/leases.ts";
import { mayGoOn } from "../live/pacing.ts";
import type { AnsweredTurn } from "../live/turn-stages.ts";
import { bareFailedTurn, sealedTurn } from "./sealed-turn.ts";
import { transcribe } from "./transcribe.ts";

export interface SettlingTurn extends AnsweredTurn {
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
    const state = await stateAtEnd(core.histories, settling, ending);
    return await storeEnd(core, settling, { ending, state });
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

interface TurnEnd {
  ending: Ending;
  /** Null: the turn failed and did nothing, or its state could not be built. */
  state: State | null;
}

/**
 * Stores the end, and shows it. A message from another process may arrive meanwhile. Then the end is stored again with the
 * message, under another key (R3).
 */
async function storeEnd(core: EngineCore, settling: SettlingTurn, end: TurnEnd): Promise<SettledTurn> {
  const { pending, recorder, live, place } = settling;
  const { ending, state } = end;
  for (let attempt = 1; ; attempt += 1) {
    const events = recorder.eventsWith(ending.terminal);
    const encoded = encodeEnd({
      run: { key: blobKeys.run(pending.id, attempt), content: recorder.runBlob(events) },
      state: { key: blobKeys.state(pending.id), content: state },
    });
    await mayGoOn();
    const turn = await onceReachable(core, () => sealedTurn(core, settling, { ending, encoded }));
    // Nothing is appended to the live log after the row is written, because from then on any process may delete the log.
    await recorder.flushed();
    const finish: TurnFinish = {
      ...commonFinish(core, settling, turn),
      head: mayBeParent(turn) ? { from: place.head } : null,
      text: turnText(settling, ending),
      controls: "take first",
      returnsSession: true,
    };
    const drop = recorder.hasProgress || live.steers.isUsed ? runningBlobs(turn.id) : [];
    await mayGoOn();
    const result = await onceReachable(core, () => core.turnStore.finish(finish, { ...encoded.blobs, drop }, mayGoOn));
    if (result.outcome === "finished") {
      await mayGoOn();
      core.remembered.places.ended(turn, result.after);
      remember(core, settling, { turn, state });
      writeDown(core, settling, { turn, state });
      live.store(events);
      return settled(turn, dropFlushed(core, settling));
    }
    if (result.outcome === "refused") {
      live.close();
      return settled(await lostTurn(core, settling, turn));
    }
    await onceReachable(core, () => followControls(core, live));
    leaveSteers(settling);
  }
}

/**
 * Does the work as soon as the stores can be reached, within a limited time: an answer is not lost because a database restarts. The
 * lease may end meanwhile. Then the store accepts the end unless another process was faster (R1). A server that stops does not wait.
 */
async function onceReachable<T>(core: EngineCore, work: () => Promise<T>): Promise<T> {
  const { monotonic } = core.deps;
  const end = monotonic() + limits.endWaitMsMax;
  for (let pauseMs = 50; ; pauseMs = Math.min(2 * pauseMs, limits.endPauseMsMax)) {
    try {
      return await work();
    } catch (error) {
      if (!unreachable.includes(failureOf(error).code) || core.closing.signal.aborted || monotonic() > end) throw error;
    }
    await pause(pauseMs, core.closing.signal);
  }
}

const unreachable: readonly ErrorCode[] = ["records_unavailable", "blobs_unavailable"];

/** Returns what is stored of every end: the row, the steps that are not stored yet, and the message of a subagent (A2). */
function commonFinish(
  { deps }: EngineCore,
  { recorder: { unstoredStep } }: SettlingTurn,
  turn: FinishedTurn,
): Pick<TurnFinish, "turn" | "runnerId" | "steps" | "message"> {
  const steps = unstoredStep === null ? [] : [unstoredStep];
  return { turn, runnerId: deps.runner.id, steps, ...messageToMailbox(turn) };
}

interface StoredEnd {
  turn: FinishedTurn;
  /** Null: the turn leaves nothing to the history. Only its instruction is written into the transcript. */
  state: State | null;
}

/** Keeps in memory what the next turn needs. */
function remember(core: EngineCore, { plan }: SettlingTurn, { turn, state }: StoredEnd): void {
  if (state !== null) core.histories.remember(state);
  if (plan !== null && plan.first !== null) core.histories.rememberBody(turn.id, plan.first.request.body);
}

/** Gives the turn to the transcript of its workspace, where it is written as soon as doors have sent its end (W4). */
function writeDown(core: EngineCore, settling: SettlingTurn, { turn, state }: StoredEnd): void {
  const { place, isTranscribed, accepted } = settling;
  if (isTranscribed === true || place.subagent !== null || !ownsWorkspaces(accepted.caller)) return;
  const items = state === null ? unplannedBeginning(settling).newItems : (state.entries.at(-1)?.items ?? []);
  const { bootPrompt } = accepted.conversationContext;
  transcribe(core, { turn, session: place.session, items, bootPrompt });
}

/** Returns the text that search finds the turn by: the whole instruction and the whole answer (S8). */
function turnText({ plan, accepted, recorder }: SettlingTurn, ending: Ending): TurnFinish["text"] {
  if (plan === null && ending.items === null) return null;
  return {
    instruction: accepted.instruction,
    answer: answerText(ending.items ?? recorder.items),
  };
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
  if (stored?.status === "pending") return bareFailedTurn(core, settling, runnerLost);
  if (stored === null || stored.blobs.run !== null) await dropFlushed(core, settling);
  return stored !== null && stored.status !== "archived" ? stored : ours;
}

/**
 * Stores the row alone. This is the last resort, for example on a full disk. If it fails too, a recovery finishes the
 * turn later (R2).
 */
async function failWithoutBlobs(core: EngineCore, settling: SettlingTurn, reason: Failure): Promise<FinishedTurn> {
  const { pending, recorder } = settling;
  const terminal: RunFailed = { type: "run_failed", failure: reason, usage: recorder.usage };
  const unkept = didSomething(settling) ? [historyNotKept(reason)] : [];
  const bare = bareFailedTurn(core, settling, reason);
  // A recovery keeps more than the row would: what the live log has becomes part of the history.
  if (reason.code === "records_unavailable") return await leaveToRecovery(core, settling, bare);
  const turn = { ...bare, warnings: [...bare.warnings, ...unkept] };
  try {
    const finish: TurnFinish = {
      ...commonFinish(core, settling, turn),
      head: null,
      text: null,
      controls: "take first",
    };
    const result = await core.turnStore.finish(finish, { put: [], drop: [], history: null });
    if (result.outcome === "controlled") {
      await followControls(core, settling.live);
      leaveSteers(settling);
      return await failWithoutBlobs(core, settling, reason);
    }
    settling.live.close();
    // The store also refuses if an earlier write succeeded although it reported a failure: the turn ended as it should.
    if (result.outcome === "refused") return await lostTurn(core, settling, turn);
    writeDown(core, settling, { turn, state: null });
    // The live log is kept, because nothing else has the events.
    for (const warning of unkept) recorder.emit({ type: "warning", warning });
    recorder.emit(terminal);
    await recorder.flushed();
  } catch (error) {
    core.deps.report(`turn ${pending.id} could not be marked as failed; the next recovery will do it`, error);
    return await leaveToRecovery(core, settling, turn);
  }
  return turn;
}

/** Leaves the turn as it is stored. The process that ends it keeps the content of the live log. */
async function leaveToRecovery(core: EngineCore, settling: SettlingTurn, turn: FailedTurn): Promise<FailedTurn> {
  const { live, recorder } = settling;
  const [reason] = turn.failures;
  core.unsettled.set(turn.id, reason);
  await recorder.flushed();
  live.leaveUnwritten(reason);
  return turn;
}
