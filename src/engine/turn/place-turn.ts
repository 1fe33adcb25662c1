/**
 * Finds the position of a new turn in the tree (T6, T7): its session, its parent, and the head that it replaces. This
 * costs the same at any depth, because the history is not read or copied (K1).
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { Session } from "../../domain/session.ts";
import { isHidden, mayBeParent, type Turn } from "../../domain/turn.ts";
import { continuableWithHead, mayContinue, visibleTurnAndSession } from "../access/visible.ts";
import type { TurnRequest } from "../engine.ts";
import { undeliveredTexts } from "./kept/kept-steers.ts";
import type { RememberedPlace } from "./kept/remembered-places.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { finishOf } from "./live/turn-events.ts";
import { waitingMail } from "./mailbox-delivery.ts";
import { continuable, existing } from "./parent-turn.ts";
import { newestAsRerun, placeRerun, type PlacedRequest } from "./place-rerun.ts";
import { newRoot, type TurnPlacement } from "./prepare/turn-placement.ts";
import { fireInstruction } from "./request/mailbox-block.ts";
import { whileWanted, type Withdrawable } from "./request/withdrawn.ts";

/** A request for a turn. `remembered` is given if the request names a session and nothing else of the position. */
export interface PlaceRequest {
  request: TurnRequest;
  remembered: RememberedPlace | null;
}

export async function placeTurn(core: EngineCore, caller: Caller, asked: PlaceRequest): Promise<PlacedRequest> {
  const placed = await placeByKind(core, caller, asked);
  const { session } = placed.place;
  if (session?.lastTurnStatus !== "failed") return placed;
  return { ...placed, place: { ...placed.place, unheard: await unheardTexts(core, session.id) } };
}

/**
 * Returns the messages to earlier turns that the model never received, oldest first (V4). A turn that did nothing is not in
 * the history, and neither are the messages that it was to pass on, so those before it count too.
 */
async function unheardTexts({ deps }: EngineCore, sessionId: string): Promise<string[]> {
  const turns = await deps.records.turns.list(sessionId, { limit: limits.recentTurnsMax, kind: "agent" });
  const kept = turns.findIndex(mayBeParent);
  const unheard = kept === -1 ? turns : turns.slice(0, kept + 1);
  return unheard.toReversed().flatMap(undeliveredTexts);
}

async function placeByKind(core: EngineCore, caller: Caller, asked: PlaceRequest): Promise<PlacedRequest> {
  const { request } = asked;
  if (request.fire === true) return await placeFire(core, caller, request);
  if (request.retry === true) return await placeRerun(core, caller, await newestAsRerun(core, caller, request));
  if (request.rerun !== undefined) return await placeRerun(core, caller, request);
  if (request.fork !== undefined) return { request, place: await placeFork(core, caller, request.fork.turnId) };
  const { after, withdrawn } = request;
  if (after !== undefined) return { request, place: await placeAfter(core, caller, { ...after, withdrawn }) };
  if (request.sessionId === undefined) return { request, place: newRoot };
  return { request, place: await placeContinue(core, caller, asked) };
}

/**
 * Continues the session and delivers its waiting messages (A2). A request without an instruction gets a standard one.
 */
async function placeFire(core: EngineCore, caller: Caller, request: TurnRequest): Promise<PlacedRequest> {
  const { sessionId, fork, rerun, ifBusy, instruction } = request;
  if (sessionId === undefined || fork !== undefined || rerun !== undefined) {
    throw new AptoveError(
      "request_invalid",
      "`fire` needs `sessionId`, the session of the mailbox, and neither `fork` nor `rerun`",
    );
  }
  if (ifBusy === "steer") {
    throw new AptoveError(
      "request_invalid",
      "mailbox messages need their own turn; use another value of ifBusy than steer",
    );
  }
  const place = await placeContinue(core, caller, { request, remembered: null });
  const mail = await waitingMail(core, sessionId);
  return { request: { ...request, instruction: instruction || fireInstruction }, place: { ...place, mail } };
}

async function placeContinue(
  { deps }: Pick<EngineCore, "deps">,
  caller: Caller,
  { request, remembered }: PlaceRequest,
): Promise<TurnPlacement> {
  const id = request.sessionId ?? "";
  const found = await continuableWithHead(deps, caller, { id, known: remembered });
  const { session } = found;
  const head = session.headTurnId;
  if (request.expectedHead !== undefined && request.expectedHead !== head) {
    throw new AptoveError("head_moved", `the head is ${head ?? "not set"}; read it and send the request again`, {
      facts: { headTurnId: head },
    });
  }
  // A fork without its own turns begins at the turn that it was forked from.
  const parentId = head ?? session.originTurnId;
  const parent = parentId === null ? null : continuable(existing(found.head, parentId));
  return { ...newRoot, session, model: session, head, parent, remembered: remembered?.state ?? null };
}

/** Places the turn in a new session, below any finished turn that the caller may read. */
async function placeFork({ deps }: EngineCore, caller: Caller, turnId: string): Promise<TurnPlacement> {
  return forkOf(await visibleTurnAndSession(deps, caller, turnId));
}

function forkOf({ turn, session }: { turn: Turn; session: Session }): TurnPlacement {
  return { ...newRoot, model: session, parent: continuable(turn), originTurnId: turn.id };
}

/**
 * Places the turn below any turn that the caller may read (O2): in its session if that turn is the head and nothing runs there,
 * otherwise in a fork. A turn that is still running is waited for.
 */
async function placeAfter(
  core: EngineCore,
  caller: Caller,
  { turnId, withdrawn }: Withdrawable & { turnId: string },
): Promise<TurnPlacement> {
  const { deps } = core;
  const found = await visibleTurnAndSession(deps, caller, turnId);
  const { turn, session } = found;
  if (isHidden(turn)) throw new AptoveError("not_found", `there is no turn ${JSON.stringify(turnId)}`);
  if (turn.status === "pending" && turn.kind === "agent") {
    await whileWanted(finishOf(core, turnId), { withdrawn });
    return await placeAfter(core, caller, { turnId, withdrawn });
  }
  const isFree = session.archivedAt === null && (await runningTurnOf(core, session.id)) === null;
  const isHere = isFree && session.headTurnId === turnId && (await mayContinue(deps, caller, session));
  if (!isHere) return forkOf(found);
  return { ...newRoot, session, model: session, head: turnId, parent: continuable(turn) };
}

async function runningTurnOf({ deps, live }: EngineCore, sessionId: string): Promise<string | null> {
  return live.ofSession(sessionId)?.turnId ?? (await deps.records.turns.findPending(sessionId))?.id ?? null;
}
