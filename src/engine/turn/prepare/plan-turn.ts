/**
 * Plans everything that a turn sends to the model, before anything is written or sent: the history, files, chunks, the
 * message, and the exact first request.
 */
import { failure, failureOf, type Warning } from "../../../domain/errors.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import type { State } from "../../../domain/lineage.ts";
import { modeWarnings } from "../../contexts/resolve-contexts.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import type { Histories } from "../kept/histories.ts";
import { mediaTexts } from "../kept/kept-parts.ts";
import type { ClosedCalls } from "../request/envelope.ts";
import { preparedRequest } from "../request/prepared-request.ts";
import { earlierTexts, makeRecipe, messageTexts } from "../request/recipe.ts";
import type { AcceptedRequest } from "./accepted-request.ts";
import { chainWarnings, decideHistory, firstCall, mediaWarnings, type SentHistory } from "./build-call.ts";
import { forgottenWarnings, freshHistory, losesSummary } from "./facts/turn-memory.ts";
import { newsSent } from "./gathered/file-versions.ts";
import { gatherContext, type TurnContext, type TurnToGatherFor } from "./gathered/gather-context.ts";
import { sentWith } from "./gathered/sent-context.ts";
import { nearsWindow } from "./history-size.ts";
import { rulesSent, surroundingsWarnings } from "./surroundings.ts";
import { plannedManifest } from "./turn-manifest.ts";
import { plannedItems } from "./waiting-calls.ts";
import type { CallGround, HistoryDecision, PlanResult, RequestBase, TurnPlan } from "./turn-plan.ts";

/** The part of a registered turn that its plan needs (live/turn-stages.ts). */
interface TurnToPlan extends TurnToGatherFor {
  /** The answers to the calls that the parent waits for. */
  closed: ClosedCalls;
}

interface PlanningStores {
  histories: Histories;
  deps: EngineDependencies;
  windows: WindowTable;
}

/** The part of the known windows that a plan needs (live/known-windows.ts). */
interface WindowTable {
  of(called: Pick<AcceptedRequest, "provider" | "model">): number | null;
}

/** Plans the turn. Never throws: a failure here fails the turn. */
export async function tryToPlan(stores: PlanningStores, turn: TurnToPlan): Promise<PlanResult> {
  try {
    return await planTurn(stores, turn);
  } catch (error) {
    if (turn.live.signal.aborted)
      return { failure: failure("interrupted", "the turn was stopped before the model was called") };
    return { failure: failureOf(error) };
  }
}

async function planTurn({ histories, deps, windows }: PlanningStores, turn: TurnToPlan): Promise<PlanResult> {
  const { accepted, place } = turn;
  const { parent } = place;
  const now = deps.now();
  const state = await histories.state(parent?.id ?? null);
  const fresh = await freshHistory(deps, accepted, state);
  const { visible } = fresh;
  const gathered = await gatherContext(deps, turn, fresh);
  const { input, message, files, chunks } = gathered;
  const decision = decideHistory(accepted, parent, { forgets: fresh.forgets.length > 0, now });
  const base = await requestBase(histories, state);
  const { earlier, newItems, waiting, closed } = plannedItems(turn, { state, input, message });
  const ground = { turnId: turn.live.turnId, accepted, visible, summary: null, newItems, input };
  const { withoutModel } = accepted;
  const isAsked =
    (accepted.compacts || (losesSummary(state, fresh.forgets) && !withoutModel)) && state.entries.length > 0;
  const isTooLong = isAsked || (!withoutModel && nearsWindow(ground, parent, windows.of(accepted)));
  const isFirstKnown = closed.approved.length === 0 && !isTooLong && !withoutModel;
  const parts = message?.parts ?? [];
  const first = isFirstKnown
    ? await firstRequest(ground, { decision, base, message: parts, earlier, histories })
    : null;
  const plan: TurnPlan = {
    ...ground,
    state,
    isTooLong,
    waiting,
    message: parts,
    sent: {
      ...withNews(sentWith(chunks, files, accepted.retrieval), gathered),
      ...(accepted.hides.length > 0 && { hides: accepted.hides }),
    },
    manifest: plannedManifest(turn.live.turnId, accepted, { gathered, visible, decision }),
    approved: closed.approved,
    decision,
    first,
    base,
  };
  return { plan, warnings: planWarnings({ ...ground, parent, decision }, { gathered, closed }) };
}

async function requestBase(histories: Histories, state: State): Promise<RequestBase | null> {
  const turnId = histories.requestBase(state);
  const body = turnId === null ? null : await histories.firstRequest(turnId);
  return turnId === null || body === null ? null : { turnId, body };
}

/** Adds what the note names, so that later turns do not repeat it. */
function withNews(
  sent: TurnPlan["sent"],
  { news, around, files, memory, workspace, forgets, pinned }: TurnContext,
): TurnPlan["sent"] {
  const warned = [...(sent.warned ?? []), ...memory.warned, ...workspace.warned];
  return {
    ...sent,
    files: [...sent.files, ...newsSent([...news, ...files.waiting])],
    ...rulesSent(around.rules),
    ...(warned.length > 0 && { warned }),
    ...(memory.sent.length > 0 && { facts: memory.sent }),
    ...(forgets.length > 0 && { forgets: [...forgets] }),
    ...(pinned.ids.length > 0 && { pins: pinned.ids }),
  };
}

interface PlanFindings {
  gathered: TurnContext;
  closed: ClosedCalls;
}

function planWarnings(sent: SentHistory, { gathered, closed }: PlanFindings): Warning[] {
  const closedWarning: Warning[] =
    closed.unanswered === 0
      ? []
      : [{ code: "open_calls_closed", message: `${closed.unanswered} tool calls were closed without a result` }];
  return [
    ...chainWarnings(sent),
    ...mediaWarnings(sent),
    ...closedWarning,
    ...modeWarnings(sent.accepted.conversationContext, sent.accepted.mode),
    ...forgottenWarnings(gathered),
    ...gathered.workspace.warnings,
    ...gathered.memory.warnings,
    ...surroundingsWarnings(sent.accepted, gathered.around),
    ...gathered.files.warnings,
    ...gathered.chunks.warnings,
  ];
}

interface FirstRequest {
  histories: Histories;
  decision: HistoryDecision;
  base: RequestBase | null;
  message: readonly string[];
  earlier: readonly HistoryItem[];
}

async function firstRequest(
  ground: CallGround,
  { decision, base, message, earlier, histories }: FirstRequest,
): Promise<TurnPlan["first"]> {
  const call = firstCall(ground, decision);
  await histories.loadMedia(call, ground.input.loaded);
  const request = preparedRequest(ground.accepted.provider, call);
  const known = [...messageTexts(message), ...mediaTexts(call, ground.input.loaded)];
  const inOrder = earlierTexts(earlier);
  return { call, request, recipe: makeRecipe(request.body, base?.body ?? null, { known, inOrder }) };
}
