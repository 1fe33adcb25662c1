/** Reads what an AG-UI client sends for a run: the whole conversation, of which the turn is given what is new (O6). */
import type { AssistantMessage, ContentPart, Message, ResumeEntry, RunAgentInput } from "@ag-ui/core";
import { RunAgentInputSchema } from "@ag-ui/core/schemas";
import { AptoveError } from "../../domain/errors.ts";
import { faultWords } from "../../domain/fault-words.ts";
import type { ConversationItem } from "../../domain/history.ts";
import { sha256 } from "../../domain/ids.ts";
import type { InputPart } from "../../domain/input-part.ts";
import type { ToolDefinition, ToolFeedback } from "../../domain/tool.ts";
import type { TurnRequest } from "../../engine/engine.ts";
import { turnOfMessage } from "./message-ids.ts";

export interface RunInput {
  threadId: string;
  runId: string;
  /** The turn of the newest message that came from here. Null: none did. */
  follows: string | null;
  /** What is new, as the engine takes it. */
  given: Pick<TurnRequest, "instruction" | "input" | "earlier" | "toolResults" | "tools" | "instructions">;
  /** A digest of what is new and of the turn that it follows. The ids of messages do not count. */
  givenDigest: string;
}

/** Throws `request_invalid`. */
export function readRunInput(value: unknown): RunInput {
  const parsed = RunAgentInputSchema.safeParse(value, { error: faultWords });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new AptoveError(
      "request_invalid",
      `${issue?.path.join(".") || "the body"} ${issue?.message ?? "is not valid"}`,
    );
  }
  const asked = parsed.data as RunAgentInput;
  const { threadId, runId, messages, resume = [] } = asked;
  const last = messages.findLastIndex(({ id }) => turnOfMessage(id) !== null);
  const follows = turnOfMessage(messages[last]?.id ?? "");
  const fresh = messages.slice(last + 1);
  const answers = [...resume.map(answerOf), ...(follows === null ? [] : fresh.flatMap(resultOf))];
  const items = follows === null ? fresh : fresh.filter(({ role }) => role !== "tool");
  const given = { ...conversationOf(items), ...standingOf(asked), toolResults: answers };
  const counted = messages.filter(({ role }, at) => at > last || isStanding(role)).map(({ id: _id, ...rest }) => rest);
  const givenDigest = sha256(JSON.stringify([follows, counted, asked.tools, asked.context, resume]));
  return { threadId, runId, follows, given, givenDigest };
}

function conversationOf(messages: readonly Message[]): Pick<TurnRequest, "instruction" | "input" | "earlier"> {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const isNewest = last !== -1 && last === messages.findLastIndex(({ role }) => !isStanding(role));
  const instruction = isNewest ? messages[last] : undefined;
  const earlier = (isNewest ? messages.toSpliced(last, 1) : messages).flatMap(itemsOf);
  if (instruction?.role !== "user") return { instruction: "", earlier };
  const { content } = instruction;
  const input = partsOf(content);
  return { instruction: textOf(content), earlier, ...(input.length > 0 && { input }) };
}

/** What a client sends with every run: its tools, and texts that count for this run alone. */
function standingOf({ tools, context, messages }: RunAgentInput): Pick<TurnRequest, "tools" | "instructions"> {
  const texts = [
    ...messages.flatMap((message) => (isStanding(message.role) ? [textOf(message.content as string)] : [])),
    ...context.map(({ description, value }) => `${description}: ${value}`),
  ];
  const given = tools.map(({ name, description, parameters }): ToolDefinition => ({
    name,
    ...(description !== "" && { description }),
    parameters: (parameters ?? { type: "object", properties: {} }) as ToolDefinition["parameters"],
  }));
  return { tools: given, ...(texts.length > 0 && { instructions: texts.join("\n\n") }) };
}

function isStanding(role: Message["role"]): boolean {
  return role === "system" || role === "developer";
}

function itemsOf(message: Message): ConversationItem[] {
  switch (message.role) {
    case "user": {
      const media = partsOf(message.content);
      return [{ type: "user", text: textOf(message.content), ...(media.length > 0 && { media }) }];
    }
    case "assistant":
      return [...assistantText(message), ...(message.toolCalls ?? []).map(callOf)];
    case "tool":
      return [{ type: "tool_result", callId: message.toolCallId, output: textOf(message.content) }];
    default:
      return [];
  }
}

function assistantText({ content }: AssistantMessage): ConversationItem[] {
  const text = textOf(content ?? "");
  return text === "" ? [] : [{ type: "assistant", text }];
}

function callOf({ id, function: called }: NonNullable<AssistantMessage["toolCalls"]>[number]): ConversationItem {
  return { type: "tool_call", callId: id, name: called.name, arguments: called.arguments };
}

/** Returns the result of a call that an earlier run left to the client. */
function resultOf(message: Message): ToolFeedback[] {
  if (message.role !== "tool") return [];
  const { toolCallId: callId, content, error } = message;
  return [{ callId, output: error ?? textOf(content), isError: error !== undefined }];
}

/** Returns the answer to an interrupt, whose id is that of the call that waits for approval. */
function answerOf({ interruptId: callId, status, payload }: ResumeEntry): ToolFeedback {
  const { approved, reason } = (payload ?? {}) as { approved?: unknown; reason?: unknown };
  const isApproved = status === "resolved" && (payload === undefined || approved === true);
  return { callId, approved: isApproved, ...(typeof reason === "string" && { reason }) };
}

function textOf(content: string | readonly ContentPart[]): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

/** Returns the images and documents of a message. */
function partsOf(content: string | readonly ContentPart[]): InputPart[] {
  return typeof content === "string" ? [] : content.flatMap(mediaOf);
}

function mediaOf(part: ContentPart): InputPart[] {
  if (!("source" in part)) return [];
  const { source } = part;
  if (source.type === "url") return [{ type: "url", url: source.value, mode: "inline" }];
  if (source.type !== "data")
    throw new AptoveError("request_invalid", "a part of a message is given by an address or by its data");
  return [{ type: "binary", content: Buffer.from(source.value, "base64"), mode: "inline", mediaType: source.mimeType }];
}
