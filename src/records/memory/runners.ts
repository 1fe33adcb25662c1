/** Runners, their leases and controls in memory. */
import type { PendingTurn } from "../../domain/turn.ts";
import type { RunnerRecords, TurnControl } from "../runners.ts";
import { insert, isPending, type Rows } from "./rows.ts";

export function runnerRecords(rows: Rows, now: () => number): RunnerRecords {
  return {
    async insert(runner) {
      rows.runners.set(runner.id, runner);
    },
    async get(id) {
      return rows.runners.get(id) ?? null;
    },
    async list() {
      return [...rows.runners.values()].toSorted((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
    },
    async delete(id) {
      rows.runners.delete(id);
    },
    async renewLeases({ runnerId, turnIds, leaseMs }) {
      const held = turnIds.map((id) => rows.turns.get(id)).filter((turn) => turn !== undefined);
      const own = held.filter(isPending).filter((turn) => turn.runnerId === runnerId);
      for (const turn of own)
        rows.turns.set(turn.id, { ...turn, leaseExpiresAt: Math.max(turn.leaseExpiresAt, now() + leaseMs) });
      return own.map(({ id }) => id);
    },
    async takeLostTurns({ runnerId, leaseMs, deadRunnerIds, sparedRunnerIds = [], limit, turnId }) {
      const hasRunOut = (turn: PendingTurn): boolean =>
        turn.leaseExpiresAt <= now() && !sparedRunnerIds.includes(turn.runnerId);
      const isLost = (turn: PendingTurn): boolean => hasRunOut(turn) || deadRunnerIds.includes(turn.runnerId);
      const lost = [...rows.turns.values()].filter(isPending).filter(isLost);
      const asked = turnId === undefined ? lost : lost.filter(({ id }) => id === turnId);
      const first = asked.toSorted((a, b) => a.leaseExpiresAt - b.leaseExpiresAt || (a.id < b.id ? -1 : 1));
      const taken = first.slice(0, limit).map((turn) => {
        return { turn: { ...turn, runnerId, leaseExpiresAt: now() + leaseMs }, lostBy: turn.runnerId };
      });
      for (const { turn } of taken) rows.turns.set(turn.id, turn);
      return taken;
    },
    async insertControl(control) {
      if (rows.turns.get(control.turnId)?.status !== "pending") return false;
      if (rows.controls.has(control.id)) return control.kind !== "answer";
      insert(rows.controls, control.id, control);
      return true;
    },
    async listControls(runnerId) {
      const own: TurnControl[] = [];
      for (const control of rows.controls.values()) {
        const turn = rows.turns.get(control.turnId);
        if (turn?.status !== "pending") rows.controls.delete(control.id);
        else if (turn.runnerId === runnerId) own.push(control);
      }
      return own.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
    },
    async deleteControls(ids) {
      for (const id of ids) rows.controls.delete(id);
    },
  };
}
