/**
 * Finds the position of a new turn in the tree (T6, T7): its session, its parent, and the head that it replaces. This
 * costs the same at any depth, because the history is not read or copied (K1).
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { isAtHead, turnToRepeat } from "../../domain/session.ts";
import { isHidden, mayBeParent, type Turn, type ContinuableTurn } from "../../domain/turn.ts";
import type { EngineCore } from "./live/engine-core.ts";
import type { TurnRequest } from "../engine.ts";
import { earlierAgain } from "./prepare/earlier.ts";
import { noDelivery, repeatedMail, waitingMail } from "./mailbox-delivery.ts";
import type { TurnPlacement } from "./prepare/turn-placement.ts";
import { fireInstruction } from "./request/mailbox-block.ts";
import { whileWanted, type Withdrawable } from "./request/withdrawn.ts";
import {
  mayContinue,
  continuableSession,
  continuableWithHead,
  visibleTurn,
  visibleSession,
} from "../access/visible.ts";
import { readBlob, readBootPrompt, type OpeningBlob } from "./kept/turn-blobs.ts";
import { undeliveredTexts } from "./kept/kept-steers.ts";
import { inputAgain } from "./kept/kept-parts.ts";
import { noProvider } from "./prepare/chain.ts";
import { finishOf } from "./live/turn-events.ts";

/** The request, with the fields that a rerun takes over from the turn that it repeats, and its position. */
export interface PlacedRequest {
  place: TurnPlacement;
  request: TurnRequest;
  /** Given if the client's tools are only listed, as in the turn that a rerun repeats (E4). */
  listed?: { mayCall: false };
}

export async function placeTurn(core: EngineCore, caller: Caller, request: TurnRequest): Promise<PlacedRequest> {
  const placed = await placeByKind(core, caller, request);
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

async function placeByKind(core: EngineCore, caller: Caller, request: TurnRequest): Promise<PlacedRequest> {
  if (request.fire === true) return await placeFire(core, caller, request);
  if (request.retry === true) return await placeRerun(core, caller, await newestAsRerun(core, caller, request));
  if (request.rerun !== undefined) return await placeRerun(core, caller, request);
  if (request.fork !== undefined) return { request, place: await placeFork(core, caller, request.fork.turnId) };
  const { after, withdrawn } = request;
  if (after !== undefined) return { request, place: await placeAfter(core, caller, { ...after, withdrawn }) };
  if (request.sessionId === undefined) return { request, place: newRoot };
  return { request, place: await placeContinue(core, caller, request) };
}

export const newRoot: TurnPlacement = {
  session: null,
  model: null,
  parent: null,
  head: null,
  originTurnId: null,
  rerunOf: null,
  subagent: null,
  mail: noDelivery,
  unheard: [],
};

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
  const place = await placeContinue(core, caller, request);
  const mail = await waitingMail(core, sessionId);
  return { request: { ...request, instruction: instruction || fireInstruction }, place: { ...place, mail } };
}

async function placeContinue(
  { deps }: Pick<EngineCore, "deps">,
  caller: Caller,
  request: TurnRequest,
): Promise<TurnPlacement> {
  const found = await continuableWithHead(deps, caller, request.sessionId ?? "");
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
  return { ...newRoot, session, model: session, head, parent };
}

/** Places the turn in a new session, below any finished turn that the caller may read. */
async function placeFork({ deps }: EngineCore, caller: Caller, turnId: string): Promise<TurnPlacement> {
  const origin = await visibleTurn(deps, caller, turnId);
  const model = await visibleSession(deps, caller, origin.sessionId);
  return { ...newRoot, model, parent: continuable(origin), originTurnId: origin.id };
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
  const found = await visibleTurn(deps, caller, turnId);
  if (isHidden(found)) throw new AptoveError("not_found", `there is no turn ${JSON.stringify(turnId)}`);
  if (found.status === "pending" && found.kind === "agent") await whileWanted(finishOf(core, turnId), { withdrawn });
  const session = await visibleSession(deps, caller, found.sessionId);
  const isFree = session.archivedAt === null && (await runningTurnOf(core, session.id)) === null;
  const isHere = isFree && session.headTurnId === turnId && (await mayContinue(deps, caller, session));
  if (!isHere) return await placeFork(core, caller, turnId);
  return { ...newRoot, session, model: session, head: turnId, parent: await readParent(core, turnId) };
}

async function runningTurnOf({ deps, live }: EngineCore, sessionId: string): Promise<string | null> {
  return live.ofSession(sessionId)?.turnId ?? (await deps.records.turns.findPending(sessionId))?.id ?? null;
}

/** Returns the request as a rerun of the turn that a retry repeats (T12). */
async function newestAsRerun({ deps }: EngineCore, caller: Caller, request: TurnRequest): Promise<TurnRequest> {
  const { sessionId, fork, rerun, fire, ...rest } = request;
  if (sessionId === undefined || fork !== undefined || rerun !== undefined || fire === true) {
    throw new AptoveError("request_invalid", "`retry` needs `sessionId`, and neither `fork`, `rerun` nor `fire`");
  }
  const session = await continuableSession(deps, caller, sessionId);
  const turns = await deps.records.turns.list(sessionId, { limit: limits.recentTurnsMax, kind: "agent" });
  const [newest] = turns;
  if (newest === undefined) throw new AptoveError("not_found", `the session ${sessionId} has no turn to run again`);
  if (newest.status === "pending") {
    throw new AptoveError("session_busy", `turn ${newest.id} is running; wait for it or interrupt it`, {
      facts: { turnId: newest.id },
    });
  }
  const { id } = turnToRepeat(session, turns) ?? newest;
  return { ...rest, rerun: { turnId: id } };
}

