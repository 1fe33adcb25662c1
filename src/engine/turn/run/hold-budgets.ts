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
import type { Caller } from "../../../domain/caller.ts";
import { failure, type Failure } from "../../../domain/errors.ts";
import { costOf } from "../../../domain/models.ts";
import type { Usage } from "../../../domain/usage.ts";
import type { BudgetReservation, CallKey, ReserveResult } from "../../../records/record-store.ts";
import { budgetTargets, maySetBudget } from "../../access/budgets.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import { countCall, countLater } from "../live/budgeted-turns.ts";
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
  /** Counts what the call used. It is called once, also for a call that was not sent. Never rejects. */
  settle(used: UsedCall): Promise<void>;
}

const nothingHeld: HeldCall = { settle: async () => {} };

/** Returns the held call, or why it may not be made. */
export async function holdBudgets(
  core: EngineCore,
  run: ModelRun,
  request: ModelRequest,
): Promise<HeldCall | { failure: Failure }> {
  const { accepted, turnId } = run.plan;
  const { deniedPass } = run.closed;
  if (deniedPass !== null && accepted.instruction === "") return { failure: deniedCall(deniedPass) };
  if (!run.live.hasBudget) return nothingHeld;
  const { deps } = core;
  const call = { turnId, step: request.step };
  const reservation = {
    ...call,
    runnerId: deps.runner.id,
    targets: budgetTargets(accepted.caller, run.live.sessionId),
    bound: boundOf(core, run, request),
  };
  let result = await reserve(core, { ...reservation, passed: [] });
  if (result.outcome === "refused" && run.passedBudgets.length > 0) {
    const passed = await passable(deps, accepted.caller, { refusals: result.refusals, ids: run.passedBudgets });
    run.passedBudgets = [];
    result = await reserve(core, { ...reservation, passed });
  }
  if (result.outcome === "refused") return refused(core, run, { request, refusals: result.refusals });
  const { holds } = result;
  if (holds.length === 0) return nothingHeld;
  const asked = { model: request.request.model, isFree: accepted.provider.isFree === true };
  return { settle: (used) => countCall(core, { call, used: amountsOf(holds, { ...used, asked }) }) };
}

/** Holds the bound of a call. A store that failed may hold it nevertheless, so a call that is not made for this reason is counted as unsent. */
async function reserve(core: EngineCore, reservation: BudgetReservation): Promise<ReserveResult> {
  try {
    return await core.deps.records.budgets.reserve(reservation);
  } catch (error) {
    const { turnId, step } = reservation;
    countLater(core, { call: { turnId, step }, used: "nothing" });
    throw error;
  }
}

/** A call that belongs to no turn. No person can let it pass a budget. */
export interface PlainCall {
  call: CallKey;
  targets: BudgetTargets;
  bound: CallAmount;
  asked: Answered["asked"];
}

/** Holds the bound of a call that belongs to no turn. Returns the held call, or why it may not be made. */
export async function holdPlainCall(
  core: EngineCore,
  { call, targets, bound, asked }: PlainCall,
): Promise<HeldCall | { failure: Failure }> {
  const result = await reserve(core, { ...call, runnerId: core.deps.runner.id, targets, bound, passed: [] });
  if (result.outcome === "refused") return { failure: refusedCall(result.refusals, asked.model) };
  const { holds } = result;
  if (holds.length === 0) return nothingHeld;
  return { settle: (used) => countCall(core, { call, used: amountsOf(holds, { ...used, asked }) }) };
}

const waitWords =
  "the turn waits until a person lets its next call pass a budget, or raises the budget and allows the call";

function deniedCall(reason: string): Failure {
  return failure("budget_exceeded", `a person did not let the call of the model pass its budget: ${reason}`);
}

/** Returns the budgets that the caller lets the call pass, and may set. */
async function passable(
  deps: EngineDependencies,
  caller: Caller,
  { refusals, ids }: { refusals: readonly BudgetRefusal[]; ids: readonly string[] },
): Promise<string[]> {
  const meant = refusals.map(({ budget }) => budget).filter(({ id }) => ids.includes(id));
  const mayPass = await Promise.all(meant.map((budget) => maySetBudget(deps, caller, budget)));
  return meant.filter((_, n) => mayPass[n] === true).map(({ id }) => id);
}

interface RefusedCall {
  request: ModelRequest;
  refusals: readonly BudgetRefusal[];
}

/** Refuses the call. If all of its budgets say so, the turn waits for a person in place of failing. */
function refused({ deps }: EngineCore, run: ModelRun, { request, refusals }: RefusedCall): { failure: Failure } {
  const { plan, recorder, closed } = run;
  const { accepted, turnId } = plan;
  const reason = refusedCall(refusals, request.request.model);
  const [first] = refusals;
  const isMeant = refusals.every(({ reason: why, budget }) => why === "over" && budget.onLimit === "wait");
  const mayWait = isMeant && accepted.subagent === null && !accepted.cannotWait && closed.deniedPass === null;
  deps.observer.note({ type: "budget_refused", scope: first?.budget.scope ?? "org", waits: mayWait });
  if (!mayWait) return { failure: reason };
  const callId = `budget-${turnId}-${request.step}`;
  const title = "Let the next call of the model pass its budget";
  const content = [{ type: "text" as const, text: reason.message }];
  recorder.emit({
    type: "tool_call_view",
    callId,
    view: { title, kind: "other", locations: [], content, permission: null },
  });
  recorder.warn({ code: "budget_waits", message: waitWords });
  run.waitsFor = {
    callId,
    name: "pass_budget",
    arguments: JSON.stringify({ reason: reason.message }),
    waitsFor: "approval",
    budgetIds: refusals.map(({ budget }) => budget.id),
  };
  return { failure: reason };
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
  const isForAdmins = refusals.some(({ budget }) => budget.scope !== "session");
  const raise = isForAdmins ? "raise the budget, as an admin may" : "raise the budget";
  const fix = `${raise}, or set a smaller output limit (maxOutputTokens), with which a call holds less`;
  return failure("budget_exceeded", `${refusals.map(overText).join("; and ")}; ${fix}`);
}

function overText({ budget, amount }: BudgetRefusal): string {
  const { unit, limit, spent, reserved } = budget;
  const text = (value: number): string => amountText(unit, value);
  const held = reserved === 0 ? "" : `, and ${text(reserved)} held for calls that run now`;
  const used = `${text(spent)} of ${text(limit)} spent${held}`;
  return `the next call could use up to ${text(amount ?? 0)}, but ${budgetName(budget)} has ${text(leftOf(budget))} left (${used})`;
}
