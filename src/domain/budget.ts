/**
 * Budgets: what calls of models may cost, in US dollars or in tokens (F11). Before each call its upper bound is held, and
 * after it the hold is replaced by what the call really used. Amounts are whole numbers, nano-dollars or tokens, so that
 * sums are exact.
 */
import type { Millis } from "./ids.ts";

/** What a budget is for: all calls of a session, of a person's turns, of turns that came with a key, or of an org. */
export const budgetScopes = ["session", "person", "key", "org"] as const;
export type BudgetScope = (typeof budgetScopes)[number];

/** `total` counts from the time at which the budget was made. `day` begins again at midnight UTC, by the clock of the store. */
export const budgetPeriods = ["total", "day"] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

export const budgetUnits = ["usd", "tokens"] as const;
export type BudgetUnit = (typeof budgetUnits)[number];

export const budgetReactions = ["fail", "wait"] as const;
export type BudgetReaction = (typeof budgetReactions)[number];

export interface Budget {
  id: string;
  orgId: string;
  scope: BudgetScope;
  /** The id of the session, the user, the key or the org. */
  targetId: string;
  period: BudgetPeriod;
  unit: BudgetUnit;
  /** The amount, as nano-dollars or tokens. */
  limit: number;
  /**
   * What a token of a model without a known price counts, in nano-dollars. Null: calls of such a model are refused. Only a
   * budget in dollars has it.
   */
  unknownPrice: number | null;
  /** What happens to a turn whose next call could pass the limit: it fails, or it waits for a person. */
  onLimit: BudgetReaction;
  createdAt: Millis;
  createdBy: string;
}

/** A budget as a person sets it. */
export interface BudgetStart extends Pick<Budget, "scope" | "period" | "unit" | "limit"> {
  /** Absent: the caller, the caller's key, or the caller's org. A session has to be named. */
  targetId?: string;
  /** Default: none. */
  unknownPrice?: Budget["unknownPrice"];
  /** Default: `fail`. */
  onLimit?: Budget["onLimit"];
}

/** A budget and what is used of it in its current period. */
export interface BudgetState extends Budget {
  spent: number;
  /** What is held for calls that run now. */
  reserved: number;
}

/** Whom the calls of a turn count for. */
export interface BudgetTargets {
  sessionId: string;
  userId: string;
  orgId: string;
  /** Null: the caller used no key. */
  keyId: string | null;
}

/** What a call uses, at most or really. */
export interface CallAmount {
  /** The cost as nano-dollars. Null: the price of the model is not known. */
  usd: number | null;
  tokens: number;
}

/** A part of a budget that is held for one call. */
export interface BudgetHold {
  budgetId: string;
  /** The day that the call counts for: days since the epoch. 0 for a budget in total. */
  day: number;
  amount: number;
  unit: BudgetUnit;
  unknownPrice: number | null;
}

const nanoPerUsd = 1_000_000_000;
export const dayMs = 86_400_000;

/**
 * The bound of a call: the output of a model of which nothing is known, what a provider adds to a request, a picture in full
 * resolution, and a document or recording for a model whose window is not known.
 */
export const callBounds = {
  outputTokensGuess: 128_000,
  requestTokensMargin: 1_000,
  imageTokensMax: 16_000,
  documentTokensMax: 1_000_000,
} as const;

/** The highest limit, in dollars and in tokens. Sums of such amounts are still exact. */
export const budgetUsdMax = 1_000_000;
export const budgetTokensMax = 1_000_000_000_000;

/** Rounds up, so that a bound stays one. A sum of prices can be off by a hair, which must not cost a whole unit. */
export function nanoUsd(usd: number): number {
  return Math.ceil(Number((usd * nanoPerUsd).toFixed(3)));
}

export function usdOf(nano: number): number {
  return nano / nanoPerUsd;
}

/** Returns an amount of a budget as people read it: in dollars, or in tokens. */
export function shownAmount({ unit }: Pick<Budget, "unit">, amount: number): number {
  return unit === "usd" ? usdOf(amount) : amount;
}

