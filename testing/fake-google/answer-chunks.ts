/** Turns an answer into the chunks that `streamGenerateContent` sends. */
import type { Part } from "@google/genai";
import type { FakeAnswer, FakeOutput } from "./replies.ts";
import type { GenerateBody } from "./request-rules.ts";
import { asksForSignatures, sign } from "./signatures.ts";

export interface ChunkFrame {
  responseId: string;
  newCallId: () => string;
  body: GenerateBody;
  model: string;
}

/** Returns the chunks, each as the whole text of one server-sent event. */
export function answerChunks(answer: FakeAnswer, frame: ChunkFrame): string[] {
  const { responseId, body, model } = frame;
  const shared = { modelVersion: model, responseId };
  const usage = (isEnd: boolean): object =>
    answer.usage === null ? {} : { usageMetadata: answer.usage ?? usageOf(answer, body, isEnd) };
  if (answer.blockReason !== undefined) {
    return [event({ promptFeedback: { blockReason: answer.blockReason }, ...usage(false), ...shared })];
  }
  const parts = outputParts(answer.output, frame);
  const chunk = (part: Part, ending: object = {}): object => ({
    candidates: [{ content: { parts: [part], role: "model" }, index: 0, ...ending }],
    ...usage(Object.keys(ending).length > 0),
    ...shared,
  });
  const begun = parts.map((part) => chunk(part));
  if (answer.error !== undefined) return [...begun, { error: answer.error.error }].map(event);
  if (answer.finishReason === null) return begun.map(event);
  const { finishReason = "STOP", finishMessage } = answer;
  const ending = { finishReason, ...(finishMessage !== undefined && { finishMessage }) };
  return [...begun, chunk({ text: "" }, ending)].map(event);
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\r\n\r\n`;
}

/** Returns the parts: texts word by word, calls whole. */
function outputParts(output: readonly FakeOutput[], { newCallId, model }: ChunkFrame): Part[] {
  const firstCall = output.find((part) => part.type === "call");
  return output.flatMap((piece): Part[] => {
    if (piece.type !== "call") return spokenParts(piece, model);
    const { name, args, id, signed = piece === firstCall && asksForSignatures(model) } = piece;
    const part: Part = { functionCall: { ...(id !== null && { id: id ?? newCallId() }), name, args } };
    return [signed ? { ...part, thoughtSignature: sign(part, model) } : part];
  });
}

function spokenParts({ type, text, signed = false }: Exclude<FakeOutput, { type: "call" }>, model: string): Part[] {
  const kind = type === "thought" ? { thought: true } : {};
  const parts = (text.match(/\S+\s*|\s+/g) ?? []).map((piece): Part => ({ text: piece, ...kind }));
  if (signed === "apart") parts.push({ text: "", ...kind });
  const last = parts.at(-1);
  if (signed !== false && last !== undefined) last.thoughtSignature = sign(last, model);
  return parts;
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

/** Returns the usage. Output tokens are known only at the end. */
function usageOf({ output }: FakeAnswer, { contents }: GenerateBody, isEnd: boolean): Record<string, unknown> {
  const prompt = tokensOf(contents);
  const thoughts = tokensOf(output.filter((part) => part.type === "thought"));
  const spoken = tokensOf(output.filter((part) => part.type !== "thought"));
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: Math.floor(prompt / 2),
    ...(isEnd && { candidatesTokenCount: spoken, thoughtsTokenCount: thoughts }),
    totalTokenCount: isEnd ? prompt + spoken + thoughts : prompt,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: prompt }],
  };
}
