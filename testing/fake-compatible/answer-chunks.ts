/** Turns an answer into the chunks of a streamed chat completion. */
import { wordPieces } from "../fake-server/deliver.ts";
import type { ChatBody } from "./request-rules.ts";
import type { FakeAnswer, FakeOutput } from "./replies.ts";

interface CallPiece {
  index?: number;
  id?: string;
  type?: "function";
  function: { name?: string; arguments: string };
}

export interface Delta {
  role?: "assistant";
  content?: string | null;
  reasoning_content?: string;
  reasoning?: string;
  tool_calls?: CallPiece[];
}

export interface ChunkFrame {
  id: string;
  /** Makes call ids that are unique and the same in every run. */
  newCallId: () => string;
  body: ChatBody;
}

type Call = Extract<FakeOutput, { type: "call" }>;

/** Returns the chunks, each as the whole text of one server-sent event. */
export function answerChunks(answer: FakeAnswer, frame: ChunkFrame): string[] {
  const { id, body } = frame;
  const shared = { id, object: "chat.completion.chunk", created: 1_767_225_600, model: body.model };
  const chunk = (delta: Delta, finish: string | null = null): object => ({
    ...shared,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const output = answer.output.filter((part) => part.type !== "call").flatMap(spokenDeltas);
  const calls = answer.output.filter((part) => part.type === "call");
  const deltas = [{ role: "assistant" as const, content: "" }, ...output, ...callDeltas(calls, answer, frame)];
  const begun = deltas.map((delta) => chunk(delta));
  if (answer.error !== undefined) return [...begun, { error: answer.error }].map(event);
  const { finishReason = calls.length > 0 ? "tool_calls" : "stop" } = answer;
  const end = finishReason === null ? [] : [chunk({}, finishReason)];
  const isAsked = body.stream_options?.include_usage === true && answer.usage !== null;
  const usage = isAsked ? [{ ...shared, choices: [], usage: answer.usage ?? usageOf(answer, body) }] : [];
  const done = answer.isDone === false ? [] : ["data: [DONE]\n\n"];
  return [...[...begun, ...end, ...usage].map(event), ...done];
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function spokenDeltas(part: Exclude<FakeOutput, Call>): Delta[] {
  const field = part.type === "text" ? "content" : (part.field ?? "reasoning_content");
  return wordPieces(part.text).map((piece) => ({ [field]: piece }));
}

function callDeltas(calls: readonly Call[], answer: FakeAnswer, { newCallId }: ChunkFrame): Delta[] {
  const { calls: manner = "pieces", numbers = "each" } = answer;
  const ofEach = calls.map((call, index) => {
    const number = numbers === "none" ? {} : { index: numbers === "zero" ? 0 : index };
    const id = call.id === null ? {} : { id: call.id ?? newCallId() };
    const named = { ...number, ...id, type: "function" as const };
    if (manner === "whole" || manner === "together") {
      return [{ ...named, function: { name: call.name, arguments: call.arguments } }];
    }
    const rest = manner === "repeated" ? named : number;
    const name = manner === "repeated" ? { name: call.name } : {};
    return [
      { ...named, function: { name: call.name, arguments: "" } },
      ...wordPieces(call.arguments).map((piece): CallPiece => ({ ...rest, function: { ...name, arguments: piece } })),
    ];
  });
  if (manner === "together") return ofEach.length === 0 ? [] : [{ tool_calls: ofEach.flat() }];
  const inOrder = manner === "mixed" ? inTurn(ofEach) : ofEach.flat();
  return inOrder.map((piece) => ({ tool_calls: [piece] }));
}

function inTurn(lists: readonly CallPiece[][]): CallPiece[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1))).flat();
}

/** Word by word, as a model would. */
function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

function usageOf({ output }: FakeAnswer, { messages }: ChatBody): Record<string, unknown> {
  const prompt = tokensOf(messages);
  const completion = tokensOf(output);
  const reasoning = tokensOf(output.filter((part) => part.type === "reasoning"));
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: Math.floor(prompt / 2) },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
