/**
 * The sequence of a turn, as a table of contents. Each step is one line here and one file beside it. `turn-stages.ts`
 * names the stages between them.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { answerOf } from "../../domain/events.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { FinishedTurn } from "../../domain/turn.ts";
import { acceptRequest } from "./prepare/accept.ts";
import { withEarlierTurns } from "./prepare/summarised/turn-tool.ts";
import type { EngineCore } from "./live/engine-core.ts";
import type { KeptRules } from "./kept/kept-rules.ts";
import type { EndedTurn, RunningTurn, TurnRequest } from "../engine.ts";
import type { LiveTurn } from "./live/live-turn.ts";
import { clientToolsOf } from "./prepare/client-tools.ts";
import { openTurn } from "./open-turn.ts";
import { placeTurn, type PlaceRequest } from "./place-turn.ts";
import type { TurnPlacement } from "./prepare/turn-placement.ts";
import { tryToPlan } from "./prepare/plan-turn.ts";
import { gatheredContext } from "./prepare/turn-manifest.ts";
import { answerOpenCalls } from "./request/envelope.ts";
import type { PlanResult } from "./prepare/turn-plan.ts";
import { findRepeated, repeatedTurn } from "./repeated-request.ts";
import { runSteps } from "./run/run-steps.ts";
import { settleTurn } from "./end/settle-turn.ts";
import { mayGoOn, mayStart } from "./live/pacing.ts";
import { eventsOf, shuttingDown } from "./live/turn-events.ts";
import { TurnWatch } from "./live/turn-watch.ts";
import type { AcceptedTurn, OpenedTurn, RegisteredTurn } from "./live/turn-stages.ts";

/** Starts a turn. Resolves once the turn is open and durable; the run continues on its own (R5). */
export async function startTurn(core: EngineCore, caller: Caller, asked: TurnRequest): Promise<RunningTurn> {
  await mayStart();
  refuseWhileClosing(core);
  const repeated = await findRepeated(core, caller, asked);
  if (repeated !== null) return repeated;

  await core.quotas.refuseEarly(caller);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await placeAndLaunch(core, caller, asked);
    } catch (error) {
      if (attempt >= limits.placeAttemptsMax || !mayFollowHead(asked, error)) throw error;
    }
  }
}

/**
 * Returns true if the turn may continue from the new head. A caller that names only the session continues from whatever
 * its head is: the end of a turn that ran meanwhile, or of a lost turn that was recovered for this request (T5, T12).
 */
function mayFollowHead({ sessionId, expectedHead, rerun, after }: TurnRequest, error: unknown): boolean {
  if (!(error instanceof AptoveError)) return false;
  // Another turn was faster, so this one becomes a fork (O2).
  if (after !== undefined) return error.code === "head_moved" || error.code === "session_busy";
  const isFree = sessionId !== undefined && expectedHead === undefined && rerun === undefined;
  return isFree && error.code === "head_moved";
}

async function placeAndLaunch(core: EngineCore, caller: Caller, asked: TurnRequest): Promise<RunningTurn> {
  const byMemory = await placeByMemory(core, caller, asked);
  if (byMemory !== null) {
    try {
      return await launch(core, asked, byMemory);
    } catch (error) {
      // What this process remembered no longer holds, so it is read.
      if (!(error instanceof AptoveError) || error.code !== "head_moved") throw error;
    }
  }
  return await launch(core, asked, await placeAndAccept(core, caller, { request: asked, remembered: null }));
}

type PlacedTurn = Pick<AcceptedTurn, "place" | "accepted">;

async function launch(core: EngineCore, request: TurnRequest, placed: PlacedTurn): Promise<RunningTurn> {
  await mayGoOn();
  return await launchTurn(core, { ...placed, request });
}

/** Finds the position without a read, for a request that continues a session. Null: this process does not remember enough, or refuses by it. */
async function placeByMemory(core: EngineCore, caller: Caller, request: TurnRequest): Promise<PlacedTurn | null> {
  const { sessionId, rerun, retry, fork, after, fire } = request;
  if (sessionId === undefined || (rerun ?? retry ?? fork ?? after ?? fire) !== undefined) return null;
  const remembered = core.remembered.places.take(caller.orgId, sessionId);
  if (remembered === null) return null;
  try {
    const placed = await placeAndAccept(core, caller, { request, remembered });
    answerOpenCalls(placed.place.parent, placed.accepted.toolResults);
    return placed;
  } catch (error) {
    // What is remembered may be the reason, but only if it no longer holds.
    if (await core.remembered.places.stillHolds(core.deps.records, remembered)) throw error;
    return null;
  }
}

/** Finds the position of a turn and accepts its request. Nothing is written. */
export async function placeAndAccept(
  core: EngineCore,
  caller: Caller,
  { request: asked, remembered }: PlaceRequest,
): Promise<PlacedTurn> {
  // The contexts do not depend on the position, so a store over a network is asked for both at once.
  const newestContexts =
    remembered === null
      ? core.remembered.places.contextsOf(core.deps.records, caller.orgId)
      : Promise.resolve(remembered.contexts);
  // A position that is refused has no use for them.
  newestContexts.catch(() => undefined);
  const { place, request, listed } = await placeTurn(core, caller, { request: asked, remembered });
  const { subagentTools } = core;
  const mail = place.mail.messages;
  const inherited = await core.histories.readableBefore(place.parent);
  const session = place.model;
  const clientTools = await clientToolsOf(core.histories, place.parent, request);
  const accepting = {
    caller,
    request,
    session,
    ...(place.rerunOf !== null && { given: asked }),
    mail,
    subagentTools,
    inherited,
    keptRules: await keptRulesOf(core, place),
    newestContexts,
    clientTools: { ...clientTools, ...listed },
  };
  const accepted = await acceptRequest(core.deps, accepting);
  return { place, accepted: await withEarlierTurns(core.histories, accepted, place.parent) };
}

