/** Keeps what a person allows permanently while they answer the calls of a parked turn (P4, U8). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { allowAlways, alwaysOffer, mayAlways } from "../access/permanent.ts";
import { visibleSession } from "../access/visible.ts";
import type { RunningTurn, TurnRequest } from "../engine.ts";
import { runTurn } from "./if-busy.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { viewsOf } from "./live/waiting.ts";

/**
 * Runs the request, and stores the permissions once it is accepted: an answer that came too late allows nothing. Throws
 * `forbidden` if the caller may not allow one of the calls permanently, `request_invalid` without a session.
 */
export async function runAndAllow(
  core: EngineCore,
  caller: Caller,
  { alwaysAllow = [], ...request }: TurnRequest,
): Promise<RunningTurn> {
  if (alwaysAllow.length === 0) return await runTurn(core, caller, request);
  if (request.sessionId === undefined) {
    throw new AptoveError("request_invalid", "an answer with `always` must name the session by its sessionId");
  }
  const session = await visibleSession(core.deps, caller, request.sessionId);
  const views = session.headTurnId === null ? new Map() : await viewsOf(core, session.headTurnId);
  const calls = alwaysAllow.map((callId) => ({
    workspaceId: session.workspaceId,
    permission: views.get(callId)?.permission ?? null,
  }));
  for (const call of calls) mayAlways(await alwaysOffer(core.deps, caller, call));
  const running = await runTurn(core, caller, request);
  for (const call of calls) await allowAlways(core.deps, call);
  return running;
}
