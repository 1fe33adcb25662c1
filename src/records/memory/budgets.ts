/** Budgets in memory (F11). */
import {
  dayOf,
  decideHolds,
  targetIdsOf,
  type Budget,
  type BudgetState,
  type BudgetTargets,
} from "../../domain/budget.ts";
import type { BudgetRecords, BudgetReservation, ReserveResult, UsedAmounts } from "../budgets.ts";
import { byAge, pairKey, type KeptHold, type Rows } from "./rows.ts";

export function budgetRecords(rows: Rows, now: () => number): BudgetRecords {
  const states = (isMeant: (budget: Budget) => boolean): BudgetState[] =>
    [...rows.budgets.values()]
      .filter(isMeant)
      .toSorted(byAge)
      .map((budget) => stateOf(rows, budget, now()));
  return {
    async set(budget) {
      const twin = [...rows.budgets.values()].find((one) => isTwin(one, budget));
      const { id, createdAt, createdBy } = twin ?? budget;
      rows.budgets.set(id, { ...budget, id, createdAt, createdBy });
      return stateOf(rows, { ...budget, id, createdAt, createdBy }, now());
    },
    async remove(id) {
      return remove(rows, id);
    },
    async get(id) {
      const budget = rows.budgets.get(id);
      return budget === undefined ? null : stateOf(rows, budget, now());
    },
    async list(orgId) {
      return states((budget) => budget.orgId === orgId);
    },
    async applying(targets) {
      const ids = targetIdsOf(targets);
      return states(({ targetId }) => ids.includes(targetId));
    },
    async withBudget(targetIds) {
      return [...new Set([...rows.budgets.values()].map(({ targetId }) => targetId))].filter((id) =>
        targetIds.includes(id),
      );
    },
    async reserve(reservation) {
      return reserve(rows, reservation, now());
    },
    async settle({ turnId, step }, used) {
      settle(rows, (hold) => hold.turnId === turnId && hold.step === step, used);
    },
    async settleLost(lost) {
      const isLost = (hold: KeptHold): boolean =>
        lost === "of lost runners" ? !rows.runners.has(hold.runnerId) : hold.turnId === lost.turnId;
      settle(rows, isLost, new Map());
    },
  };
}

export function hasBudget(rows: Rows, targets: BudgetTargets): boolean {
  const ids = targetIdsOf(targets);
  return rows.budgets.values().some(({ targetId }) => ids.includes(targetId));
}

/** Deletes the budgets of a target that is deleted. */
export function removeBudgets(rows: Rows, targetId: string): void {
  for (const budget of [...rows.budgets.values()]) if (budget.targetId === targetId) remove(rows, budget.id);
}

function remove(rows: Rows, id: string): boolean {
  forgetHolds(rows, (hold) => hold.budgetId === id);
  for (const key of rows.budgetCounts.keys())
    if ((JSON.parse(key) as [string, number])[0] === id) rows.budgetCounts.delete(key);
  return rows.budgets.delete(id);
}

function isTwin(one: Budget, other: Budget): boolean {
  return one.targetId === other.targetId && one.period === other.period && one.unit === other.unit;
}

function stateOf(rows: Rows, budget: Budget, now: number): BudgetState {
  const day = dayOf(budget.period, now);
  const holds = [...rows.budgetHolds.values()].filter((hold) => hold.budgetId === budget.id && hold.day === day);
  const spent = rows.budgetCounts.get(pairKey(budget.id, day)) ?? 0;
  return { ...budget, spent, reserved: holds.reduce((sum, { amount }) => sum + amount, 0) };
}

function reserve(
  rows: Rows,
  { turnId, step, runnerId, targets, bound, passed }: BudgetReservation,
  now: number,
): ReserveResult {
  const ids = targetIdsOf(targets);
  const budgets = [...rows.budgets.values()].filter(({ targetId }) => ids.includes(targetId)).toSorted(byAge);
  const states = budgets.map((budget) => ({ ...stateOf(rows, budget, now), day: dayOf(budget.period, now) }));
  const decided = decideHolds(states, { bound, passed });
  if ("refusals" in decided) return { outcome: "refused", ...decided };
  for (const hold of decided.holds)
    rows.budgetHolds.set(JSON.stringify([turnId, step, hold.budgetId]), { ...hold, turnId, step, runnerId });
  return { outcome: "reserved", ...decided };
}

function settle(rows: Rows, isMeant: (hold: KeptHold) => boolean, used: UsedAmounts): void {
  for (const { budgetId, day, amount } of forgetHolds(rows, isMeant)) {
    const key = pairKey(budgetId, day);
    const spent = used === "nothing" ? 0 : (used.get(budgetId) ?? amount);
    rows.budgetCounts.set(key, (rows.budgetCounts.get(key) ?? 0) + spent);
  }
}

function forgetHolds(rows: Rows, isMeant: (hold: KeptHold) => boolean): KeptHold[] {
  const meant = [...rows.budgetHolds].filter(([, hold]) => isMeant(hold));
  for (const [key] of meant) rows.budgetHolds.delete(key);
  return meant.map(([, hold]) => hold);
}
