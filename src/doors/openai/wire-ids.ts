/**
 * The ids of this door. A response is a turn and a conversation is a session, so their ids are ours with a prefix (O2). The
 * items of a turn are numbered by their kind.
 */
import { isId } from "../../domain/ids.ts";

export const responseId = (turnId: string): string => `resp_${hex(turnId)}`;
export const chatId = (turnId: string): string => `chatcmpl-${hex(turnId)}`;
export const conversationId = (sessionId: string): string => `conv_${hex(sessionId)}`;

/** The prefixes of items: what was given to a turn, and what came out of it. */
export const itemPrefixes = {
  message: "msg",
  given: "in",
  reasoning: "rs",
  call: "fc",
  own: "aptc",
  context: "ctx",
  compaction: "cmp",
  /** An item of a conversation, by its place in the history. */
  kept: "item",
} as const;
export type ItemKind = keyof typeof itemPrefixes;

export function itemId(kind: ItemKind, turnId: string, number: number): string {
  return `${itemPrefixes[kind]}_${hex(turnId)}${number}`;
}

function hex(id: string): string {
  return id.replaceAll("-", "");
}

/** Returns the turn of a response id. Null: it is not one. */
export function turnOfResponse(id: string): string | null {
  return idBehind("resp_", id);
}

/** Returns the session of a conversation id. Null: it is not one. */
export function sessionOfConversation(id: string): string | null {
  return idBehind("conv_", id);
}

/** Returns the turn of an item's id. Null: it is not one. */
export function turnOfItem(id: string): string | null {
  const found = /^[a-z]+_([0-9a-f]{32})\d+$/.exec(id)?.[1];
  return found === undefined ? null : dashed(found);
}

function idBehind(prefix: string, id: string): string | null {
  const found = id.startsWith(prefix) ? id.slice(prefix.length) : "";
  return /^[0-9a-f]{32}$/.test(found) ? dashed(found) : null;
}

function dashed(digits: string): string | null {
  const id = digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return isId(id) ? id : null;
}
