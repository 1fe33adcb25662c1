/**
 * The sequence of a turn, as a table of contents: each stop is one line here and one file beside it.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { FinishedTurn, PendingTurn } from "../../domain/turn.ts";
import { acceptRequest } from "./prepare/accept.ts";
import type { AcceptedRequest } from "./prepare/accepted-request.ts";
import type { ClosedCalls } from "./request/envelope.ts";
import type { EngineCore } from "./live/engine-core.ts";
import type { RunningTurn, TurnRequest } from "../engine.ts";
import { chunkBounds } from "./prepare/gather.ts";
import type { LiveTurn } from "./live/live-turns.ts";
import { openTurn, type Opening } from "./open-turn.ts";
import { placeTurn, type Place } from "./place-turn.ts";
import { answerOpenCalls, gatheredContext, tryToPlan, type Prepared } from "./prepare/plan-turn.ts";
import { findRepeated, repeatedTurn } from "./repeated-request.ts";
import { RunRecorder } from "./live/run-recorder.ts";
import { runSteps } from "./run/run-steps.ts";
import { settleTurn } from "./settle-turn.ts";
import { eventsOf, shuttingDown } from "./live/turn-events.ts";
import { TurnWatch } from "./live/turn-watch.ts";

/** Resolves once the turn is open and durable; the run goes on by itself (R5). */
export async function startTurn(core: EngineCore, caller: Caller, asked: TurnRequest): Promise<RunningTurn> {
  refuseWhileClosing(core);
  const repeated = await findRepeated(core, caller, asked);
  if (repeated !== null) return repeated;

  await core.quotas.refuseEarly(caller);
  const { place, request } = await placeTurn(core, caller, asked);
  const { subagentTools } = core;
  const mail = place.mail.messages;
  const inherited = await core.histories.readableBefore(place.parent);
  const session = place.model;
  const accepted = await acceptRequest(core.deps, { caller, request, session, mail, subagentTools, inherited });
  return await launchTurn(core, { place, request: asked, accepted });
}

/** An accepted request at its place, of the session's agent or of a subagent. */
export async function launchTurn(
  core: EngineCore,
  { place, request, accepted }: Pick<Opening, "place" | "request" | "accepted">,
): Promise<RunningTurn> {
  // Nothing is waited for between these and the turn's own mark.
  refuseWhileClosing(core);
  refuseWhileBusy(core, place);
  const closed = answerOpenCalls(place.parent, accepted);

  // S4: the first turn of a session has the session's id.
  const { session } = place;
  const turnId = place.subagent?.turnId ?? (session?.lastSequence === 0 ? session.id : newId());
  const sessionId = session?.id ?? turnId;
  const { provider, model, caller, subagent } = accepted;
  const begun = { turnId, sessionId, provider: provider.name, model, caller };
  const watch = new TurnWatch(core.deps.observer, begun);
  const visibleBy = place.model?.id ?? sessionId;
  const live = core.live.begin({ turnId, sessionId, visibleBy, startedBy: caller.userId, watch, subagent });
  try {
    return await watch.within(() => openAndRun(core, { asked: request, accepted, place, closed, live }));
  } catch (error) {
    watch.refused(error);
    core.live.end(turnId);
    throw error;
  }
}

interface Start {
  asked: TurnRequest;
  accepted: AcceptedRequest;
  place: Place;
  closed: ClosedCalls;
  live: LiveTurn;
}

async function openAndRun(core: EngineCore, start: Start): Promise<RunningTurn> {
  const { asked, accepted, place, closed, live } = start;
  const { turnId, sessionId, watch } = live;
  const prepared = await tryToPlan(core.histories, {
    turnId,
    accepted,
    parent: place.parent,
    closed,
    chunkBounds: chunkBounds(core.deps.limits),
    now: core.deps.now(),
    window: core.deps.contextTokens(accepted.model),
    signal: live.controller.signal,
  });
  const opened = await openTurn(core, { live, place, request: asked, accepted, prepared });
  if ("repeats" in opened) {
    watch.repeats();
    core.live.end(turnId);
    return repeatedTurn(core, opened.repeats);
  }
  live.visibleBy = sessionId;
  core.live.open(turnId);
  const recorder = new RunRecorder(turnId, core.deps.log, (failure) => core.deps.report(failure.message));
  await tellBeginning(recorder, opened.pending, prepared);
  live.run = { accepted, recorder, subagentsBegun: 0 };
  live.finished = execute(core, { ...opened, place, prepared, recorder, live });
  return {
    sessionId,
    turnId,
    session: opened.session,
    model: accepted.model,
    isRepeat: false,
    events: (signal) => eventsOf(core, turnId, { afterSeq: 0, signal }),
    finished: live.finished,
  };
}

/** R4: whoever closes waits for the turns that have their mark by then, and for no others. */
function refuseWhileClosing(core: EngineCore): void {
  if (core.isShuttingDown) throw shuttingDown();
}

/** The store has the last word (T5); this only spares the retrieval for a turn that would be refused. */
function refuseWhileBusy(core: EngineCore, { session, subagent }: Place): void {
  const running = session === null || subagent !== null ? undefined : core.live.ofSession(session.id);
  if (running === undefined) return;
  throw new AptoveError("session_busy", `turn ${running.turnId} is running; wait for it or interrupt it`, {
    facts: { turnId: running.turnId },
  });
}

/** The first events are in the log before anybody hears of the turn, so a listener always finds one. */
async function tellBeginning(recorder: RunRecorder, pending: PendingTurn, prepared: Prepared): Promise<void> {
  recorder.emit({
    type: "run_started",
    sessionId: pending.sessionId,
    turnId: pending.id,
    parentTurnId: pending.parentId,
  });
  recorder.emit({ type: "context", context: gatheredContext(pending.manifest) });
  if ("plan" in prepared) for (const warning of prepared.plan.warnings) recorder.warn(warning);
  await recorder.flushed();
}

interface Execution {
  pending: PendingTurn;
  openingHash: string;
  place: Place;
  prepared: Prepared;
  recorder: RunRecorder;
  live: LiveTurn;
}

/** Never rejects: whatever fails, the turn ends and says how (T11). */
async function execute(core: EngineCore, execution: Execution): Promise<FinishedTurn> {
  const { live, pending } = execution;
  try {
    const finished = await runToEnd(core, execution);
    live.watch.finished(finished);
    return finished;
  } finally {
    void live.logDropped.then(() => core.live.end(pending.id));
  }
}

async function runToEnd(core: EngineCore, { prepared, live, ...ending }: Execution): Promise<FinishedTurn> {
  const { pending, recorder } = ending;
  if ("failure" in prepared) {
    const answer = { ended: "failed", failure: prepared.failure } as const;
    return await settleTurn(core, { ...ending, live, plan: null, answer, deferredCalls: [] });
  }
  const { signal } = live.controller;
  const { sessionId, blobs } = pending;
  const run = { sessionId, plan: prepared.plan, opening: blobs.opening, recorder, live, signal };
  return await settleTurn(core, { ...ending, live, ...(await runSteps(core, run)) });
}
