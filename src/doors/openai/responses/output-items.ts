/** The items of a response's output, as they grow (O1). */

export type ItemStatus = "in_progress" | "completed" | "incomplete";

export interface OutputText {
  type: "output_text";
  text: string;
  annotations: [];
  logprobs: [];
}

export interface MessageItem {
  type: "message";
  id: string;
  status: ItemStatus;
  role: "assistant";
  content: OutputText[];
  phase?: string;
}

export interface ReasoningOutput {
  type: "reasoning";
  id: string;
  status: ItemStatus;
  summary: { type: "summary_text"; text: string }[];
}

export interface FunctionCallOutput {
  type: "function_call";
  id: string;
  status: ItemStatus;
  call_id: string;
  name: string;
  arguments: string;
}

/** A tool of this server that ran: a receipt, which the client may send back. */
export interface OwnToolItem {
  type: "aptove:tool_call";
  id: string;
  status: ItemStatus;
  call_id: string;
  name: string;
  arguments: string;
  output: string | null;
}

/** What was given to the model beside the conversation, and what was not (O4). */
export interface ContextItem {
  type: "aptove:context";
  id: string;
  status: ItemStatus;
  chunks: { path: string; start_line: number; end_line: number; sent: boolean }[];
  files: { path: string; sent: boolean; reason: "new" | "known" | "too_large" }[];
  rules: string[];
}

export type OutputItem = MessageItem | ReasoningOutput | FunctionCallOutput | OwnToolItem | ContextItem;

export function outputText(text = ""): OutputText {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}
