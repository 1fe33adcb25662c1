/** Checks the order that the contract requires of a provider's events, and names the first fault. */
import { isCounted } from "../domain/usage.ts";
import type { ProviderEvent } from "./provider.ts";

type TerminalEvent = Extract<ProviderEvent, { type: "finished" | "failed" }>;

interface Progress {
  /** The text that the deltas of an item have given so far, by its id. */
  given: Map<string, string>;
  whole: Set<string>;
  startedCalls: Set<string>;
  hasBytes: boolean;
  terminal: TerminalEvent | null;
}

/** Returns the first fault in a whole stream of events, or null if it keeps the contract. */
export function eventOrderFault(events: readonly ProviderEvent[]): string | null {
  const progress: Progress = {
    given: new Map(),
    whole: new Set(),
    startedCalls: new Set(),
    hasBytes: false,
    terminal: null,
  };
  for (const [index, event] of events.entries()) {
    const fault = eventFault(event, progress);
    if (fault !== null) return `event ${index} (${event.type}): ${fault}`;
  }
  return progress.terminal === null ? "there is no terminal event" : endFault(progress.terminal, progress);
}

function eventFault(event: ProviderEvent, progress: Progress): string | null {
  if (progress.terminal !== null) return "comes after the terminal event";
  if (event.type === "bytes") {
    progress.hasBytes = true;
    return event.bytes.length === 0 ? "has no bytes" : null;
  }
  // A call without any answer fails without bytes.
  if (!progress.hasBytes && event.type !== "failed") return "comes before the bytes that it was read from";
  switch (event.type) {
    case "started":
      return null;
    case "tool_call_started":
      if (progress.startedCalls.has(event.callId)) return "starts a call twice";
      progress.startedCalls.add(event.callId);
      return null;
    case "text_delta":
    case "reasoning_delta":
      return deltaFault(event.itemId, event.delta, progress);
    case "tool_call_delta":
      if (!progress.startedCalls.has(event.callId)) return "comes before its call has started";
      return deltaFault(event.callId, event.delta, progress);
    case "item":
      return itemFault(event, progress);
    case "finished":
    case "failed":
      progress.terminal = event;
      return null;
  }
}

function deltaFault(id: string, delta: string, { given, whole }: Progress): string | null {
  if (delta === "") return "is empty";
  if (whole.has(id)) return "comes after its item";
  given.set(id, (given.get(id) ?? "") + delta);
  return null;
}

function itemFault({ itemId, item }: Extract<ProviderEvent, { type: "item" }>, progress: Progress): string | null {
  if (progress.whole.has(itemId)) return "gives an item twice";
  progress.whole.add(itemId);
  const given = progress.given.get(itemId) ?? "";
  switch (item.type) {
    case "assistant":
    case "reasoning":
      return given === item.text ? null : "is not what its deltas were";
    case "tool_call":
      if (item.callId !== itemId) return "is a call under another id";
      if (!progress.startedCalls.has(itemId)) return "is a call that was not started";
      return given === item.arguments ? null : "is not what its deltas were";
    case "user":
    case "tool_result":
      return "is an item that no model gives";
  }
}

function endFault(end: TerminalEvent, { given, whole }: Progress): string | null {
  if (!isCounted(end.usage)) return "the usage has a count that is none";
  if (end.type === "failed") return null;
  const open = [...given.keys()].filter((id) => !whole.has(id));
  return open.length === 0 || end.stopReason !== "stop" ? null : `the item of ${open.join(", ")} never came whole`;
}
