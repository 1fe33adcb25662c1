/**
 * Opens a turn: its opening blob and its row are stored, before the model is called. They are stored only if the head is
 * still the expected one and no other turn runs (T5, S5). A refused opening leaves nothing behind.
 */
import { AptoveError, failureOf } from "../../domain/errors.ts";
import { newId, sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { inheritedMarks } from "../../domain/pin.ts";
import { sessionName, type Session } from "../../domain/session.ts";
import type { SubagentBounds } from "../../domain/subagent.ts";
import { summarize, type TurnDraft } from "../../domain/turn.ts";
import type { OpenResult, TurnOpening } from "../../records/record-store.ts";
import type { BlobWrite } from "../../records/turn-store.ts";
import { requestHash } from "./prepare/request-hash.ts";
import type { AcceptedRequest } from "./prepare/accepted-request.ts";
import type { EngineCore } from "./live/engine-core.ts";
import type { TurnRequest } from "../engine.ts";
import { budgetTargets } from "../access/budgets.ts";
import { holdsLease } from "./live/leases.ts";
import type { LiveTurn } from "./live/live-turn.ts";
import { RunRecorder } from "./live/run-recorder.ts";
import { earlierHistory, firstText } from "./prepare/earlier.ts";
import { keptResults } from "./prepare/result-media.ts";
import { bareManifest } from "./prepare/turn-manifest.ts";
import { recoverTurn } from "./recover-turns.ts";
import { blankSession } from "./new-session.ts";
import type { OpenedTurn, PreparedTurn } from "./live/turn-stages.ts";
import { blobKeys, encodeBlob, type OpeningBlob } from "./kept/turn-blobs.ts";

/**
 * The opened turn. `repeats` is the id of the turn of an equal request with the same idempotency key, which was faster
 * (T13).
 */
export type OpenTurnResult = { opened: OpenedTurn } | { repeats: string };

export async function openTurn(core: EngineCore, turn: PreparedTurn): Promise<OpenTurnResult> {
  const { live } = turn;
  const key = openingKey(turn);
  const bytes = encodeBlob("opening", openingBlob(turn));
  const parts = "plan" in turn.prepared ? turn.prepared.plan.input.blobs : [];
  await keepPrompt(core, turn.accepted);
  const attempt = { opening: turnOpening(core, turn, key), blobs: [{ key, bytes }, ...parts] };
  let result = await openRow(core, live, attempt);
  if (result.outcome === "busy" && (await recoverTurn(core, result.runningTurnId))) {
    result = await openRow(core, live, attempt);
  }
  if (result.outcome === "opened") {
    live.hasBudget = result.hasBudget;
    const found = (await nameBlankSession(core, turn)) ?? attempt.opening.newSession;
    const session = found === null ? null : { ...found, activeAt: result.turn.createdAt };
    const recorder = new RunRecorder({
      turnId: live.turnId,
      log: core.deps.log,
      mayWrite: () => holdsLease(core, live),
      onAppended: (events) => live.addedEvents(events),
      onLogFailure: (failure) => core.deps.report(failure.message),
    });
    return { opened: { ...turn, pending: result.turn, openingHash: sha256(bytes), session, recorder } };
  }
  if (result.outcome === "idempotent") {
    checkSameRequest(result.earlier.requestHash, turn.request);
    return { repeats: result.earlier.turnId };
  }
  if (result.outcome === "limited") throw core.quotas.refusal(turn.accepted.caller, result);
  throw refusal(result);
}

/** Stores the boot prompt once, under the hash that manifests keep (G1). */
async function keepPrompt(
  { deps, remembered: { prompts } }: EngineCore,
  { prompt, promptHash }: AcceptedRequest,
): Promise<void> {
  if (prompts.get(promptHash) === true) return;
  const key = blobKeys.prompt(promptHash);
  if ((await deps.blobs.size(key)) === null) await deps.blobs.put(key, Buffer.from(prompt));
  prompts.set(promptHash, true, 1);
}

interface OpeningAttempt {
  opening: TurnOpening;
  blobs: readonly BlobWrite[];
}

/** Opens the row. The lease counts from before the request to the store (R1). */
async function openRow(core: EngineCore, live: LiveTurn, attempt: OpeningAttempt): Promise<OpenResult> {
  const asked = core.deps.monotonic();
  const result = await openOrFind(core, attempt);
  if (result.outcome === "opened") live.leaseUntil = asked + limits.leaseMs;
  return result;
}

/**
 * Opens the row. A store that failed may have opened the turn nevertheless, so it is looked up. If that fails too, the
 * next recovery handles the turn.
 */
async function openOrFind(core: EngineCore, attempt: OpeningAttempt): Promise<OpenResult> {
  const { records } = core.deps;
  const { id, runnerId, blobs } = attempt.opening.turn;
  try {
    return await core.turnStore.open(attempt.opening, attempt.blobs);
  } catch (error) {
    core.unsettled.set(id, failureOf(error));
    const turn = await records.turns.get(id).catch(() => null);
    if (turn?.status !== "pending" || turn.runnerId !== runnerId || turn.blobs.opening !== blobs.opening) throw error;
    core.unsettled.delete(id);
    // Whether it has a budget is not known, so every call asks.
    return { outcome: "opened", turn, hasBudget: true };
  }
}

/**
 * Returns the key of the opening blob. A session that was made before its first turn may get two first turns at once,
 * and both would have the id of the session (S4). So each attempt writes under its own name, and the row decides which
 * one counts.
 */
function openingKey({ live, place: { session } }: PreparedTurn): string {
  return blobKeys.opening(live.turnId, session?.lastSequence === 0 ? newId() : null);
}

/**
 * Returns the session with its name. A session that was made without an instruction is named by its first instruction
 * (S2).
 */
async function nameBlankSession(
  core: EngineCore,
  { place: { session }, accepted }: PreparedTurn,
): Promise<Session | null> {
  if (session === null || session.nameIsSet || session.lastSequence > 0) return session;
  const name = sessionName(accepted.instruction || firstText(accepted.earlier));
  await core.deps.records.sessions.update(session.id, { proposedName: name }, null);
  return { ...session, name };
}

export function checkSameRequest(earlierHash: string, request: TurnRequest): void {
  if (earlierHash === requestHash(request)) return;
  throw new AptoveError("idempotency_key_reused", "use a new key for a new request");
}

function openingBlob({ live, accepted, prepared }: PreparedTurn): OpeningBlob {
  const plan = "plan" in prepared ? prepared.plan : null;
  const { tools, storedWith } = accepted.clientTools;
  return {
    format: 1,
    turnId: live.turnId,
    base: plan?.base?.turnId ?? null,
    instruction: accepted.instruction,
    ...(accepted.earlier.length > 0 && { earlier: earlierHistory(accepted, plan?.input.media ?? []) }),
    toolResults: keptResults(accepted, plan?.input.media ?? []),
    ...(accepted.mail.length > 0 && { mailbox: [...accepted.mail] }),
    ...(tools.length > 0 && storedWith === null && { tools: [...tools] }),
    ...(Object.keys(accepted.asked).length > 0 && { asked: accepted.asked }),
    message: plan?.message ?? [],
    request: plan?.first?.recipe ?? null,
  };
}

function turnOpening(core: EngineCore, opening: PreparedTurn, key: string): TurnOpening {
  const { live, place, request, accepted } = opening;
  const runLimits = core.quotas.runLimits(accepted.caller);
  return {
    turn: turnDraft(core, opening, key),
    newSession: place.session === null ? newSession(core, opening) : null,
    expectedHead: place.head,
    ...(place.subagent !== null && { subagent: { ...subagentBounds, seenTurnId: place.subagent.seenTurnId } }),
    ...(place.mail.takes.length > 0 && { mail: place.mail.takes }),
    idempotency:
      request.idempotencyKey === undefined
        ? null
        : {
            userId: accepted.caller.userId,
            key: request.idempotencyKey,
            requestHash: requestHash(request),
            turnId: live.turnId,
          },
    leaseMs: limits.leaseMs,
    ...(place.remembered !== null && { remembered: place.remembered }),
    ...(runLimits !== undefined && { runLimits }),
    budgets: budgetTargets(accepted.caller, live.sessionId),
  };
}

function turnDraft(core: EngineCore, { live, accepted, place, prepared }: PreparedTurn, key: string): TurnDraft {
  const now = core.deps.now();
  return {
    id: live.turnId,
    sessionId: live.sessionId,
    parentId: place.parent?.id ?? null,
    depth: (place.parent?.depth ?? 0) + 1,
    kind: place.subagent === null ? "agent" : "async_subagent",
    spawnedBy: place.subagent?.spawnedBy ?? null,
    ...(place.subagent !== null && { subagent: place.subagent.ref }),
    rerunOf: place.rerunOf,
    createdAt: now,
    createdBy: accepted.caller.userId,
    mode: accepted.mode.id,
    provider: accepted.provider.name,
    model: accepted.model,
    instructionSummary: summarize(accepted.instruction || firstText(accepted.earlier)),
    ...("plan" in prepared && prepared.plan.input.parts.length > 0 && { input: prepared.plan.input.parts }),
    workspaceId: accepted.workspaceId,
    repo: accepted.retrieval.repo,
    manifest: "plan" in prepared ? prepared.plan.manifest : bareManifest(live.turnId, accepted),
    status: "pending",
    blobs: { opening: key, run: null, state: null },
    warnings: [],
    runnerId: core.deps.runner.id,
  };
}

function newSession(core: EngineCore, { live, place, request, accepted }: PreparedTurn): Session {
  const start = request.session ?? {};
  const { repo, paths, language } = accepted.retrieval;
  const name = start.name ?? sessionName(accepted.instruction || firstText(accepted.earlier));
  return blankSession({
    id: live.sessionId,
    caller: accepted.caller,
    now: core.deps.now(),
    start: {
      ...start,
      name,
      ...(accepted.workspaceId !== null && { workspaceId: accepted.workspaceId }),
      ...(repo !== null && { repo }),
      ...(paths.names.length > 0 && { otherRepos: paths.names.slice(1) }),
      ...(language !== null && { defaultLanguage: language }),
    },
    choice: accepted.forSession,
    nameIsSet: start.name !== undefined,
    originTurnId: place.originTurnId,
    pins: inheritedMarks(place.model?.pins ?? [], place.parent?.depth ?? 0),
    turnNames: inheritedMarks(place.model?.turnNames ?? [], place.parent?.depth ?? 0),
  });
}

const subagentBounds: SubagentBounds = {
  runningMax: limits.subagentsRunningMax,
  turnsMax: limits.subagentTurnsPerSessionMax,
};

const boundWords: Record<keyof SubagentBounds, string> = {
  runningMax: `a session can have at most ${limits.subagentsRunningMax} running subagents; wait until one ends`,
  turnsMax: `the subagents of a session can have at most ${limits.subagentTurnsPerSessionMax} turns in total`,
};

/** Returns the error for the store's refusal. */
function refusal(result: Exclude<OpenResult, { outcome: "opened" | "idempotent" | "limited" }>): AptoveError {
  switch (result.outcome) {
    case "busy":
      return new AptoveError("session_busy", `turn ${result.runningTurnId} is running; wait for it or interrupt it`, {
        facts: { turnId: result.runningTurnId },
      });
    case "head_moved":
      return new AptoveError(
        "head_moved",
        `the head is now ${result.headTurnId ?? "not set"}; read it and send the request again`,
        {
          facts: { headTurnId: result.headTurnId },
        },
      );
    case "subagents_limited":
      return new AptoveError("subagents_limited", boundWords[result.bound]);
    case "subagent_moved":
      return new AptoveError(
        "subagent_moved",
        "another turn of the subagent has started; list the subagents and try again",
      );
    case "mail_taken":
      return new AptoveError(
        "mailbox_changed",
        "another turn has taken messages; read the mailbox and send the request again",
      );
    case "archived":
      return new AptoveError("session_archived", "unarchive the session first");
    case "missing":
      return new AptoveError("not_found", "there is no such session");
  }
}
