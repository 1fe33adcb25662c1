/**
 * Exports sessions to another aptove, imports them from one, and writes them as pages for people. The code is loaded
 * when it is called, because most commands transfer no session.
 */
import { audited } from "../access/audit.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { Transfer } from "../engine.ts";

export function transfer(core: EngineCore): Transfer {
  return {
    export: async function* (caller, scope) {
      const lines = (await import("./export.ts")).exportLines(core, caller, scope);
      const target = "turnId" in scope ? scope.turnId : scope.sessionId;
      // An export that is not allowed is refused before its first line.
      const first = await audited(core.deps, { by: caller, action: "session.export", target }, () => lines.next());
      if (first.done !== true) yield first.value;
      yield* lines;
    },
    import: async (caller, lines) => {
      const { importLines } = await import("./import.ts");
      return await audited(core.deps, { by: caller, action: "session.import" }, () => importLines(core, caller, lines));
    },
    markdown: async (caller, sessionId) => {
      const { markdownOf } = await import("./markdown.ts");
      const act = { action: "session.export", target: sessionId } as const;
      return await audited(core.deps, { by: caller, ...act }, () => markdownOf(core, caller, sessionId));
    },
  };
}
