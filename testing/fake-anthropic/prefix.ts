/**
 * The prefix of a block: all that comes before it. It binds thinking to its conversation, and is what the prompt
 * cache finds again. Cache marks are not part of it, nor is the way that messages are split.
 */
import { createHash } from "node:crypto";
import type { ContentBlockParam } from "@anthropic-ai/sdk/resources/messages/messages";
import { turnsOf } from "./conversation-rules.ts";
import type { MessagesBody } from "./request-rules.ts";

/** A block with its path for error messages. */
export interface PlacedBlock {
  turn: number;
  place: number;
  role: string;
  block: ContentBlockParam;
}

export function placedBlocks({ messages }: MessagesBody): PlacedBlock[] {
  return turnsOf(messages).flatMap(({ role, blocks }, turn) =>
    blocks.map((block, place) => ({ turn, place, role, block })),
  );
}

/** A digest that grows by one block after the other. Two digests are equal only if the prefixes are. */
export class Prefix {
  digest: string;
  /** The estimated number of tokens: about four characters are one token. */
  tokens: number;

  constructor({ system, tools, model }: MessagesBody) {
    const beginning = unmarked({ system, tools });
    this.digest = sha256(beginning);
    this.tokens = tokensOf(beginning);
    this.#model = model;
  }

  readonly #model: string;

  /** The key in the prompt cache, which each model has for itself. */
  get cacheKey(): string {
    return `${this.#model} ${this.digest}`;
  }

  add(role: string, block: unknown): void {
    const text = unmarked({ role, block });
    this.digest = sha256(this.digest + text);
    this.tokens += tokensOf(text);
  }
}

export function tokensOf(text: string): number {
  return Math.ceil(text.length / 4);
}

function unmarked(value: unknown): string {
  return JSON.stringify(value, (name, inner: unknown) => (name === "cache_control" ? undefined : inner));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
