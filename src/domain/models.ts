/**
 * What is known of models: how much they can take, and what they cost (C4, C6). One table, each row with where and
 * when it was read. A model that is not in it has no known window and no known price: then history is compacted
 * when the provider says that it is too long, and no cost is shown.
 */
import type { Usage } from "./usage.ts";

export interface ModelInfo {
  /** Name of the provider that has it. */
  provider: string;
  /** Tokens of input and output together. */
  contextTokens: number;
  /** US dollars for a million tokens. */
  price: Price;
  /** Above so many input tokens the whole request costs more. */
  longContext?: { overTokens: number; inputFactor: number; outputFactor: number };
  source: string;
  asOf: string;
}

interface Price {
  input: number;
  /** Input that the provider had cached. */
  cached: number;
  output: number;
}

const openaiLong = { overTokens: 272_000, inputFactor: 2, outputFactor: 1.5 };
const openai = (model: string): Pick<ModelInfo, "provider" | "source" | "asOf"> => ({
  provider: "openai",
  source: `https://developers.openai.com/api/docs/models/${model}`,
  asOf: "2026-11",
});
const anthropic = {
  provider: "anthropic",
  source: "https://platform.claude.com/docs/about-claude/models",
  asOf: "2026-11",
};

/** By model family. */
const models: Record<string, ModelInfo> = {
  "gpt-6.2-sol": {
    contextTokens: 1_050_000,
    price: { input: 2, cached: 0.1, output: 10 },
    longContext: openaiLong,
    ...openai("gpt-6.2-sol"),
  },
  "gpt-5.6-luna": {
    contextTokens: 1_050_000,
    price: { input: 0.2, cached: 0.02, output: 1.2 },
    longContext: openaiLong,
    ...openai("gpt-5.6-luna"),
  },
  "gpt-5.1": { contextTokens: 400_000, price: { input: 1.25, cached: 0.125, output: 10 }, ...openai("gpt-5.1") },
  "claude-opus-5": { contextTokens: 1_000_000, price: { input: 5, cached: 0.5, output: 25 }, ...anthropic },
  "claude-sonnet-5": { contextTokens: 1_000_000, price: { input: 2, cached: 0.2, output: 10 }, ...anthropic },
  "gemini-3.8-flash": {
    provider: "google",
    contextTokens: 1_048_576,
    price: { input: 0.75, cached: 0.075, output: 3.75 },
    source: "https://ai.google.dev/gemini-api/docs/pricing (until 2026-12-31)",
    asOf: "2026-10",
  },
};

/** The wires of the providers, each with what it carries beside text (I1). */
export type Wire = "openai" | "anthropic" | "google" | "compatible";

const webImages = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const taken: Record<Wire, { media: readonly string[]; source: string; asOf: string }> = {
  openai: {
    media: [...webImages, "application/pdf"],
    source: "https://developers.openai.com/api/docs/guides/images-vision, /file-inputs",
    asOf: "2026-11",
  },
  anthropic: {
    media: [...webImages, "application/pdf"],
    source: "https://platform.claude.com/docs/build-with-claude/vision, /pdf-support",
    asOf: "2026-11",
  },
  google: {
    media: [
      "image/png",
      "image/jpeg",
      "image/webp",
      "image/heic",
      "image/heif",
      "application/pdf",
      "audio/wav",
      "audio/mpeg",
      "audio/flac",
      "audio/ogg",
      "video/mp4",
    ],
    source: "https://ai.google.dev/gemini-api/docs/image-understanding, /audio, /video-understanding",
    asOf: "2026-11",
  },
  // What its models can see nobody knows here: a server that cannot take an image says so.
  compatible: { media: webImages, source: "https://developers.openai.com/api/reference/chat", asOf: "2026-11" },
};
/** Families that read text alone, on wires that carry more. */
const textOnly = /^(?:gpt-3\.5|o1-mini|o3-mini|claude-2|claude-instant|text-|gemma-)/;

/** The media types that a model takes over a wire, beside text. */
export function mediaTaken(wire: Wire, model: string): readonly string[] {
  return textOnly.test(modelFamily(model)) ? [] : taken[wire].media;
}

/** Null: nothing is known of the model. */
export function modelInfo(model: string): ModelInfo | null {
  return models[modelFamily(model)] ?? null;
}

/** The models of a provider that are known, in the order of the table. */
export function modelsOf(provider: string): string[] {
  return Object.keys(models).filter((model) => models[model]?.provider === provider);
}

/** US dollars, or undefined where the price is not known. */
export function costOf(model: string, usage: Usage): number | undefined {
  const info = modelInfo(model);
  if (info === null) return undefined;
  const isLong = info.longContext !== undefined && usage.input > info.longContext.overTokens;
  const inputFactor = isLong ? (info.longContext?.inputFactor ?? 1) : 1;
  const outputFactor = isLong ? (info.longContext?.outputFactor ?? 1) : 1;
  const { input, cached, output } = info.price;
  const inputCost = ((usage.input - usage.cached) * input + usage.cached * cached) * inputFactor;
  return (inputCost + usage.output * output * outputFactor) / 1_000_000;
}

/**
 * Returns the name of a model without its date. Models of one family read each other's memory and reasoning (C2, C5):
 * `gpt-5.1-2025-11-13` is a dated snapshot of `gpt-5.1`, as `claude-haiku-4-5-20251001` is one of `claude-haiku-4-5`,
 * and reads what its alias wrote.
 */
export function modelFamily(model: string): string {
  return model.replace(/-(?:\d{4}-\d{2}-\d{2}|20\d{6})$/, "");
}
