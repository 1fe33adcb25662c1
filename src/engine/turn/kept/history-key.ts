/**
 * The key of a history: a hash over what the person, the client and the model wrote, item after item, and nothing of how it was sent.
 * A client that sends its whole history makes the same keys, so its turn is found by the longest beginning that is stored (O5).
 */
import { createHash } from "node:crypto";
import {
  mediaOf,
  openToolCalls,
  type AssistantItem,
  type ConversationItem,
  type HistoryItem,
  type ToolCallItem,
  type ToolResultItem,
  type UserItem,
} from "../../../domain/history.ts";
import { sha256 } from "../../../domain/ids.ts";
import type { InputPart } from "../../../domain/input-part.ts";
import type { ToolFeedback } from "../../../domain/tool.ts";
import { canonicalJson } from "../../../system/canonical-json.ts";
import type { AcceptedPart } from "./accepted-part.ts";
import { instructionOf } from "../request/envelope.ts";

/** One piece of a history in its plain form. */
type Unit =
  | { user: string; media: string[] }
  | { system: string }
  | { assistant: string }
  | { call: string; name: string; args: string }
  | { result: string; output: string; media?: string[] };

/** A key, and how many of the items it covers. */
export interface KeyedItems {
  key: string;
  items: number;
}

const keyCharacters = 22;

/**
 * Returns the key of a history that continues `from` with the units of a turn. `own` is its message with all that came with it: the
 * item itself has only the images and documents that the model sees as such, and a client also sends the texts again.
 */
export function extendedKey(from: string, items: readonly HistoryItem[], own: Brought = {}): string {
  const { message, results } = own;
  const units = items.flatMap((item) => {
    if (message !== undefined && item === message.item) {
      return [{ user: instructionOf(message.item), media: message.attached.map(attachedKey) }];
    }
    const media = item.type === "tool_result" ? results?.get(item.callId) : undefined;
    return media === undefined || item.type !== "tool_result" ? plainItem(item) : [givenItem({ ...item, media })];
  });
  return unitsOf(units).reduce((key, { unit }) => nextKey(key, unit), from);
}

/** What the client sent with items of a turn. */
interface Brought {
  message?: OwnMessage | undefined;
  /** The images and documents of results, by call. */
  results?: ReadonlyMap<string, InputPart[]>;
}

interface OwnMessage {
  item: UserItem;
  attached: readonly AttachedPart[];
}

/** Returns the message of a turn with what came with it. Undefined: nothing came with it. `accepted` may begin with what came with earlier items. */
export function ownMessage(
  newItems: readonly HistoryItem[],
  accepted: readonly AttachedPart[],
  given: readonly InputPart[] = [],
): OwnMessage | undefined {
  const count = given.filter(({ type }) => type !== "text").length;
  const item = newItems.findLast((one) => one.type === "user");
  return count === 0 || item === undefined ? undefined : { item, attached: accepted.slice(-count) };
}

/** Returns what came with the results of the client's tools. */
export function broughtResults(given: readonly ToolFeedback[] = []): Map<string, InputPart[]> {
  return new Map(
    given.flatMap((answer) => ("output" in answer && answer.media ? [[answer.callId, answer.media]] : [])),
  );
}

/** A part of the input that is not text of the instruction. */
type AttachedPart = Pick<AcceptedPart, "type" | "source" | "sha256">;

/** Returns what identifies a part for the client that sent it: an address by its name, anything else by its content. */
function attachedKey({ type, source, sha256: hash }: AttachedPart): string {
  return type === "url" ? `url ${source ?? ""}` : hash;
}

/** The key of a history without items. */
export const emptyHistoryKey = "";

/**
 * Returns what a turn adds for its client: a call that the engine answered itself is not there for the client, and neither is
 * its result.
 */
export function visibleToClient(beginning: readonly HistoryItem[], produced: readonly HistoryItem[]): HistoryItem[] {
  const open = new Set(openToolCalls(produced).map(({ callId }) => callId));
  const isOpen = (item: HistoryItem): boolean =>
    item.type === "tool_call" ? open.has(item.callId) : item.type !== "tool_result";
  return [...beginning, ...produced.filter(isOpen)];
}

/** Returns the keys of all beginnings of a conversation that follows `from`, the longest first. */
export function beginningKeys(items: readonly ConversationItem[], from = emptyHistoryKey): KeyedItems[] {
  const keys: KeyedItems[] = [];
  let key = from;
  for (const { unit, items: count } of unitsOf(items.map(givenItem))) {
    key = nextKey(key, unit);
    keys.unshift({ key, items: count });
  }
  return keys;
}

function nextKey(key: string, unit: Unit): string {
  const hash = createHash("sha256").update(key).update("\n").update(JSON.stringify(unit));
  return hash.digest("base64url").slice(0, keyCharacters);
}

/** Joins the texts of neighbouring answers, as a client has them as one message. Each unit names how many items end with it. */
function unitsOf(given: readonly (Unit | null)[]): { unit: Unit; items: number }[] {
  const made: { unit: Unit; items: number }[] = [];
  given.forEach((unit, index) => {
    const last = made.at(-1);
    if (unit === null) {
      if (last !== undefined) last.items = index + 1;
    } else if (last !== undefined && "assistant" in unit && "assistant" in last.unit) {
      made[made.length - 1] = { unit: { assistant: `${last.unit.assistant}\n\n${unit.assistant}` }, items: index + 1 };
    } else made.push({ unit, items: index + 1 });
  });
  return made;
}

function plainItem(item: HistoryItem): (Unit | null)[] {
  if (item.type === "reasoning") return [null];
  if (item.type === "tool_result") return [resultUnit(item, mediaHashes(item))];
  if (item.type !== "user") return [answerUnit(item)];
  if (item.rank === "system") return [{ system: item.parts[0] ?? "" }];
  const user = instructionOf(item);
  const media = mediaHashes(item);
  return user === "" && media.length === 0 ? [null] : [{ user, media }];
}

function givenItem(item: ConversationItem): Unit | null {
  if (item.type === "system") return { system: item.text };
  if (item.type === "tool_result") return resultUnit(item, (item.media ?? []).map(givenPart));
  if (item.type !== "user") return answerUnit(item);
  return { user: item.text, media: (item.media ?? []).map(givenPart) };
}

function givenPart(part: InputPart): string {
  if (part.type === "url") return `url ${part.url}`;
  return "content" in part && part.content ? sha256(part.content) : "";
}

function mediaHashes(item: HistoryItem): string[] {
  return mediaOf(item).map((part) => part.sha256);
}

function resultUnit({ callId, output }: Pick<ToolResultItem, "callId" | "output">, media: string[]): Unit {
  return { result: callId, output, ...(media.length > 0 && { media }) };
}

function answerUnit(item: AssistantItem | ToolCallItem): Unit | null {
  switch (item.type) {
    case "assistant":
      return item.text === "" ? null : { assistant: item.text };
    case "tool_call":
      return { call: item.callId, name: item.name, args: plainArguments(item.arguments) };
  }
}

/** Clients may write the arguments of a call anew, so only their values count. */
function plainArguments(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? canonicalJson(value) : text;
  } catch {
    return text;
  }
}
