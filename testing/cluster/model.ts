/**
 * The model of the cluster, on OpenAI's wire. It repeats the word of the instruction in the requested number of pieces, begins
 * a subagent on request, and names every subagent whose report it gets.
 */
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { startFakeOpenai, type FakeOpenAI } from "../fake-openai/fake-openai.ts";
import type { FakeReply } from "../fake-openai/replies.ts";
import { wordOf } from "./checker.ts";

export async function startModel({ eventDelayMs }: { eventDelayMs: number }): Promise<FakeOpenAI> {
  const model = await startFakeOpenai({ eventDelayMs });
  model.answer((assembled) => answerTo(assembled));
  return model;
}

/** Builds the instruction of the load, which the model parses. */
export function sayInstruction(word: string, pieces: number): string {
  return `Say ${word} in ${pieces} pieces.`;
}

export function spawnInstruction(word: string): string {
  return `Spawn ${word}.`;
}

function answerTo(assembled: readonly ResponseInputItem[]): FakeReply {
  const last = assembled.at(-1);
  if (last !== undefined && "type" in last && last.type === "function_call_output") {
    return `${wordOf(lastMessage(assembled)) ?? "nothing"} spawned`;
  }
  const text = lastMessage(assembled);
  const word = wordOf(text) ?? /\bs\d+\b/.exec(text)?.[0] ?? "nothing";
  const reports = reportsIn(text);
  if (reports.length > 0) return `${word} ${reports.map((id) => `got ${id}`).join(" ")}`;
  if (text.includes(`Spawn ${word}.`)) {
    const call = { instruction: `Report on ${word.replace("w", "r")}.` };
    return { output: [{ type: "function_call", name: "spawn_subagent", arguments: JSON.stringify(call) }] };
  }
  const pieces = Number(/in (\d+) pieces/.exec(text)?.[1] ?? 3);
  return Array.from({ length: pieces }, (_, index) => `${word} ${index}`).join(" ");
}

function lastMessage(assembled: readonly ResponseInputItem[]): string {
  const last = assembled.findLast((item) => "role" in item && item.role === "user");
  const content = last !== undefined && "content" in last ? last.content : "";
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content : [];
  return parts.map((part) => ("text" in part ? part.text : "")).join("\n");
}

/** Returns the ids of the subagents in the mailbox block. */
function reportsIn(text: string): string[] {
  const block = text.split("[MAILBOX]\n")[1] ?? "";
  return [...block.matchAll(/^Id: ([0-9a-f-]{36})$/gm)].map(([, id = ""]) => id);
}
