/** `/undo` of a chat: continues from before the last instruction, and offers to put back the files that its tools wrote (L2, T12). */
import type { AptoveClient } from "../../../client/client.ts";
import { failureOf } from "../../../domain/errors.ts";
import { isYes } from "../confirm.ts";
import { exitCodes } from "../failure.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { plural } from "../../../system/grouped-number.ts";
import { writeChanges } from "../working-copy/write-changes.ts";
import type { ChatState } from "./chat-state.ts";
import type { PuttingBack } from "./written-files.ts";

export async function undo(state: ChatState): Promise<void> {
  const { client, call, sessionId } = state;
  if (sessionId === null) return call.output.note("there is no turn yet");
  const { undone, headTurnId } = await undoInstruction(client, sessionId);
  const first = undone.at(-1);
  if (first === undefined) return call.output.note("there is no turn to undo");
  // The call went with the turn, so no turn waits for its result.
  state.unsent = [];
  state.lastTurnId = headTurnId;
  state.lastExit = exitCodes.fine;
  call.output.note(`undid turn ${shortId(first)}`);
  await offerFiles(state, new Set(undone));
}

/**
 * Undoes the newest turn. A turn that only brought results of tools belongs to the instruction before it, so that one is
 * undone too. Returns the turns, newest first.
 */
async function undoInstruction(
  { sessions, turns }: AptoveClient,
  sessionId: string,
): Promise<{ undone: string[]; headTurnId: string | null }> {
  const undone: string[] = [];
  for (;;) {
    const { undoneTurnId, session } = await sessions.undo(sessionId);
    const { headTurnId } = session;
    if (undoneTurnId === null) return { undone, headTurnId };
    undone.push(undoneTurnId);
    if (headTurnId === null) return { undone, headTurnId };
    if ((await turns.summary(undoneTurnId)).instructionSummary !== "") return { undone, headTurnId };
  }
}

async function offerFiles(state: ChatState, undone: ReadonlySet<string>): Promise<void> {
  const { call, tools, lines } = state;
  const { output } = call;
  const { root } = await call.copy();
  const back = tools?.written.puttingBack(root, undone) ?? { changes: [], changed: [] };
  for (const line of listed(back)) output.line(output.safe(line));
  if (back.changes.length === 0) return output.note("files on disk are not changed");
  const answer = await lines.ask(`put ${plural(back.changes.length, "file")} back? [y/N] `, "yn");
  if (answer === null || !isYes(answer)) return output.note("files on disk are not changed");
  try {
    writeChanges(root, back.changes);
  } catch (error) {
    return output.note(`files on disk are not changed: ${output.safeNote(failureOf(error).message)}`);
  }
  tools?.written.forget(undone);
  output.note(`put back ${plural(back.changes.length, "file")}`);
}

function listed({ changes, changed }: PuttingBack): string[] {
  return [
    ...changes.map(({ path, before, after }) => {
      if (after === null) return `  remove   ${path} (the turn made it)`;
      return before === null ? `  make     ${path} (the turn removed it)` : `  restore  ${path}`;
    }),
    ...changed.map((path) => `  keep     ${path} (others changed it too)`),
  ];
}
