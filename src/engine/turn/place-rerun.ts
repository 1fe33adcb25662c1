/** Places a turn that is run again beside the old one, and completes its request (T7, T12). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { isAtHead, turnToRepeat } from "../../domain/session.ts";
import type { ToolFeedback } from "../../domain/tool.ts";
import type { Turn } from "../../domain/turn.ts";
import { continuableSession, mayContinue, visibleSession, visibleTurn } from "../access/visible.ts";
import type { TurnRequest } from "../engine.ts";
import { inputAgain, resultsAgain } from "./kept/kept-parts.ts";
import { readBlob, readBootPrompt, type OpeningBlob } from "./kept/turn-blobs.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { repeatedMail } from "./mailbox-delivery.ts";
import { ofSubagent, readParent } from "./parent-turn.ts";
import { noProvider } from "./prepare/chain.ts";
import { earlierAgain } from "./prepare/earlier.ts";
import { feedbackMedia } from "./prepare/result-media.ts";
import { newRoot, type TurnPlacement } from "./prepare/turn-placement.ts";

/** The request, with the fields that a rerun takes over from the turn that it repeats, and its position. */
export interface PlacedRequest {
  place: TurnPlacement;
  request: TurnRequest;
  /** Given if the client's tools are only listed, as in the turn that a rerun repeats (E4). */
  listed?: { mayCall: false };
}

/** Returns the request as a rerun of the turn that a retry repeats (T12). */
export async function newestAsRerun({ deps }: EngineCore, caller: Caller, request: TurnRequest): Promise<TurnRequest> {
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
export async function placeRerun(engine: EngineCore, caller: Caller, request: TurnRequest): Promise<PlacedRequest> {
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
  const toolResults = await resultsAgain(deps.blobs, opening.toolResults);
  const repeated = repeatedRequest(request, old, { ...opening, prompt, toolResults });
  const ofResults = opening.toolResults.flatMap(feedbackMedia);
  const input = request.input === undefined ? { input: await inputAgain(deps.blobs, old, ofResults) } : {};
  return { place, ...(await withToolsAgain(engine, old, { request: { ...repeated, ...input }, opening })) };
}

interface ToRepeat extends Omit<OpeningBlob, "toolResults"> {
  toolResults: ToolFeedback[];
  prompt: string;
}

/** Returns the request with everything that the old turn asked for and the request does not change (T7). */
function repeatedRequest(
  request: TurnRequest,
  old: Turn,
  { instruction, toolResults, asked, earlier = [], prompt }: ToRepeat,
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
