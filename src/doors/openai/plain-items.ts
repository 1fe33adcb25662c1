/** Items that a client gave, in the form in which it reads them back (O1). */
import type { HistoryItem } from "../../domain/history.ts";
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
  output: string;
}
export type GivenItem = GivenMessage | GivenCall | GivenOutput;
export type PlainItem = Omit<GivenMessage, "id"> | Omit<GivenCall, "id"> | Omit<GivenOutput, "id">;

export function inputText(text: string) {
  return { type: "input_text", text } as const;
}

/** A stored message has a header with its mode, which the client did not write. */
export function plainItem(item: HistoryItem): PlainItem[] {
  switch (item.type) {
    case "user": {
      const role = item.rank ?? "user";
      const text = plainText(item);
      return [{ type: "message", status: "completed", role, content: [inputText(text)] }];
    }
    case "assistant": {
      const phase = item.phase === undefined ? {} : { phase: item.phase };
      return [{ type: "message", status: "completed", role: "assistant", content: [outputText(item.text)], ...phase }];
    }
    case "tool_call": {
      const { callId, name, arguments: args } = item;
      return [{ type: "function_call", status: "completed", call_id: callId, name, arguments: args }];
    }
    case "tool_result":
      return [{ type: "function_call_output", status: "completed", call_id: item.callId, output: item.output }];
    case "reasoning":
      return [];
  }
}

/** Returns the text of a stored message as the client wrote it. */
export function plainText({ parts: [first = ""] }: Extract<HistoryItem, { type: "user" }>): string {
  return first.replace(/^\[MODE: [^\]\n]*\]\n\n\[INSTRUCTION\]\n/, "");
}
