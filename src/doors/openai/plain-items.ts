/** Items of a history, in the form in which a client reads them back (O1). */
import type { HistoryItem, UserItem } from "../../domain/history.ts";
import { outputText } from "./responses/output-items.ts";

interface GivenMessage {
  type: "message";
  id: string;
  status: "completed";
  role: "user" | "assistant" | "system";
  content: object[];
  phase?: string;
}
interface GivenCall {
  type: "function_call";
  id: string;
  status: "completed";
  call_id: string;
  name: string;
  arguments: string;
}
interface GivenOutput {
  type: "function_call_output";
  id: string;
  status: "completed";
  call_id: string;
  /** A list if it has images or files. */
  output: string | object[];
}
interface GivenReasoning {
  type: "reasoning";
  id: string;
  status: "completed";
  summary: { type: "summary_text"; text: string }[];
}
export type GivenItem = GivenMessage | GivenCall | GivenOutput | GivenReasoning;
export type PlainItem =
  | Omit<GivenMessage, "id">
  | Omit<GivenCall, "id">
  | Omit<GivenOutput, "id">
  | Omit<GivenReasoning, "id">;

/** Returns the item without its images and documents. */
export function plainItem(item: HistoryItem): PlainItem {
  switch (item.type) {
    case "user": {
      const text = isOfProgram(item) ? "" : plainText(item);
      return {
        type: "message",
        status: "completed",
        role: item.rank ?? "user",
        content: [{ type: "input_text", text }],
      };
    }
    case "assistant": {
      const phase = item.phase === undefined ? {} : { phase: item.phase };
      return { type: "message", status: "completed", role: "assistant", content: [outputText(item.text)], ...phase };
    }
    case "tool_call": {
      const { callId, name, arguments: args } = item;
      return { type: "function_call", status: "completed", call_id: callId, name, arguments: args };
    }
    case "tool_result":
      return { type: "function_call_output", status: "completed", call_id: item.callId, output: item.output };
    case "reasoning":
      return { type: "reasoning", status: "completed", summary: [{ type: "summary_text", text: item.text }] };
  }
}

/** A stored message has a header with its mode, which the client did not write. */
const header = /^\[MODE: [^\]\n]*\]\n\n\[INSTRUCTION\]\n/;

/** Returns true for a message that the program made itself: it has only context, and nothing that a person wrote. */
export function isOfProgram({ rank, parts: [first = ""] }: UserItem): boolean {
  return rank === undefined && !header.test(first);
}

/** Returns a message as it is stored, of a turn that failed before it had one. */
export function personsMessage(text: string): string[] {
  return text === "" ? [] : [`[MODE: ]\n\n[INSTRUCTION]\n${text}`];
}

/** Returns the text of a stored message as the client wrote it. */
export function plainText({ parts: [first = ""] }: UserItem): string {
  return first.replace(header, "");
}
