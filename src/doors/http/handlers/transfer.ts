/** Handlers for the export and import of sessions. Both are streams, whatever their size. */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import { linesMediaType } from "../../../protocol/transfer.ts";
import { bodyPieces, mediaType, requireMediaType } from "../request/body.ts";
import { answer, type RouteCall, type HandlerDependencies, type RouteHandlers } from "./handler.ts";
import { bodyOfLines, bodyLines } from "../request/body-lines.ts";

export function transferHandlers(door: HandlerDependencies): RouteHandlers<"exportSession" | "importSessions"> {
  const { transfer } = door.engine;
  return {
    exportSession: async ({ caller, id, query: { turnId, format } }) => {
      if (format === "markdown") return markdown(await transfer.markdown(caller, id));
      if (turnId !== undefined) await refuseOtherSession(door, caller, { sessionId: id, turnId });
      const lines = transfer.export(caller, turnId === undefined ? { sessionId: id } : { turnId });
      const onFault = (error: unknown): void =>
        door.report("an export broke off; the client has an incomplete file", error);
      return new Response(await bodyOfLines(lines, onFault), { headers: exportHeaders });
    },
    importSessions: async ({ caller, request }: RouteCall<"importSessions">) => {
      requireMediaType(mediaType(request), [linesMediaType]);
      const pieces = bodyPieces(request, door.limits.importBytesMax);
      const lines = bodyLines(pieces, limits.importLineBytesMax);
      return answer("importSessions", await transfer.import(caller, lines));
    },
  };
}

const exportHeaders = {
  "content-type": linesMediaType,
  // Set here, so that the server does not read ahead to find the length. If the export breaks off, the client must notice it.
  "transfer-encoding": "chunked",
};

interface Branch {
  sessionId: string;
  turnId: string;
}

async function refuseOtherSession(
  { engine }: HandlerDependencies,
  caller: Caller,
  { sessionId, turnId }: Branch,
): Promise<void> {
  const turn = await engine.turns.get(caller, turnId);
  if (turn.sessionId === sessionId) return;
  throw new AptoveError("not_found", `the turn belongs to the session ${turn.sessionId}; export it from there`);
}

function markdown(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/markdown; charset=utf-8" } });
}
