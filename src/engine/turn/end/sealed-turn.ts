/** Makes the row of a turn that has ended, and seals it with its digest (D2). */
import type { Failure } from "../../../domain/errors.ts";
import { answerText } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import { historyItems } from "../../../domain/lineage.ts";
import type { Step } from "../../../domain/step.ts";
import {
  completeTurn,
  failTurn,
  noChain,
  parkTurn,
  type FailedTurn,
  type FinishedTurn,
  type PendingTurn,
  type ProviderChain,
  type RunEnd,
} from "../../../domain/turn.ts";
import type { Ending } from "./decide-end.ts";
import { wholeBeginning } from "./ended-history.ts";
import { emptyHistoryKey, extendedKey, broughtResults, ownMessage, visibleToClient } from "../kept/history-key.ts";
import { turnDigest } from "../kept/turn-digest.ts";
import type { EncodedEnd } from "../kept/turn-end.ts";
import type { EngineCore } from "../live/engine-core.ts";
import type { RunRecorder } from "../live/run-recorder.ts";
import type { AnsweredTurn } from "../live/turn-stages.ts";

interface EndToSeal {
  ending: Ending;
  encoded: EncodedEnd;
}

/** Returns the finished turn with its digest. */
export async function sealedTurn(
  core: EngineCore,
  turn: AnsweredTurn,
  { ending, encoded }: EndToSeal,
): Promise<FinishedTurn> {
  const { pending, place, recorder, openingHash } = turn;
  const end = runEnd(core, turn, { ...pending.blobs, ...encoded.keys });
  const chain = chainOf(core, turn);
  const key = historyKeyOf(turn, ending);
  const historyKey = key === null ? {} : { historyKey: key };
  const unsealed = finishedTurn(asSent(turn), ending, { ...end, chain, digest: null, ...historyKey });
  const steps = await stepsOf(core, recorder);
  const hashes = { opening: openingHash, ...encoded.hashes };
  const sealed = { parent: place.parent?.digest ?? null, steps, hashes };
  return { ...unsealed, digest: turnDigest(unsealed, sealed) };
}

/** Returns the failed turn, of which only the row is stored. It has no digest. */
export function bareFailedTurn(core: EngineCore, turn: AnsweredTurn, reason: Failure): FailedTurn {
  const { pending } = turn;
  const end = runEnd(core, turn, { ...pending.blobs, run: null, state: null });
  return failTurn(pending, reason, { ...end, chain: noChain, digest: null });
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
 * Returns the turn with the manifest of what was really sent: a rebuilt chain was a replay, a compaction sends more, and
 * the model may have read skills.
 */
function asSent({ pending, plan, recorder }: AnsweredTurn): PendingTurn {
  const sent = plan?.manifest ?? pending.manifest;
  const read = plan?.accepted.surroundings.skills.read ?? [];
  const skills = sent.skills === undefined || read.length === 0 ? {} : { skills: { ...sent.skills, read } };
  const manifest = { ...sent, ...skills };
  return { ...pending, manifest: recorder.isRebuilt ? { ...manifest, history: "replay" } : manifest };
}

function runEnd(
  core: EngineCore,
  { pending, recorder }: AnsweredTurn,
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
function chainOf(core: EngineCore, { answer, plan, recorder }: AnsweredTurn): ProviderChain {
  if (answer.ended !== "answered" || plan === null) return noChain;
  const continued = plan.first?.call.previousResponseId ?? null;
  const previousResponseId = recorder.isRebuilt ? null : continued;
  if (plan.accepted.history !== "chain" || answer.responseId === null) return { ...noChain, previousResponseId };
  const account = plan.accepted.provider.account;
  const expiresAt = core.deps.now() + limits.chainLifetimeMs;
  return { account, responseId: answer.responseId, previousResponseId, expiresAt };
}

/** Returns the key by which a client finds the turn. Null if it cannot be found so (O5). */
function historyKeyOf(turn: AnsweredTurn, ending: Ending): string | null {
  const { plan, place, request } = turn;
  if (request.isFindable !== true || plan === null || ending.status === "failed") return null;
  const before = place.parent?.historyKey ?? extendedKey(emptyHistoryKey, historyItems(plan.state));
  const message = ownMessage(plan.newItems, plan.accepted.input, request.input);
  const brought = { message, results: broughtResults(request.toolResults) };
  return extendedKey(before, visibleToClient(wholeBeginning(plan).newItems, ending.items), brought);
}

/** Returns all steps of the turn. The last one is usually not stored yet. */
async function stepsOf({ deps }: EngineCore, { turnId, modelRequests, unstoredStep }: RunRecorder): Promise<Step[]> {
  const written = modelRequests - (unstoredStep === null ? 0 : 1);
  const stored = written > 0 ? await deps.records.turns.listSteps(turnId) : [];
  return unstoredStep === null ? stored : [...stored, unstoredStep];
}
