/**
 * Holds the bound of a call in the budgets of its turn before the call is sent, and counts what it used when it has ended
 * (F11). A turn without a budget asks no store.
 */
import {
  amountIn,
  amountText,
  budgetName,
  leftOf,
  nanoUsd,
  type BudgetHold,
  type BudgetRefusal,
  type BudgetTargets,
  type CallAmount,
} from "../../../domain/budget.ts";
import { failure, type Failure } from "../../../domain/errors.ts";
import { costOf } from "../../../domain/models.ts";
import type { Usage } from "../../../domain/usage.ts";
import { budgetTargets } from "../../access/budgets.ts";
import type { CallKey } from "../../../records/record-store.ts";
import type { EngineCore } from "../live/engine-core.ts";
import { callBound } from "./call-bound.ts";
import type { ModelRun } from "./model-run.ts";
import type { ModelRequest } from "./turn-requests.ts";

/** The end of a call: the model that answered, and what it used. */
export interface UsedCall {
  model: string;
  usage: Usage;
}

export interface HeldCall {
  /** Counts what the call used. It is called once, also for a call that was not sent. */
  settle(used: UsedCall): Promise<void>;
}

const nothingHeld: HeldCall = { settle: async () => {} };

/** Returns the held call, or why it may not be made. */
export async function holdBudgets(
  core: EngineCore,
  run: ModelRun,
  request: ModelRequest,
): Promise<HeldCall | { failure: Failure }> {
  if (!run.live.hasBudget) return nothingHeld;
  const { accepted, turnId } = run.plan;
  return await holdCall(core, {
    call: { turnId, step: request.step },
    targets: budgetTargets(accepted.caller, run.live.sessionId),
    bound: boundOf(core, run, request),
    asked: { model: request.request.model, isFree: accepted.provider.isFree === true },
  });
}

export interface BoundCall {
  call: CallKey;
  targets: BudgetTargets;
  bound: CallAmount;
  asked: Answered["asked"];
}

/** Holds the bound of any call. Returns the held call, or why it may not be made. */
export async function holdCall(
  { deps }: EngineCore,
  { call, targets, bound, asked }: BoundCall,
): Promise<HeldCall | { failure: Failure }> {
  const reservation = { ...call, runnerId: deps.runner.id, targets, bound, passed: [] };
  const result = await deps.records.budgets.reserve(reservation);
  if (result.outcome === "refused") return { failure: refusedCall(result.refusals, asked.model) };
  const { holds } = result;
  if (holds.length === 0) return nothingHeld;
  return { settle: (used) => deps.records.budgets.settle(call, amountsOf(holds, { ...used, asked })) };
}

function boundOf(core: EngineCore, { plan, recorder, place }: ModelRun, { call, request }: ModelRequest): CallAmount {
  return callBound({
    plan,
    parent: place.parent,
    request,
    items: call.items,
    continues: call.previousResponseId !== null,
    isOfTurn: call.previousResponseId !== null || call.prompt === plan.accepted.prompt,
    produced: { items: recorder.items, contextTokens: recorder.contextTokens },
    window: core.windows.of(plan.accepted),
  });
}

interface Answered extends UsedCall {
  asked: { model: string; isFree: boolean };
}

/** Returns what the call used of each hold. Null: that is not known, so all that was held counts. */
function amountsOf(holds: readonly BudgetHold[], { model, usage, asked }: Answered): Map<string, number | null> {
  const isKnown = usage.isPartial !== true;
  const cost = asked.isFree ? 0 : (costOf(model, usage) ?? costOf(asked.model, usage));
  const used: CallAmount = { usd: cost === undefined ? null : nanoUsd(cost), tokens: usage.total };
  return new Map(holds.map((hold) => [hold.budgetId, isKnown ? amountIn(hold, used) : null]));
}

function refusedCall(refusals: readonly BudgetRefusal[], model: string): Failure {
  const unpriced = refusals.find(({ reason }) => reason === "unpriced");
  if (unpriced !== undefined) {
    const detail =
      `the price of the model "${model}" is not known, so its calls cannot be counted in ${budgetName(unpriced.budget)}; ` +
      "set what a million of its tokens count (aptove budget set … --unknown-price), or choose a model with a known price";
    return failure("price_unknown", detail);
  }
  return failure("budget_exceeded", refusals.map(overText).join("; "));
}

function overText({ budget, amount }: BudgetRefusal): string {
  const { unit, limit, reserved } = budget;
  const text = (value: number): string => amountText(unit, value);
  const held = reserved === 0 ? "" : `, and ${text(reserved)} are held for calls that run now`;
  const fix = "raise the budget, or set an output limit, which makes the bound smaller";
  return `the next call could use ${text(amount ?? 0)}, but ${budgetName(budget)} has ${text(leftOf(budget))} left of ${text(limit)}${held}; ${fix}`;
}
