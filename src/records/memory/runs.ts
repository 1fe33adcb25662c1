/** Steps, runners and controls in memory. */
import type { Step } from "../../domain/step.ts";
import type { RecordStore, TurnControl } from "../record-store.ts";
import { assertFree, insert, pairKey, type Rows } from "./rows.ts";

type RunRecords = Pick<
  RecordStore,
  | "insertStep"
  | "listSteps"
  | "insertRunner"
  | "getRunner"
  | "listRunners"
  | "deleteRunner"
  | "insertControl"
  | "takeControls"
>;

export function runRecords(rows: Rows): RunRecords {
  return {
    async insertStep(step, runnerId) {
      const turn = rows.turns.get(step.turnId);
      if (turn?.status !== "pending" || turn.runnerId !== runnerId) return false;
      insertSteps(rows, [step]);
      return true;
    },
    async listSteps(turnId) {
      return stepsOf(rows, turnId);
    },
    async insertRunner(runner) {
      insert(rows.runners, runner.id, runner);
    },
    async getRunner(id) {
      return rows.runners.get(id) ?? null;
    },
    async listRunners() {
      return [...rows.runners.values()].toSorted((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
    },
    async deleteRunner(id) {
      rows.runners.delete(id);
    },
    async insertControl(control) {
      if (rows.turns.get(control.turnId)?.status !== "pending") return false;
      if (!rows.controls.has(control.id)) insert(rows.controls, control.id, control);
      return true;
    },
    async takeControls(runnerId) {
      const taken: TurnControl[] = [];
      for (const control of rows.controls.values()) {
        const turn = rows.turns.get(control.turnId);
        const isRunning = turn?.status === "pending";
        if (isRunning && turn.runnerId !== runnerId) continue;
        rows.controls.delete(control.id);
        if (isRunning) taken.push(control);
      }
      return taken.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
    },
  };
}

/** All of them, or none where one is there already. */
export function insertSteps(rows: Rows, steps: readonly Step[]): void {
  const keyed = steps.map((step) => [pairKey(step.turnId, step.index), step] as const);
  for (const [key] of keyed) assertFree(rows.steps, key);
  for (const [key, step] of keyed) insert(rows.steps, key, step);
}

export function stepsOf(rows: Rows, turnId: string): Step[] {
  const steps = [...rows.steps.values()].filter((step) => step.turnId === turnId);
  return steps.toSorted((a, b) => a.index - b.index);
}
