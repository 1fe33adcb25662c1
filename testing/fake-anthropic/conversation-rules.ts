/** Rules for a whole request beyond its fields: texts, tools, and the order of messages. */
import type { ContentBlockParam, MessageParam, ToolUseBlockParam } from "@anthropic-ai/sdk/resources/messages/messages";
import { fault } from "./check.ts";
import { rulesOf } from "./models.ts";
import { Refusal } from "./refusal.ts";
import type { MessagesBody } from "./request-rules.ts";

export interface Turn {
  role: MessageParam["role"];
  blocks: ContentBlockParam[];
}

/** Merges neighbouring messages of one role into one turn. A content that is a text becomes one block. */
export function turnsOf(messages: readonly MessageParam[]): Turn[] {
  const turns: Turn[] = [];
  for (const { role, content } of messages) {
    const blocks: ContentBlockParam[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, blocks: [...blocks] });
  }
  return turns;
}

/** Throws a Refusal unless the real endpoint accepts the request. */
export function checkConversation(body: MessagesBody): void {
  checkTexts(body);
  checkTools(body);
  checkCacheMarks(body);
  const turns = turnsOf(body.messages);
  if (turns[0] === undefined) throw fault("messages", "at least one message is required");
  if (turns[0].role !== "user") throw fault("messages", 'first message must use the "user" role');
  for (const [index, turn] of turns.entries()) checkTurn(turn, turns[index + 1], index);
  checkResults(turns);
  checkEnd(body, turns.at(-1));
}

function checkTexts({ system, messages }: MessagesBody): void {
  const systemTexts = typeof system === "string" ? [system] : (system ?? []).map((block) => block.text);
  for (const text of systemTexts) checkText("system", text);
  for (const { blocks } of turnsOf(messages)) {
    for (const block of blocks) {
      if (block.type === "text") checkText("messages", block.text);
      if (block.type !== "tool_result" || typeof block.content === "string") continue;
      for (const part of block.content ?? []) if (part.type === "text") checkText("messages", part.text);
    }
  }
}

function checkText(at: string, text: string): void {
  if (text === "") throw fault(at, "text content blocks must be non-empty");
  if (text.trim() === "") throw fault(at, "text content blocks must contain non-whitespace text");
}

function checkTools({ tools = [], tool_choice: choice, messages }: MessagesBody): void {
  const names = tools.map((tool) => ("name" in tool ? String(tool.name) : ""));
  if (new Set(names).size !== names.length) throw fault("tools", "Tool names must be unique.");
  const blocks = turnsOf(messages).flatMap((turn) => turn.blocks);
  if (names.length === 0 && blocks.some(({ type }) => type === "tool_use" || type === "tool_result")) {
    throw new Refusal("Requests which include `tool_use` or `tool_result` blocks must define tools.");
  }
  if (choice === undefined) return;
  if (names.length === 0) throw fault("tool_choice", "tool_choice may only be specified while providing tools");
  if (choice.type === "tool" && !names.includes(choice.name)) {
    throw new Refusal(`Tool '${choice.name}' not found in provided tools`);
  }
}

const cacheMarksMax = 4;

function checkCacheMarks(body: MessagesBody): void {
  const found = JSON.stringify(body).split('"cache_control":{').length - 1;
  if (found <= cacheMarksMax) return;
  throw new Refusal(`A maximum of ${cacheMarksMax} blocks with cache_control may be provided. Found ${found}.`);
}

const mayStandIn: Record<Turn["role"], readonly string[]> = {
  user: ["text", "image", "document", "tool_result"],
  assistant: ["text", "thinking", "redacted_thinking", "tool_use"],
  system: ["text"],
};

function checkTurn({ role, blocks }: Turn, next: Turn | undefined, index: number): void {
  if (blocks.length === 0) throw fault(`messages.${index}`, "all messages must have non-empty content");
  const strayed = blocks.find(({ type }) => !mayStandIn[role].includes(type));
  if (strayed !== undefined) {
    const home = mayStandIn.user.includes(strayed.type) ? "user" : "assistant";
    throw fault(`messages.${index}`, `\`${strayed.type}\` blocks can only be in \`${home}\` messages`);
  }
  const last = blocks.at(-1)?.type;
  if (last === "thinking" || last === "redacted_thinking") {
    throw fault(`messages.${index}`, `The final block in an assistant message cannot be \`${last}\`.`);
  }
  const answered = new Set(leadingResults(next));
  const open = callsOf(blocks).filter(({ id }) => !answered.has(id));
  if (open.length === 0) return;
  const ids = open.map(({ id }) => id).join(", ");
  const rule = "Each `tool_use` block must have a corresponding `tool_result` block in the next message.";
  const found = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}.`;
  throw fault(`messages.${index}`, `${found} ${rule}`);
}

function callsOf(blocks: readonly ContentBlockParam[]): ToolUseBlockParam[] {
  return blocks.filter((block) => block.type === "tool_use");
}

/** Returns the results at the beginning of the turn. Results after other content do not count. */
function leadingResults(turn: Turn | undefined): string[] {
  const ids: string[] = [];
  for (const block of turn?.blocks ?? []) {
    if (block.type !== "tool_result") break;
    ids.push(block.tool_use_id);
  }
  return ids;
}

function checkResults(turns: readonly Turn[]): void {
  const called = new Set<string>();
  for (const [index, { blocks }] of turns.entries()) {
    const before = new Set(callsOf(turns[index - 1]?.blocks ?? []).map(({ id }) => id));
    for (const [place, block] of blocks.entries()) {
      const at = `messages.${index}.content.${place}`;
      if (block.type === "tool_use" && called.has(block.id)) throw fault(at, "`tool_use` ids must be unique");
      if (block.type === "tool_use") called.add(block.id);
      if (block.type !== "tool_result" || before.delete(block.tool_use_id)) continue;
      const rule = "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.";
      throw fault(at, `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.tool_use_id}. ${rule}`);
    }
  }
}

function checkEnd({ model }: MessagesBody, last: Turn | undefined): void {
  if (last?.role !== "assistant") return;
  if (!rulesOf(model).takesPrefill) {
    const rule = "This model does not support assistant message prefill.";
    throw new Refusal(`${rule} The conversation must end with a user message.`);
  }
  const block = last.blocks.at(-1);
  if (block?.type !== "text" || block.text === block.text.trimEnd()) return;
  throw fault("messages", "final assistant content cannot end with trailing whitespace");
}
