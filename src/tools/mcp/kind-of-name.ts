/** Guesses what a tool of a server does, for the sign that an editor shows beside its calls. Nothing is allowed by it. */
import type { ToolCallKind } from "../../domain/tool.ts";

const words: readonly [ToolCallKind, RegExp][] = [
  ["delete", /^(?:delete|remove|rm|drop)$/],
  ["move", /^(?:move|rename|mv)$/],
  ["fetch", /^(?:fetch|download|browse|crawl|http)$/],
  ["search", /^(?:search|find|query|grep|list)$/],
  ["edit", /^(?:write|edit|update|create|patch|insert|append)$/],
  ["execute", /^(?:run|exec|execute|shell|bash)$/],
];

export function kindOfName(name: string, isReadOnly: boolean): ToolCallKind {
  const parts = name.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/).map((part) => part.toLowerCase());
  const kind = words.find(([, word]) => parts.some((part) => word.test(part)))?.[0];
  const isHarmless = kind === undefined || kind === "fetch" || kind === "search";
  return isReadOnly ? (isHarmless ? (kind ?? "read") : "read") : (kind ?? "other");
}
