/**
 * Finds the turn of an equal request: the same idempotency key and request from the same caller returns the same turn,
 * also during the turn (T13).
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { FinishedTurn } from "../../domain/turn.ts";
import type { EngineCore } from "./live/engine-core.ts";
import type { RunningTurn, TurnRequest } from "../engine.ts";
import { checkSameRequest } from "./open-turn.ts";
import { visibleTurn } from "../access/visible.ts";
import { eventsOf, finishOf } from "./live/turn-events.ts";

export async function findRepeated(
  core: EngineCore,
  caller: Caller,
  request: TurnRequest,
): Promise<RunningTurn | null> {
  const key = request.idempotencyKey;
  if (key === undefined) return null;
  if (key === "" || key.length > limits.idempotencyKeyCharactersMax) {
    throw new AptoveError(
      "request_invalid",
      `an idempotency key has 1 to ${limits.idempotencyKeyCharactersMax} characters`,
    );
  }
  const earlier = await core.deps.records.turns.findIdempotent(caller.userId, key);
  if (earlier === null) return null;
  checkSameRequest(earlier.requestHash, request);
  // The caller may be another device of the user, or no longer a member. A key never shows a turn that the caller may
  // not see (H4, P3).
  await visibleTurn(core.deps, caller, earlier.turnId);
  return await repeatedTurn(core, earlier.turnId);
}

export async function repeatedTurn(core: EngineCore, turnId: string): Promise<RunningTurn> {
  const turn = await core.deps.records.turns.get(turnId);
  if (turn === null) throw new AptoveError("not_found", `the turn ${turnId} no longer exists`);
  const finished = finishWherever(core, turnId);
  // A caller that only reads the events does not await this promise: its rejection must not end the process.
  finished.catch((error: unknown) => core.deps.report(`the end of turn ${turnId} could not be read`, error));
  return {
    sessionId: turn.sessionId,
    turnId,
    session: null,
    turn,
    isRepeat: true,
    events: (signal) => eventsOf(core, turnId, { afterSeq: 0, signal }),
    finished,
    ended: () => null,
  };
}

/**
 * Waits for the end of the turn, in this process if it runs here. A turn that runs elsewhere, or is just being opened,
 * is followed to its end.
 */
async function finishWherever(core: EngineCore, turnId: string): Promise<FinishedTurn> {
  const live = core.live.get(turnId);
  const here = live === undefined || live.state.name === "preparing" ? null : await live.finished;
  return here ?? (await finishOf(core, turnId));
}
