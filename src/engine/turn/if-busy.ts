/**
 * Runs a turn, or does what the request says if a turn of the session is already running (T5): it refuses, waits in a
 * queue, interrupts that turn, or steers it.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { interrupt, steer, type SteerRequest } from "./live/control.ts";
import type { EngineCore } from "./live/engine-core.ts";
import type { RunningTurn, TurnRequest } from "../engine.ts";
import { findRepeated, repeatedTurn } from "./repeated-request.ts";
import { startTurn } from "./run-turn.ts";
import { mayWrite } from "../access/visible.ts";
import { eventsOf } from "./live/turn-events.ts";
import { requestHash } from "./prepare/request-hash.ts";
import { refuseWithdrawn, whileWanted, type Withdrawable } from "./request/withdrawn.ts";

/** Runs a turn, as `Turns.run` describes. */
export async function runTurn(core: EngineCore, caller: Caller, request: TurnRequest): Promise<RunningTurn> {
  mayWrite(caller);
  if (request.ifBusy === "queue" && request.sessionId !== undefined) {
    const { sessionId } = request;
    return await inQueue(core, { ...request, sessionId }, () => startWhenFree(core, caller, request));
  }
  return await startWhenFree(core, caller, request);
}

/**
 * Starts the queued requests of this process in the order of their arrival. Between processes, the first one that finds
 * the session free wins.
 */
async function inQueue(
  core: EngineCore,
  request: Withdrawable & { sessionId: string },
  start: () => Promise<RunningTurn>,
): Promise<RunningTurn> {
  const { sessionId } = request;
  const before = core.queueEnds.get(sessionId) ?? Promise.resolve();
  const mine = whileWanted(before, request).then(start);
  // A request that leaves its line does not let the next one pass those before it.
  const settled = Promise.allSettled([before, mine]).then(() => undefined);
  core.queueEnds.set(sessionId, settled);
  try {
    return await mine;
  } finally {
    if (core.queueEnds.get(sessionId) === settled) core.queueEnds.delete(sessionId);
  }
}

/** Starts the turn as soon as the session is free. */
async function startWhenFree(core: EngineCore, caller: Caller, request: TurnRequest): Promise<RunningTurn> {
  for (;;) {
    refuseWithdrawn(request);
    const running = await tryToStart(core, caller, request);
    if ("turn" in running) return running.turn;
    const { busyTurnId } = running;
    if (busyTurnId === null) continue;
    if (request.ifBusy === "steer") {
      const { instruction: text = "", idempotencyKey } = request;
      const key = idempotencyKey === undefined ? null : { key: idempotencyKey, requestHash: requestHash(request) };
      const message = { turnId: busyTurnId, text, ...(key !== null && { idempotency: key }) };
      const joined = await steerIntoTurn(core, caller, message);
      if (joined !== null) return joined;
    }
    if (request.ifBusy === "interrupt") await unlessOver(interrupt(core, caller, { turnId: busyTurnId }));
    await whileWanted(untilOver(core, busyTurnId), request);
  }
}

/** Resolves when the turn is over, in whichever process it runs. */
async function untilOver(core: EngineCore, turnId: string): Promise<void> {
  const here = core.live.get(turnId);
  if (here !== undefined) return await core.live.untilEnded(here);
  // A turn that was refused has no row, and is over. If the end of a turn could not be written, the next request
  // recovers it.
  if ((await core.deps.records.turns.get(turnId))?.status !== "pending") return;
  for await (const _event of eventsOf(core, turnId, { afterSeq: 0, signal: undefined }));
}

/**
 * Starts the turn, or returns what blocks it: the running turn, or null if the request only has to be tried again,
 * because the head or the mailbox changed.
 */
async function tryToStart(
  core: EngineCore,
  caller: Caller,
  request: TurnRequest,
): Promise<{ turn: RunningTurn } | { busyTurnId: string | null }> {
  try {
    return { turn: await startTurn(core, caller, request) };
  } catch (error) {
    const same = await sameRequestsTurn(core, { caller, request, refusal: error });
    if (same !== null) return { turn: same };
    if (!(error instanceof AptoveError) || (request.ifBusy ?? "refuse") === "refuse") throw error;
    if (error.code === "head_moved" && request.expectedHead === undefined) return { busyTurnId: null };
    if (error.code === "mailbox_changed") return { busyTurnId: null };
    if (error.code !== "session_busy") throw error;
    return { busyTurnId: String(error.facts["turnId"]) };
  }
}

interface Refused {
  caller: Caller;
  request: TurnRequest;
  refusal: unknown;
}

/**
 * Returns the turn of an equal request (T13). If two equal requests arrive at once, one may be refused because of the
 * other; it gets the turn of the other one.
 */
async function sameRequestsTurn(core: EngineCore, { caller, request, refusal }: Refused): Promise<RunningTurn | null> {
  if (request.idempotencyKey === undefined || !(refusal instanceof AptoveError)) return null;
  await untilOpen(core, String(refusal.facts["turnId"]));
  return await findRepeated(core, caller, request);
}

/**
 * Sends the instruction to the running turn. Returns null if the turn takes no more messages; then the instruction
 * needs its own turn.
 */
async function steerIntoTurn(
  core: EngineCore,
  caller: Caller,
  message: SteerRequest & { turnId: string },
): Promise<RunningTurn | null> {
  // A turn that is being prepared may still be refused, and the message would be lost with it.
  await untilOpen(core, message.turnId);
  const joined = await unlessOver(steer(core, caller, message));
  return joined === null ? null : await repeatedTurn(core, joined);
}

/** Resolves when a turn that is being prepared here has its row, or has ended without one. */
async function untilOpen(core: EngineCore, turnId: string): Promise<void> {
  const live = core.live.get(turnId);
  await live?.until(() => live.state.name !== "preparing");
}

/** Returns the result, or null if the turn has ended or was never opened. */
async function unlessOver(control: Promise<string | null>): Promise<string | null> {
  try {
    return await control;
  } catch (error) {
    if (error instanceof AptoveError && ["turn_not_running", "not_found"].includes(error.code)) return null;
    throw error;
  }
}
