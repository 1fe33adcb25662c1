/** Compares turns, verifies sessions and measures them. What does that is loaded when it is called, so that other commands start quickly. */
import { pageLimit } from "../access/access.ts";
import type { Explanations } from "../engine.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";

export function explanations(core: EngineCore): Explanations {
  const { deps } = core;
  return {
    diff: async (caller, pair) => {
      const { diffTurns } = await import("./turn-diff.ts");
      return await diffTurns(core, caller, pair);
    },
    verify: async (caller, sessionId, onTurn) => {
      const { verifySession } = await import("./verify.ts");
      return await verifySession(core, caller, { sessionId, onTurn });
    },
    size: async (caller, sessionId, { before, limit } = {}) => {
      const { sessionSize } = await import("./history-size.ts");
      return await sessionSize(deps, caller, { sessionId, before, limit: pageLimit(limit) });
    },
    sizes: async (caller, { limit } = {}) => {
      const { sizeOverview } = await import("./history-size.ts");
      return await sizeOverview(deps, caller, { limit: pageLimit(limit) });
    },
    verifyAll: async (caller, onTurn = () => {}) => {
      const { verifyAll } = await import("./verify-all.ts");
      return await verifyAll(core, caller, onTurn);
    },
  };
}
