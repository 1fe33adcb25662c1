/**
 * Ends one lost turn as failed (R2, R6). What it did is sealed like that of any failed turn: its completed steps and the
 * text so far are its state, and it becomes the head (T12).
 */
import { failureOf, type Failure, type Warning } from "../../domain/errors.ts";
import { joinDeltas, type TurnEvent } from "../../domain/events.ts";
import { answerText, mediaOf, openToolCalls, type HistoryItem } from "../../domain/history.ts";
import { newId, sha256 } from "../../domain/ids.ts";
import { isMedia, type PartRef } from "../../domain/input-part.ts";
import type { State } from "../../domain/lineage.ts";
import { failTurn, mayBeParent, noChain, type FailedTurn, type PendingTurn, type Turn } from "../../domain/turn.ts";
import type { TurnFinish } from "../../records/record-store.ts";
import {
  UsageByModel,
  addUsage,
  isCounted,
  noUsage,
  unknownUsage,
  type RunSummary,
  type Usage,
} from "../../domain/usage.ts";
import { closeOpenItems } from "./end/close-open-items.ts";
import { historyNotKept } from "./end/decide-end.ts";
import { turnDigest } from "./kept/turn-digest.ts";
import { blobKeys, readBlob, type OpeningBlob, type RunBlob } from "./kept/turn-blobs.ts";
import { encodeEnd, messageToMailbox, type EncodedEnd } from "./kept/turn-end.ts";
import { runningBlobs } from "./kept/turn-progress.ts";
import { closingResults, hasOutput, stateAfter, type TurnBeginning } from "./kept/turn-state.ts";
import { dropLog } from "./live/drop-log.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { readLostRun, type LostRun } from "./lost-run.ts";
import { answerOpenCalls, userMessage } from "./request/envelope.ts";
import { feedbackMedia } from "./prepare/result-media.ts";
import { transcribeLost } from "./transcribe-lost.ts";

/**
 * Fails a turn that this process holds, and that runs nowhere. Returns false if another process has taken it over
 * meanwhile.
 */
export async function failLost(core: EngineCore, turn: PendingTurn, reason: Failure): Promise<boolean> {
  const { deps } = core;
  const run = await readLostRun(core, turn);
  const parent = turn.parentId === null ? null : await deps.records.turns.get(turn.parentId);
  const past = await readPast(core, turn, { run, parent });
  const { failed, answer, blobs } = sealLost(core, { turn, run, past, parent, reason });
  const session = await deps.records.sessions.get(turn.sessionId);
  const finish: TurnFinish = {
    turn: failed,
    runnerId: turn.runnerId,
    // The head that the lost process saw is not known. The session takes no other turn meanwhile, so it is the same (S5).
    head: mayBeParent(failed) ? { from: session?.headTurnId ?? null } : null,
    steps: run.steps.unstored,
    text: past.opening === null ? null : { instruction: past.opening.instruction, answer },
    controls: "drop",
    // The mailbox of the session receives the message of the subagent (A2).
    ...messageToMailbox(failed),
  };
  // First, because no later recovery looks at a turn that has ended (F11).
  await deps.records.budgets.settleLost({ turnId: turn.id });
  const result = await core.turnStore.finish(finish, { ...blobs, drop: runningBlobs(turn.id) });
  // Another process has taken the turn over, and keeps the content of the log.
  if (result.outcome !== "finished") return false;
  if (session !== null) core.changes.changed(session.orgId);
  await transcribeLost(core, { turn: failed, session, items: itemsToShow(turn, past) });
  await dropLog(deps, turn.id);
  return true;
}

/** Returns what a person reads of the turn. Of one that did nothing that is its instruction. */
function itemsToShow({ mode }: PendingTurn, { state, opening }: LostPast): readonly HistoryItem[] {
  if (state !== null) return state.entries.at(-1)?.items ?? [];
  return opening === null || opening.instruction === "" ? [] : [userMessage(mode, opening.instruction)];
}

/** What the turn continued and began with. */
interface LostPast {
  /** Null: it cannot be read, so the turn has neither a state nor a digest. */
  opening: OpeningBlob | null;
  openingHash: string;
  /** The state of the turn. Null if it did nothing, or if its history cannot be read. */
  state: State | null;
  warnings: Warning[];
}

interface Found {
  run: LostRun;
  parent: Turn | null;
}

async function readPast(core: EngineCore, turn: PendingTurn, { run, parent }: Found): Promise<LostPast> {
  const past: LostPast = { opening: null, openingHash: "", state: null, warnings: [] };
  try {
    past.opening = await readBlob<"opening">(core.deps.blobs, turn.blobs.opening, turn.id);
    past.openingHash = sha256((await core.deps.blobs.get(turn.blobs.opening)) ?? "");
    if (!hasOutput(run.items) && past.opening.toolResults.length === 0) return past;
    const before = await core.histories.state(turn.parentId);
    past.state = stateAfter(before, turn, wholeRun(turn, { opening: past.opening, run, parent }));
  } catch (error) {
    core.deps.report(`what the lost turn ${turn.id} did cannot be kept for the model`, error);
    past.warnings.push(historyNotKept(failureOf(error)));
  }
  return past;
}

const callLost =
  "failed: the program ended while this call was open; it is not known whether the call ran, so check before you repeat it";

