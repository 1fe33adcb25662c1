/**
 * Appends events to the live log of a turn until it is killed. Arguments: the folder, the id of the turn.
 * Prints the number of events as soon as an append is acknowledged.
 */
import { writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { TurnEvent } from "../../src/domain/events.ts";
import { fileEventLog } from "../../src/live/files/file-event-log.ts";

/** Returns the event with this number. Some are larger than what the kernel writes in one piece. */
export function eventOfNumber(seq: number): TurnEvent {
  return { type: "text_delta", messageId: "message", delta: `${seq} \n`.repeat(1 + ((seq * 7_919) % 3_000)) };
}

async function appendForEver(folder: string, turnId: string): Promise<void> {
  const log = fileEventLog({ folder });
  for (let seq = 0; ;) {
    const batch = Array.from({ length: 1 + (seq % 5) }, (_, index) => eventOfNumber(seq + 1 + index));
    await log.append(turnId, batch);
    seq += batch.length;
    writeSync(1, `${seq}\n`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder = "", turnId = ""] = process.argv.slice(2);
  await appendForEver(folder, turnId);
}
