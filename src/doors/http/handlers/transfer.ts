/** Sessions that leave for another aptove, or come from one; read and written as streams, whatever their size. */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import { linesMediaType } from "../../../protocol/transfer.ts";
import { bodyPieces, mediaType, requireMediaType } from "../request/body.ts";
import { answer } from "./call.ts";
import type { Call, Door, Handlers } from "./call.ts";
import { lineStream, readLines } from "../request/lines.ts";

export function transferHandlers(door: Door): Handlers<"exportSession" | "importSessions"> {
  const { transfer } = door.engine;
  return {
    exportSession: async ({ caller, id, query: { turnId, format } }) => {
      if (format === "markdown") return markdown(await transfer.markdown(caller, id));
      if (turnId !== undefined) await refuseOtherSession(door, caller, { sessionId: id, turnId });
      const lines = transfer.export(caller, turnId === undefined ? { sessionId: id } : { turnId });
      const onFault = (error: unknown): void => door.report("an export broke off", error);
      return new Response(await lineStream(lines, onFault), { headers: exportHeaders });
    },
    importSessions: async ({ caller, request }: Call<"importSessions">) => {
      requireMediaType(mediaType(request), [linesMediaType]);
      const pieces = bodyPieces(request, door.limits.importBytesMax);
      const lines = readLines(pieces, limits.importLineBytesMax);
      return answer("importSessions", await transfer.import(caller, lines));
    },
  };
}

const exportHeaders = {
  "content-type": linesMediaType,
  // Said here, so that the server does not read ahead to find the length: what breaks later must be seen to break.
  "transfer-encoding": "chunked",
};

interface Branch {
  sessionId: string;
  turnId: string;
}

async function refuseOtherSession({ engine }: Door, caller: Caller, { sessionId, turnId }: Branch): Promise<void> {
  const turn = await engine.turns.get(caller, turnId);
  if (turn.sessionId === sessionId) return;
  throw new AptoveError("not_found", `the turn belongs to the session ${turn.sessionId}; export it from there`);
}

function markdown(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/markdown; charset=utf-8" } });
}
