/** Turns whose content is not kept, in memory (O3). */
import { lostEnd, type UnkeptRecords } from "../unkept.ts";
import { insert, type Rows } from "./rows.ts";

export function unkeptRecords(rows: Rows): UnkeptRecords {
  return {
    async insert(turn) {
      insert(rows.unkept, turn.id, turn);
    },
    async finish(id, end) {
      const turn = rows.unkept.get(id);
      if (turn?.end === null) rows.unkept.set(id, { ...turn, end });
    },
    async failLost(at) {
      const lost = [...rows.unkept.values()].filter(({ end, runnerId }) => end === null && !rows.runners.has(runnerId));
      for (const turn of lost) rows.unkept.set(turn.id, { ...turn, end: lostEnd(at) });
      return lost.length;
    },
    async list(userId, { limit }) {
      const own = [...rows.unkept.values()].filter((turn) => turn.userId === userId);
      return own.toSorted((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit);
    },
  };
}
