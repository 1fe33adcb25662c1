/** Estimates the size of a turn's first call, without running the turn. */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { TurnRequest } from "../engine.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { firstCallTokens } from "./prepare/history-size.ts";
import { answerOpenCalls, tryToPlan } from "./prepare/plan-turn.ts";
import { placeAndAccept } from "./run-turn.ts";

export async function estimateTurn(core: EngineCore, caller: Caller, asked: TurnRequest): Promise<number> {
  const { place, accepted } = await placeAndAccept(core, caller, asked);
  const closed = answerOpenCalls(place.parent, accepted);
  const live = { turnId: newId(), signal: new AbortController().signal };
  const planned = await tryToPlan(core, { accepted, place, closed, live });
  if ("failure" in planned) throw new AptoveError(planned.failure.code, planned.failure.message);
  return firstCallTokens(planned.plan, place.parent);
}