/** Returns the rules that the session keeps (M1): those of the parent, or of the first turn that is run again. */
async function keptRulesOf(core: EngineCore, place: TurnPlacement): Promise<KeptRules | null | undefined> {
  const { parent, rerunOf } = place;
  const before = parent ?? (rerunOf === null ? null : await core.deps.records.turns.get(rerunOf));
  return before === null ? undefined : await core.rules.of(before);
}

/** Opens and runs an accepted turn, of the session's agent or of a subagent. */
export async function launchTurn(core: EngineCore, turn: AcceptedTurn): Promise<RunningTurn> {
  // There is no await between these checks and the turn's entry in the registry.
  refuseWhileClosing(core);
  refuseWhileBusy(core, turn.place);
  const closed = answerOpenCalls(turn.place.parent, turn.accepted.toolResults);
  const live = register(core, turn);
  try {
    return await live.watch.within(() => openAndRun(core, { ...turn, closed, live }));
  } catch (error) {
    live.watch.refused(error);
    core.live.end(live);
    throw error;
  }
}

function register(core: EngineCore, { place, accepted }: AcceptedTurn): LiveTurn {
  // S4: the first turn of a session has the session's id.
  const { session } = place;
  const turnId = place.subagent?.turnId ?? (session?.lastSequence === 0 ? session.id : newId());
  const sessionId = session?.id ?? turnId;
  const { provider, model, caller, subagent } = accepted;
  const begun = { turnId, sessionId, provider: provider.name, model, caller };
  const watch = new TurnWatch(core.deps.observer, begun);
  const visibleBy = place.model?.id ?? sessionId;
  return core.live.begin({ turnId, sessionId, visibleBy, startedBy: caller.userId, watch, subagent });
}

async function openAndRun(core: EngineCore, registered: RegisteredTurn): Promise<RunningTurn> {
  const { live, accepted, place } = registered;
  const { turnId, sessionId, watch } = live;
  const prepared = await tryToPlan(core, registered);
  refuseWithoutIndex(registered, prepared);
  await mayGoOn();
  const result = await openTurn(core, { ...registered, prepared });
  if ("repeats" in result) {
    watch.repeats();
    core.live.end(live);
    return repeatedTurn(core, result.repeats);
  }
  const { opened } = result;
  await mayGoOn();
  live.run(opened);
  const begun = recordBeginning(opened);
  let ended: EndedTurn | null = null;
  // Only the owner cannot lose the session while the turn runs (H4).
  const isOwner = place.session === null || place.session.userId === accepted.caller.userId;
  // The model need not wait for the log.
  const finished = runToEnd(core, opened, (end) => (ended = isOwner ? end : null));
  await begun;
  core.changes.changed(accepted.caller.orgId);
  return {
    sessionId,
    turnId,
    session: opened.session,
    turn: opened.pending,
    isRepeat: false,
    events: (signal) => eventsOf(core, turnId, { afterSeq: 0, signal }),
    finished,
    ended: () => ended,
  };
}

/**
 * Runs the turn to its end. Never rejects: if anything fails, the turn ends, and its end states the reason (T11). `onStored` is called if
 * the end was stored here with its events.
 */
async function runToEnd(
  core: EngineCore,
  opened: OpenedTurn,
  onStored: (end: EndedTurn) => void,
): Promise<FinishedTurn> {
  const { live } = opened;
  let idle = Promise.resolve();
  try {
    const outcome = await runSteps(core, opened);
    await mayStart();
    const { turn, logDropped } = await settleTurn(core, { ...opened, ...outcome });
    idle = logDropped;
    if (live.state.name === "stored") onStored({ turn, answer: answerOf(live.state.events) });
    live.finish(turn);
    live.watch.finished(turn);
    core.changes.changed(opened.accepted.caller.orgId);
    return turn;
  } finally {
    void idle.then(() => core.live.end(live));
  }
}

/**
 * Throws `shutting_down` once the process stops. The process waits only for the turns that are in the registry at that
 * time (R4).
 */
function refuseWhileClosing(core: EngineCore): void {
  if (core.closing.signal.aborted) throw shuttingDown();
}

/**
 * Throws `index_missing` for a new session: it can never answer, and nothing of it stays behind. In a session that there
 * is, the turn fails and is kept (Q5).
 */
function refuseWithoutIndex({ place }: RegisteredTurn, prepared: PlanResult): void {
  if (place.session !== null || place.subagent !== null || !("failure" in prepared)) return;
  const { code, message } = prepared.failure;
  if (code === "index_missing") throw new AptoveError(code, message);
}

/**
 * Throws `session_busy` early, to save the retrieval for a turn that the store would refuse (T5). The store decides.
 */
function refuseWhileBusy(core: EngineCore, { session, subagent }: TurnPlacement): void {
  const running = session === null || subagent !== null ? undefined : core.live.ofSession(session.id);
  if (running === undefined) return;
  throw new AptoveError("session_busy", `turn ${running.turnId} is running; wait for it or interrupt it`, {
    facts: { turnId: running.turnId },
  });
}

/**
 * Writes the first events to the log before any client learns of the turn, so that a subscriber always finds an event.
 */
async function recordBeginning({ recorder, pending, prepared }: OpenedTurn): Promise<void> {
  recorder.emit({
    type: "run_started",
    sessionId: pending.sessionId,
    turnId: pending.id,
    parentTurnId: pending.parentId,
  });
  recorder.emit({ type: "context", context: gatheredContext(pending.manifest) });
  if ("plan" in prepared) for (const warning of prepared.warnings) recorder.warn(warning);
  await recorder.flushed();
}
