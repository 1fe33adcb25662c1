/** Checks every stored turn of all sessions and orgs, for the operator (B3, D2). */
import type { Caller } from "../../domain/caller.ts";
import { limits } from "../../domain/limits.ts";
import { operatorOnly } from "../access/access.ts";
import type { VerifyAllReport } from "../api/explanation.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { turnFault } from "./verify.ts";

/** Returns all turns that are not whole. Running turns are skipped. Throws `forbidden`. */
export async function verifyAll(
  core: EngineCore,
  caller: Caller,
  onTurn: (checked: number) => void,
): Promise<VerifyAllReport> {
  operatorOnly(caller, "check all turns");
  const { records } = core.deps;
  const report: VerifyAllReport = { turns: 0, faults: [] };
  for (let after: string | null = null; ;) {
    const ids = await records.storage.turnIds({ after, limit: limits.pageSizeMax });
    for (const id of ids) {
      const turn = await records.turns.get(id);
      if (turn === null || turn.status === "pending") continue;
      const reason = await turnFault(core, turn);
      if (reason !== null) report.faults.push({ turnId: id, sessionId: turn.sessionId, reason });
      onTurn((report.turns += 1));
    }
    after = ids.at(-1) ?? null;
    if (after === null) return report;
  }
}