/** Returns the beginning and the items of the turn, with a result for every call (T8). */
function wholeRun(
  turn: PendingTurn,
  { opening, run, parent }: Found & { opening: OpeningBlob },
): TurnBeginning & { items: HistoryItem[] } {
  const { results, approved } = answerOpenCalls(parent, opening.toolResults);
  const isOfApproved = (item: HistoryItem): boolean =>
    item.type === "tool_result" && approved.some(({ callId }) => callId === item.callId);
  const items = run.items.filter((item) => !isOfApproved(item));
  const closed = [...items, ...closingResults(openToolCalls(items), callLost)];
  if (run.beginning !== null) return { ...run.beginning, items: closed };
  const ofApproved = run.items.filter(isOfApproved);
  const unanswered = openToolCalls([...approved, ...ofApproved]);
  const answers = [...results, ...ofApproved, ...closingResults(unanswered, callLost)];
  return { ...openedWith(turn, opening, answers), items: closed };
}

/** Returns what the turn began with, from its row and its opening. */
function openedWith(
  { input = [], manifest }: PendingTurn,
  { message, earlier = [], toolResults }: OpeningBlob,
  answers: readonly HistoryItem[],
): TurnBeginning {
  const refs = input.flatMap(({ mode, name, mediaType, content }): (PartRef & { mode: string })[] =>
    content === null ? [] : [{ mode, name, mediaType, ...content }],
  );
  const isShown = ({ mode, mediaType }: { mode: string; mediaType: string }): boolean =>
    mode === "inline" && isMedia(mediaType);
  const refOf = ({ mode: _mode, ...ref }: PartRef & { mode: string }): PartRef => ref;
  const elsewhere = [...earlier.flatMap(mediaOf), ...toolResults.flatMap(feedbackMedia)];
  const media = refs.filter(isShown).map(refOf).slice(elsewhere.length);
  const item: HistoryItem = { type: "user", parts: message, ...(media.length > 0 && { media }) };
  return {
    newItems: [...answers, ...earlier, ...(message.length > 0 ? [item] : [])],
    sent: {
      chunks: manifest.chunks
        .filter(({ wasSent }) => wasSent)
        .map(({ id, path, contentHash: hash }) => ({ id, hash, path })),
      files: manifest.activeFiles
        .filter(({ wasSentToLLM }) => wasSentToLLM)
        .map(({ path, contentHash: hash }) => ({ path, hash })),
    },
    readable: refs.filter(({ mode }) => mode === "file").map(refOf),
    summary: null,
  };
}

interface LostTurn {
  turn: PendingTurn;
  run: LostRun;
  past: LostPast;
  parent: Turn | null;
  reason: Failure;
}

interface LostEnd {
  failed: FailedTurn;
  answer: string;
  blobs: EncodedEnd["blobs"];
}

/** Returns the failed turn with its digest (D2), and the blobs of its run and its state. */
function sealLost(core: EngineCore, lost: LostTurn): LostEnd {
  const { turn, run, past, parent, reason } = lost;
  const attempt = newId();
  const summary = runOf(core, turn, run);
  const { keys, blobs, hashes } = encodeEnd({
    run: { key: blobKeys.recoveredRun(turn.id, attempt), content: runBlob(lost, summary.usage) },
    state: { key: blobKeys.recoveredState(turn.id, attempt), content: past.state },
  });
  const unsealed = failTurn(turn, reason, {
    at: core.deps.now(),
    answeredAt: run.steps.all.at(-1)?.endedAt ?? null,
    blobs: { ...turn.blobs, ...keys },
    warnings: [...run.warnings, ...past.warnings],
    run: summary,
    chain: noChain,
    digest: null,
  });
  const answer = answerText(past.state?.entries.at(-1)?.items ?? run.items);
  if (past.opening === null) return { failed: unsealed, answer, blobs };
  const parentDigest = parent === null || parent.status === "pending" ? null : parent.digest;
  const sealed = { parent: parentDigest, steps: run.steps.all, hashes: { opening: past.openingHash, ...hashes } };
  const digest = turnDigest(unsealed, sealed);
  return { failed: { ...unsealed, digest }, answer, blobs };
}

function runBlob({ turn, run, past, reason }: LostTurn, usage: Usage): RunBlob {
  const { events, responses, outputs } = run;
  const begun: TurnEvent = {
    type: "run_started",
    sessionId: turn.sessionId,
    turnId: turn.id,
    parentTurnId: turn.parentId,
  };
  const warned = past.warnings.map((warning): TurnEvent => ({ type: "warning", warning }));
  const terminal: TurnEvent = { type: "run_failed", failure: reason, usage };
  const isBegun = events.some(({ type }) => type === "run_started");
  const all = [...(isBegun ? [] : [begun]), ...events, ...closeOpenItems(events), ...warned, terminal];
  return {
    format: 1,
    turnId: turn.id,
    events: joinDeltas(all),
    responses,
    ...(outputs.length > 0 && { outputs }),
  };
}

/** Returns the usage of the steps that ended. What a call used that was running then is unknown (T4). */
function runOf(
  { deps }: EngineCore,
  { createdAt, model: called }: PendingTurn,
  { events, steps }: LostRun,
): RunSummary {
  const begun = events.filter(({ type }) => type === "step_started").length;
  // A step of an earlier version may have counts that no store takes in a sum (T11).
  const used = steps.all.map(({ model, usage }) => ({ model, usage: isCounted(usage) ? usage : unknownUsage }));
  if (begun > used.length) used.push({ model: called, usage: unknownUsage });
  const byModel = new UsageByModel();
  for (const { model, usage } of used) byModel.add(model, usage);
  return {
    durationMs: Math.max(0, deps.now() - createdAt),
    modelRequests: steps.all.length,
    usage: used.map(({ usage }) => usage).reduce(addUsage, noUsage),
    byModel: byModel.sums,
  };
}
