/** Ids of messages that name their turn, so that a client that sends its conversation again says which turn it continues (O6). */
import { isId } from "../../domain/ids.ts";

export function messageId(turnId: string, id: string): string {
  return `${turnId}/${id}`;
}

/** Returns the turn that a message came from. Null: it is not from here. */
export function turnOfMessage(id: string): string | null {
  const [turnId = "", rest] = id.split("/", 2);
  return rest !== undefined && isId(turnId) ? turnId : null;
}
