/**
 * Turns the chunks of one answer of Gemini into our events. It keeps what the chunks have sent so far and nothing else.
 * Each chunk has whole parts. A text is one item until something else follows.
 */
import type { FinishReason } from "@google/genai";
import { failure } from "../../domain/errors.ts";
import type { Usage } from "../../domain/usage.ts";
import type { AnswerWire, PartReader } from "../answer-reader.ts";
import type { AnswerState } from "../answer-state.ts";
import { inItsWords, streamErrorFailure } from "../http-failures.ts";
import type { ProviderEvent } from "../provider.ts";
import { googleErrors } from "./failures.ts";
import type { SignedReasoning } from "./thought-signatures.ts";
import { type GoogleCandidate, type GoogleChunk, type GooglePart, type GoogleUsage, parseGoogleChunk } from "./wire.ts";

/**
 * How a finish reason ends the answer. `malformed`: the model made a mistake, which a retry may not repeat. `cut`: the
 * model stopped for reasons of its own.
 */
type GoogleEnding = "stop" | "length" | "blocked" | "malformed" | "cut";

const endings: Record<`${FinishReason}`, GoogleEnding> = {
  FINISH_REASON_UNSPECIFIED: "cut",
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "blocked",
  RECITATION: "blocked",
  LANGUAGE: "blocked",
  OTHER: "cut",
  BLOCKLIST: "blocked",
  PROHIBITED_CONTENT: "blocked",
  SPII: "blocked",
  MALFORMED_FUNCTION_CALL: "malformed",
  UNEXPECTED_TOOL_CALL: "malformed",
  TOO_MANY_TOOL_CALLS: "malformed",
  MALFORMED_RESPONSE: "malformed",
  IMAGE_SAFETY: "blocked",
  IMAGE_PROHIBITED_CONTENT: "blocked",
  IMAGE_RECITATION: "blocked",
  IMAGE_OTHER: "cut",
  NO_IMAGE: "cut",
  CONTINUATION: "cut",
};

interface OpenText {
  kind: "text" | "thought";
  itemId: string;
  text: string;
}

/** Usage is in every chunk, and the last one counts. */
export const googleAnswers: AnswerWire<GoogleChunk> = {
  parse: parseGoogleChunk,
  newReader: (answer) => new GoogleStreamReader(answer),
  usageIn: ({ usageMetadata }) => (usageMetadata === undefined ? null : readUsage(usageMetadata)),
};

class GoogleStreamReader implements PartReader<GoogleChunk> {
  readonly #answer: AnswerState;
  /** The text or thought that is being streamed. */
  #open: OpenText | null = null;
  #itemsBegun = 0;
  #hasStarted = false;

  constructor(answer: AnswerState) {
    this.#answer = answer;
  }