export function targetIdsOf({ sessionId, userId, orgId, keyId }: BudgetTargets): string[] {
  return [sessionId, userId, orgId, ...(keyId === null ? [] : [keyId])];
}

/** Returns what the call counts in the unit of the budget. Null: the price of the model is not known, and nothing stands for it. */
export function amountIn(
  { unit, unknownPrice }: Pick<Budget, "unit" | "unknownPrice">,
  { usd, tokens }: CallAmount,
): number | null {
  if (unit === "tokens") return tokens;
  return usd ?? (unknownPrice === null ? null : tokens * unknownPrice);
}

/** Returns the day that a call counts for. The same day always has the same number, whichever way the clock was set meanwhile. */
export function dayOf(period: BudgetPeriod, now: Millis): number {
  return period === "total" ? 0 : Math.floor(now / dayMs);
}

/** Why a call may not be made. */
export type BudgetRefusal =
  | { reason: "over"; budget: BudgetState; amount: number }
  | { reason: "unpriced"; budget: BudgetState; amount: null };

/** The budgets of a call, with what each holds for it. Every hold is for the same call. */
type Decision = { holds: BudgetHold[] } | { refusals: BudgetRefusal[] };

/** Decides whether a call may be made. Budgets in `passed` let it pass whatever is left of them. */
export function decideHolds(
  budgets: readonly (BudgetState & { day: number })[],
  { bound, passed }: { bound: CallAmount; passed: readonly string[] },
): Decision {
  const holds: BudgetHold[] = [];
  const refusals: BudgetRefusal[] = [];
  for (const { day, ...budget } of budgets) {
    const { id: budgetId, unit, unknownPrice } = budget;
    const amount = amountIn(budget, bound);
    if (amount === null) refusals.push({ reason: "unpriced", budget, amount });
    else if (passesLimit(budget, amount) && !passed.includes(budgetId))
      refusals.push({ reason: "over", budget, amount });
    else holds.push({ budgetId, day, amount, unit, unknownPrice });
  }
  return refusals.length > 0 ? { refusals } : { holds };
}

/** A budget, and what a call would hold of it. */
export interface ForeseenBudget {
  budget: BudgetState;
  /** Null: the price is not known, or the call is not, because something else comes first. */
  callMax: number | null;
  /** Why the call would not be made now. Null: it would be. */
  refusal: BudgetRefusal["reason"] | null;
}

/** Returns what the call would hold of each budget. */
export function foresee(budgets: readonly BudgetState[], bound: CallAmount | null): ForeseenBudget[] {
  return budgets.map((budget) => {
    if (bound === null) return { budget, callMax: null, refusal: null };
    const callMax = amountIn(budget, bound);
    const refusal = callMax === null ? "unpriced" : passesLimit(budget, callMax) ? "over" : null;
    return { budget, callMax, refusal };
  });
}

function passesLimit({ spent, reserved, limit }: BudgetState, amount: number): boolean {
  return spent + reserved + amount > limit;
}

const targetNames = {
  session: "this session",
  person: "the person who asked",
  key: "the API key of the request",
  org: "the org",
} as const;

/**
 * Returns the name of a budget in the words of a turn that it counts for, for example "budget 3d42140f (for this session, each day)",
 * with the end of its id, as lists show it.
 */
export function budgetName({ id, scope, period }: Pick<Budget, "id" | "scope" | "period">): string {
  return `budget ${id.slice(-8)} (for ${targetNames[scope]}, ${period === "day" ? "each day" : "in total"})`;
}

/** Returns an amount for people: `$0.0042`, or `12,000 tokens`. */
export function amountText(unit: BudgetUnit, amount: number): string {
  if (unit === "tokens") return `${amount.toLocaleString("en-US")} ${amount === 1 ? "token" : "tokens"}`;
  const dollars = usdOf(amount);
  return `$${dollars.toFixed(dollars >= 1 || dollars === 0 ? 2 : 4)}`;
}

export function leftOf({ limit, spent, reserved }: BudgetState): number {
  return Math.max(0, limit - spent - reserved);
}
