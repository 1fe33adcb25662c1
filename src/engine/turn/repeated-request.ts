/** T13: the same idempotency key and request from the same caller gives the same turn, also while it runs. */
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
  // By a device of theirs, or since they were dismissed: who may not see the turn does not get it by its key either (H4, P3).
  await visibleTurn(core.deps, caller, earlier.turnId);
  return await repeatedTurn(core, earlier.turnId);
}

export async function repeatedTurn(core: EngineCore, turnId: string): Promise<RunningTurn> {
  const turn = await core.deps.records.turns.get(turnId);
  if (turn === null) throw new AptoveError("not_found", `the turn ${turnId} is no longer there`);
  const finished = finishWherever(core, turnId);
  // Whoever only reads the events does not look at this one, and must not fall over it.
  finished.catch((error: unknown) => core.deps.report(`the end of turn ${turnId} could not be read`, error));
  return {
    sessionId: turn.sessionId,
    turnId,
    session: null,
    model: turn.model,
    isRepeat: true,
    events: (signal) => eventsOf(core, turnId, { afterSeq: 0, signal }),
    finished,
  };
}

/** A turn that runs here tells how it finished. Any other, and one that has only just its row, is followed to its end. */
async function finishWherever(core: EngineCore, turnId: string): Promise<FinishedTurn> {
  const live = core.live.get(turnId);
  const here = live === undefined || live.state.name === "preparing" ? null : await live.finished;
  return here ?? (await finishOf(core, turnId));
}
