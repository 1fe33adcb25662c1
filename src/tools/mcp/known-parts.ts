/**
 * Replaces the parts of a tool's result whose type this version of the protocol does not have (P5). The library refuses a
 * result with such a part as a whole, and with it the text that the model could read.
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isRecord } from "../../system/guards.ts";
import { shownText } from "../shown-text.ts";

/** The types of `ContentBlock`. */
const knownTypes = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** The field of `_meta` of a text that stands for a part that was left out. */
export const leftOutField = "aptove.dev/leftOut";

/** Returns the message. If it is a result with parts of unknown types, each of them is a text that names the type. */
export function withKnownParts(message: JSONRPCMessage): JSONRPCMessage {
  if (!("result" in message)) return message;
  const { content } = message.result;
  if (!Array.isArray(content) || !content.some(isUnknown)) return message;
  const parts = content.map((part: unknown) => (isUnknown(part) ? leftOutText(part.type) : part));
  return { ...message, result: { ...message.result, content: parts } };
}

function isUnknown(part: unknown): part is { type: string } {
  return isRecord(part) && typeof part["type"] === "string" && !knownTypes.has(part["type"]);
}

function leftOutText(type: string): Record<string, unknown> {
  const shown = shownText(JSON.stringify(type.slice(0, 100).toWellFormed()));
  return { type: "text", text: `[a part of the unknown type ${shown} is left out]`, _meta: { [leftOutField]: true } };
}
