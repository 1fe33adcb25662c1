/** A provider that answers at once, or at a given pace, with the bytes of a real stream; for measuring what aptove adds. */
import { setTimeout as sleep } from "node:timers/promises";
import { noUsage } from "../src/domain/usage.ts";
import type { ModelCall, Provider } from "../src/providers/provider.ts";

const words =
  "the session keeps its head where the last turn ended and a fork begins from any turn that the caller may read so nothing is copied when a branch is made and every answer can be explained from what the model was given at that time".split(
    " ",
  );

/** Returns about 400 characters of English that differ from turn to turn. */
export function text400(seed: string): string {
  let state = [...seed].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) >>> 0, 7);
  let text = `${seed}:`;
  while (text.length < 396) {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    text += ` ${words[(state >>> 16) % words.length] ?? ""}`;
  }
  return text.slice(0, 400);
}

export interface PacedProvider extends Provider {
  exampleCall(instruction: string): ModelCall;
}

export interface Pace {
  /** Number of deltas of one answer, and the wait before each, in milliseconds. */
  tokens?: number;
  tokenMs?: number;
  /** Called when a delta leaves the provider. */
  onToken?: (itemId: string, index: number) => void;
}

export function instantProvider({ tokens = 25, tokenMs = 0, onToken }: Pace = {}): PacedProvider {
  let calls = 0;
  return {
    name: "instant",
    account: "bench",
    defaultModel: "instant-1",
    remembers: true,
    exampleCall: (instruction) => ({
      model: "instant-1",
      prompt: null,
      items: [{ type: "user", parts: [instruction] }],
      previousResponseId: null,
      store: true,
      tools: [],
      toolChoice: null,
      allowedTools: null,
      settings: {},
    }),
    prepare: ({ model, prompt, items, previousResponseId, store, tools }) => ({
      model,
      body: JSON.stringify({ model, store, tools, previous_response_id: previousResponseId, prompt, input: items }),
      dropped: [],
    }),
    async *send() {
      calls += 1;
      const responseId = `resp_${String(calls).padStart(32, "0")}`;
      const itemId = `msg_${String(calls).padStart(32, "0")}`;
      const answer = text400(`answer ${calls}`);
      const size = Math.ceil(answer.length / tokens);
      yield { type: "started", responseId };
      for (let index = 0; index < tokens; index += 1) {
        if (tokenMs > 0) await sleep(tokenMs);
        const delta = answer.slice(index * size, (index + 1) * size) || " ";
        const frame = {
          type: "response.output_text.delta",
          item_id: itemId,
          output_index: 0,
          content_index: 0,
          delta,
          sequence_number: index,
        };
        yield {
          type: "bytes",
          bytes: Buffer.from(`event: response.output_text.delta\ndata: ${JSON.stringify(frame)}\n\n`),
        };
        onToken?.(itemId, index);
        yield { type: "text_delta", itemId, delta };
      }
      const done = {
        type: "response.completed",
        response: {
          id: responseId,
          output: [{ id: itemId, type: "message", content: [{ type: "output_text", text: answer }] }],
        },
      };
      yield { type: "bytes", bytes: Buffer.from(`event: response.completed\ndata: ${JSON.stringify(done)}\n\n`) };
      yield { type: "item", itemId, item: { type: "assistant", text: answer } };
      yield { type: "finished", stopReason: "stop", usage: noUsage, responseId, model: "instant-1" };
    },
  };
}
