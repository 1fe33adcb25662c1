/** Checks every stored turn of all sessions and orgs, for the operator (B3, D2). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
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
      const found = await check(core, id);
      if (found === null) continue;
      if (found.reason !== null) report.faults.push({ turnId: id, sessionId: found.sessionId, reason: found.reason });
      onTurn((report.turns += 1));
    }
    after = ids.at(-1) ?? null;
    if (after === null) return report;
  }
}

/** Returns what is wrong with a turn. Null: it runs, or was purged. Records that do not answer are no fault of the turn. */
async function check(
  core: EngineCore,
  id: string,
): Promise<{ sessionId: string | null; reason: string | null } | null> {
  let sessionId: string | null = null;
  try {
    const turn = await core.deps.records.turns.get(id);
    if (turn === null || turn.status === "pending") return null;
    sessionId = turn.sessionId;
    return { sessionId, reason: await turnFault(core, turn) };
  } catch (error) {
    if (error instanceof AptoveError && error.code === "records_damaged") return { sessionId, reason: error.detail };
    throw error;
  }
}
