/**
 * Writes new turns of one session into the transcript of the default workspace. Arguments: the data folder, the
 * session, the number of the first turn, the last one (without it: until it is killed). Prints the number of a turn as
 * soon as it is written. The same number is always the same turn.
 */
import { writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { idOf } from "../../src/domain/ids.ts";
import type { TranscribedTurn, TranscriptMessage } from "../../src/domain/transcript.ts";
import { dataFolderAt } from "../../src/configuration/data-folder.ts";
import { fileTranscripts } from "../../src/workspace/files/file-transcripts.ts";
import { createTranscripts } from "../../src/workspace/transcript/transcripts.ts";
import { asked } from "../conversations.ts";

export function messagesOf(sessionId: string, number: number): TranscriptMessage[] {
  return asked(`## User\n${number} of ${sessionId}`, `${number}\n`.repeat((number * 7_919) % 1_000));
}

function turnOf(sessionId: string, number: number): TranscribedTurn {
  const turnIdOf = (at: number): string => idOf(`${sessionId} ${at}`);
  return {
    sessionId,
    turnId: turnIdOf(number),
    parentTurnId: number === 1 ? null : turnIdOf(number - 1),
    provider: "scripted",
    model: "",
    sessionCreatedAt: 0,
    messages: messagesOf(sessionId, number),
    earlier: async () =>
      Array.from({ length: number - 1 }, (_, index) => ({
        turnId: turnIdOf(index + 1),
        messages: messagesOf(sessionId, index + 1),
      })),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder = "", sessionId = "", first, last = Infinity] = process.argv.slice(2);
  const report = (message: string, error?: unknown): void => void writeSync(2, `${message} ${String(error ?? "")}\n`);
  const store = fileTranscripts(dataFolderAt(folder));
  const transcripts = createTranscripts({ store, now: () => Date.now(), report });
  for (let number = Number(first); number <= Number(last); number += 1) {
    await transcripts.turnsFinished("default", [turnOf(sessionId, number)]);
    writeSync(1, `${number}\n`);
  }
}
