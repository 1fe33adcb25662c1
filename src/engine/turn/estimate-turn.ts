/** Estimates a turn's first call, without running the turn: its size by kind, and what it costs at least and at most. */
import type { ContinuableTurn } from "../../domain/turn.ts";
import { foresee, type ForeseenBudget } from "../../domain/budget.ts";
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { modelFamily } from "../../domain/models.ts";
import { countedContext, type Usage } from "../../domain/usage.ts";
import { budgetTargets } from "../access/budgets.ts";
import type { EstimatedPrice, TurnEstimate, TurnRequest } from "../engine.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { estimateTokens } from "./prepare/gathered/choose-chunks.ts";
import { firstCallTokens, historyTokens, itemsTokens } from "./prepare/history-size.ts";
import type { AcceptedRequest } from "./prepare/accepted-request.ts";
import { tryToPlan } from "./prepare/plan-turn.ts";
import { answerOpenCalls } from "./request/envelope.ts";
import type { TurnPlan } from "./prepare/turn-plan.ts";
import { callBound } from "./run/call-bound.ts";
import { priced } from "./run/model-step.ts";
import { placeAndAccept } from "./run-turn.ts";

/** Nothing is stored, and no model is called. An embedding that is configured is asked for the vector of the question, as in a turn. */
export async function estimateTurn(core: EngineCore, caller: Caller, asked: TurnRequest): Promise<TurnEstimate> {
  const { place, accepted } = await placeAndAccept(core, caller, { request: asked, remembered: null });
  const closed = answerOpenCalls(place.parent, accepted.toolResults);
  const live = { turnId: newId(), signal: new AbortController().signal };
  const planned = await tryToPlan(core, { accepted, place, closed, live });
  if ("failure" in planned) throw new AptoveError(planned.failure.code, planned.failure.message);
  const { plan, warnings } = planned;
  const tokens = tokensOf(plan, place.parent);
  const window = core.windows.of(accepted);
  return {
    provider: accepted.provider.name,
    model: accepted.model,
    contextTokens: window,
    tokens,
    price: priceOf(accepted, tokens, accepted.settings.maxOutputTokens ?? null),
    budgets: await budgetsOf(core, plan, { parent: place.parent, sessionId: place.session?.id ?? newId() }),
    isSummarisedFirst: plan.isTooLong,
    manifest: plan.manifest,
    warnings,
  };
}

interface EstimatedPlace {
  parent: ContinuableTurn | null;
  sessionId: string;
}

/** Returns the budgets of the first call. A call that waits for a summary or for tools is not known yet. */
async function budgetsOf(
  core: EngineCore,
  plan: TurnPlan,
  { parent, sessionId }: EstimatedPlace,
): Promise<ForeseenBudget[]> {
  const { accepted, first } = plan;
  const applying = await core.deps.records.budgets.applying(budgetTargets(accepted.caller, sessionId));
  if (first === null) return foresee(applying, null);
  const { call, request } = first;
  const bound = callBound({
    plan,
    parent,
    request,
    items: call.items,
    continues: call.previousResponseId !== null,
    isOfTurn: true,
    produced: { items: [], contextTokens: null },
    window: core.windows.of(accepted),
  });
  return foresee(applying, bound);
}

function tokensOf(plan: TurnPlan, parent: ContinuableTurn | null): TurnEstimate["tokens"] {
  const { accepted, newItems, visible } = plan;
  const { tools } = accepted.toolUse;
  const total = firstCallTokens(plan, parent);
  const prompt = estimateTokens(accepted.prompt);
  const ofTools = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
  const instruction = Math.min(estimateTokens(accepted.instruction), itemsTokens(newItems));
  const context = itemsTokens(newItems) - instruction;
  const counted = prompt + ofTools + instruction + context;
  // What the provider counted before may be more than our estimate of the history.
  const history = Math.max(historyTokens(visible), total - counted);
  return { prompt, tools: ofTools, history, context, instruction, total, cachedMax: cachedMax(plan, parent, total) };
}

/** Returns the tokens that the provider may have in its cache: those of the last call, if it was the same model's. */
function cachedMax({ accepted: { provider, model } }: TurnPlan, parent: ContinuableTurn | null, total: number): number {
  const isSame = parent?.provider === provider.name && modelFamily(parent.model) === modelFamily(model);
  return isSame ? Math.min(total, countedContext(parent.run) ?? 0) : 0;
}

const nothing: Usage = { input: 0, output: 0, cached: 0, reasoning: 0, total: 0 };

function priceOf(
  { provider, model }: Pick<AcceptedRequest, "provider" | "model">,
  { total, cachedMax: cached }: TurnEstimate["tokens"],
  maxOutput: number | null,
): EstimatedPrice | null {
  const cost = (usage: Partial<Usage>): number | null =>
    priced(provider, model, { ...nothing, ...usage }).costUsd ?? null;
  const min = cost({ input: total, cached });
  // The most expensive way to send it: everything is written to the cache.
  const max = cost({ input: total, written: total });
  const thousand = cost({ output: 1_000 });
  if (min === null || max === null || thousand === null) return null;
  const whole = maxOutput === null ? null : cost({ input: total, written: total, output: maxOutput });
  return {
    inputMinUsd: Math.min(min, max),
    inputMaxUsd: Math.max(max, cost({ input: total }) ?? 0),
    outputUsdPerThousand: thousand,
    maxUsd: whole,
  };
}
