/**
 * The messages to a running turn as they are stored until it ends (V4). If its process dies before the model received one,
 * the recovery records it, and the next turn of the session gets it.
 */
import type { BlobStore } from "../../../blobs/blob-store.ts";
import type { Warning } from "../../../domain/errors.ts";
import type { TurnEvent } from "../../../domain/events.ts";
import type { Turn } from "../../../domain/turn.ts";
import { blobKeys, encodeBlob, readBlob } from "./turn-blobs.ts";

const undelivered = "no model call was left to deliver this message: ";

/** Returns the warning of a message that came too late for a model call. */
export function undeliveredWarning(text: string): Warning {
  return { code: "steer_undelivered", message: `${undelivered}${text}` };
}

/** Returns the messages that a failed turn never gave to the model. */
export function undeliveredTexts(turn: Turn): string[] {
  return turn.status === "failed" ? textsOf(turn.warnings) : [];
}

/** Stores a message, and returns its key. */
export async function keepSteer(
  blobs: BlobStore,
  { turnId, id, text }: { turnId: string; id: string; text: string },
): Promise<string> {
  const key = blobKeys.steer(turnId, id);
  await blobs.put(key, encodeBlob("steer", { format: 1, turnId, text }));
  return key;
}

/** Returns the stored messages that the events show neither as given to the model, nor as recorded because they came too late. */
export async function undeliveredSteers(
  blobs: BlobStore,
  turnId: string,
  events: readonly TurnEvent[],
): Promise<string[]> {
  const shown = events.flatMap(shownTexts);
  const waiting: string[] = [];
  for (const key of (await blobs.list(`turns/${turnId}/steer-`)).toSorted()) {
    const { text } = await readBlob<"steer">(blobs, key, turnId);
    const at = shown.indexOf(text);
    if (at === -1) waiting.push(text);
    else shown.splice(at, 1);
  }
  return waiting;
}

function shownTexts(event: TurnEvent): string[] {
  if (event.type === "steered") return [event.text];
  return event.type === "warning" ? textsOf([event.warning]) : [];
}

function textsOf(warnings: readonly Warning[]): string[] {
  return warnings.flatMap(({ code, message }) =>
    code === "steer_undelivered" ? [message.slice(undelivered.length)] : [],
  );
}