/**
 * Places the turn beside the old one. The rerun stays in the session if the old turn is the head, or directly below
 * the head, and if the caller may continue the session. Otherwise the rerun is a fork (T7).
 */
async function placeRerun(engine: EngineCore, caller: Caller, request: TurnRequest): Promise<PlacedRequest> {
  const { deps } = engine;
  const old = await visibleTurn(deps, caller, request.rerun?.turnId ?? "");
  if (old.status === "pending") throw new AptoveError("turn_not_finished", `turn ${old.id} is still running`);
  if (old.kind !== "agent") throw ofSubagent(old);
  const session = await visibleSession(deps, caller, old.sessionId);
  const parent = await readParent(engine, old.parentId);
  const isHere = isAtHead(session, old) && request.rerun?.asFork !== true && (await mayContinue(deps, caller, session));
  const opening = await readBlob<"opening">(deps.blobs, old.blobs.opening, old.id);
  const mail = await repeatedMail(engine, opening.mailbox ?? [], isHere ? session.id : null);
  const common = { ...newRoot, model: session, parent, rerunOf: old.id, mail };
  const place: TurnPlacement = isHere
    ? { ...common, session, head: session.headTurnId }
    : { ...common, originTurnId: old.parentId };
  const prompt = opening.asked?.instructionsAt === undefined ? "" : await promptText(engine, old);
  const repeated = repeatedRequest(request, old, { ...opening, prompt });
  const input = request.input === undefined ? { input: await inputAgain(deps.blobs, old) } : {};
  return { place, ...(await withToolsAgain(engine, old, { request: { ...repeated, ...input }, opening })) };
}

/** Returns the request with everything that the old turn asked for and the request does not change (T7). */
function repeatedRequest(
  request: TurnRequest,
  old: Turn,
  { instruction, toolResults, asked, earlier = [], prompt }: OpeningBlob & { prompt: string },
): TurnRequest {
  const { onlyListsTools: _only, instructionsAt, ...beside } = asked ?? {};
  const { repeatInstruction = (text) => text, instruction: changed = "" } = request;
  return {
    ...beside,
    ...(instructionsAt !== undefined && { instructions: prompt.slice(instructionsAt.from, instructionsAt.to) }),
    ...(earlier.length > 0 && { earlier: earlierAgain(earlier) }),
    repo: old.repo,
    mode: old.mode,
    toolResults,
    ...sameModel(request, old),
    ...request,
    instruction: changed === "" ? repeatInstruction(instruction) : changed,
    ...(request.settings !== undefined && { settings: { ...sameModel(request, old).settings, ...request.settings } }),
  };
}

/** Returns the boot prompt of a turn, of which its own instructions are a part. Throws if it cannot be read. */
async function promptText({ deps }: EngineCore, { id, manifest: { promptHash } }: Turn): Promise<string> {
  const bytes = await readBootPrompt(deps.blobs, promptHash);
  if (bytes !== null) return Buffer.from(bytes).toString("utf8");
  throw new AptoveError("history_unavailable", `the boot prompt of turn ${id} is gone`, { facts: { turnId: id } });
}

/** Returns the contexts, the model and the settings of the old turn. Another context brings its own model (G2). */
function sameModel(
  { agentContextId, conversationContextId }: TurnRequest,
  { manifest, provider, model }: Turn,
): Pick<TurnRequest, "agentContextId" | "conversationContextId" | "model" | "settings"> {
  const contexts = {
    agentContextId: manifest.agentContext.id,
    conversationContextId: manifest.conversationContext.id,
  };
  const isOther = agentContextId !== undefined || conversationContextId !== undefined;
  if (isOther || provider === noProvider) return contexts;
  return { ...contexts, model, settings: manifest.settings };
}

async function withToolsAgain(
  { histories }: EngineCore,
  old: Turn,
  { request, opening }: { request: TurnRequest; opening: OpeningBlob },
): Promise<Pick<PlacedRequest, "request" | "listed">> {
  if (request.tools !== undefined) return { request };
  const from = old.manifest.clientTools;
  const tools = from === undefined ? [] : [...(await histories.clientTools(from))];
  const isListed = opening.asked?.onlyListsTools === true && (request.toolResults ?? []).length === 0;
  return { request: { ...request, tools }, ...(isListed && { listed: { mayCall: false } }) };
}

async function readParent({ deps }: Pick<EngineCore, "deps">, id: string | null): Promise<ContinuableTurn | null> {
  return id === null ? null : continuable(existing(await deps.records.turns.get(id), id));
}

function existing(turn: Turn | null, id: string): Turn {
  if (turn !== null) return turn;
  throw new AptoveError("history_unavailable", `the turn ${id} no longer exists`, { facts: { turnId: id } });
}

function ofSubagent({ id }: Turn): AptoveError {
  return new AptoveError(
    "turn_not_continuable",
    `turn ${id} belongs to a subagent; only the agent that started the subagent continues it`,
    {
      facts: { turnId: id },
    },
  );
}

function continuable(turn: Turn): ContinuableTurn {
  if (mayBeParent(turn)) return turn;
  if (turn.kind !== "agent") throw ofSubagent(turn);
  const fix = turn.status === "pending" ? "wait for it" : "continue from a completed one";
  throw new AptoveError("turn_not_continuable", `turn ${turn.id} is ${turn.status}; ${fix}`, {
    facts: { turnId: turn.id, status: turn.status },
  });
}