  read({ candidates, promptFeedback, modelVersion, error }: GoogleChunk): ProviderEvent[] {
    if (error !== undefined) return this.#answer.fail(streamErrorFailure(googleErrors, this.#answer.provider, error));
    const started: ProviderEvent[] = this.#hasStarted ? [] : [{ type: "started", responseId: null }];
    this.#hasStarted = true;
    this.#answer.model = modelVersion ?? this.#answer.model;
    if (promptFeedback?.blockReason !== undefined) {
      return [...started, ...this.#refuse(promptFeedback.blockReason, promptFeedback.blockReasonMessage)];
    }
    const candidate = candidates?.[0];
    const parts = (candidate?.content?.parts ?? []).flatMap((part) => this.#readPart(part));
    return [...started, ...parts, ...(candidate?.finishReason === undefined ? [] : this.#finish(candidate))];
  }

  #readPart({ text = "", thought = false, thoughtSignature = "", functionCall }: GooglePart): ProviderEvent[] {
    if (functionCall !== undefined) return this.#readCall(functionCall, thoughtSignature);
    const kind = thought ? "thought" : "text";
    const events = this.#addText(kind, text);
    if (thoughtSignature === "") return events;
    return [...events, ...this.#sign({ signs: kind, thoughtSignature, characters: text.length })];
  }

  #addText(kind: OpenText["kind"], delta: string): ProviderEvent[] {
    if (delta === "") return [];
    const ended = this.#open?.kind === kind ? [] : this.#endText();
    this.#open ??= { kind, itemId: this.#newItemId(), text: "" };
    this.#open.text += delta;
    const type = kind === "text" ? "text_delta" : "reasoning_delta";
    return [...ended, { type, itemId: this.#open.itemId, delta }];
  }

  /** Ends the open text or thought. `opaque` goes with a thought that ends here. */
  #endText(opaque?: SignedReasoning): ProviderEvent[] {
    const open = this.#open;
    if (open === null) return [];
    this.#open = null;
    const { kind, itemId, text } = open;
    if (kind === "text") return [this.#answer.give(itemId, { type: "assistant", text })];
    return [this.#answer.giveReasoning(itemId, text, opaque)];
  }

  /** Keeps a signature with the open thought. If no thought is open, a reasoning without text carries it. */
  #sign(own: SignedReasoning): ProviderEvent[] {
    if (this.#open?.kind === "thought" && own.signs !== "text") return this.#endText(own);
    return [...this.#endText(), this.#answer.giveReasoning(this.#newItemId(), "", own)];
  }

  #readCall(
    { id, name, args = {} }: NonNullable<GooglePart["functionCall"]>,
    thoughtSignature: string,
  ): ProviderEvent[] {
    const answer = this.#answer;
    if (name === undefined) {
      return answer.fail(failure("provider_answer_invalid", `${answer.provider} sent a function call without a name`));
    }
    const before = thoughtSignature === "" ? this.#endText() : this.#sign({ signs: "call", thoughtSignature });
    const callId = answer.callIds.next(id);
    const text = JSON.stringify(args);
    return [
      ...before,
      { type: "tool_call_started", callId, name },
      { type: "tool_call_delta", callId, delta: text },
      answer.give(callId, { type: "tool_call", callId, name, arguments: text }),
    ];
  }

  #newItemId(): string {
    this.#itemsBegun += 1;
    return `item_${this.#itemsBegun}`;
  }

  #finish({ finishReason = "", finishMessage }: GoogleCandidate): ProviderEvent[] {
    const answer = this.#answer;
    const events = this.#endText();
    answer.isUsageFinal = true;
    switch (isKnown(finishReason) ? endings[finishReason] : "cut") {
      case "stop":
        answer.finish(answer.has("tool_call") ? "tool_calls" : "stop");
        return events;
      case "length":
        answer.finish("length");
        return events;
      case "blocked":
        if (!answer.has("assistant")) return [...events, ...this.#refuse(finishReason, finishMessage)];
        answer.finish("content_filter");
        return events;
      case "malformed": {
        const reason = failure(
          "provider_answer_invalid",
          inItsWords(answer.provider, worded(finishReason, finishMessage)),
        );
        return [...events, ...answer.fail({ ...reason, retryable: true })];
      }
      case "cut": {
        const words = `${answer.provider} stopped before the end: ${worded(finishReason, finishMessage)}`;
        return [...events, ...answer.fail(failure("provider_stream_cut", words))];
      }
    }
  }

  #refuse(reason: string, message: string | undefined): ProviderEvent[] {
    this.#answer.isUsageFinal = true;
    return this.#answer.fail(
      failure("provider_refused_content", inItsWords(this.#answer.provider, worded(reason, message))),
    );
  }
}

function isKnown(reason: string): reason is `${FinishReason}` {
  return Object.hasOwn(endings, reason);
}

function worded(reason: string, message: string | undefined): string {
  return (message === undefined || message === "" ? reason : `${message} (${reason})`).slice(0, 1_000);
}

/** Gemini counts the tokens of thoughts separately from those of the answer. */
function readUsage(usage: GoogleUsage): Usage {
  const input = (usage.promptTokenCount ?? 0) + (usage.toolUsePromptTokenCount ?? 0);
  const reasoning = usage.thoughtsTokenCount ?? 0;
  const output = (usage.candidatesTokenCount ?? 0) + reasoning;
  return {
    input,
    output,
    cached: usage.cachedContentTokenCount ?? 0,
    reasoning,
    total: usage.totalTokenCount ?? input + output,
  };
}
