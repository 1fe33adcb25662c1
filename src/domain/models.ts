/**
 * What is known about models: the size of their context window and their price (C4, C6). The table has one row for each
 * model, with the page and the date that it was read from. A model that is not in the table has no known window and no
 * known price: its history is compacted only when the provider reports that it is too long, and no cost is shown.
 */
import { noUsage, type Usage } from "./usage.ts";
import { ownValue } from "./own-value.ts";

export interface ModelInfo {
  /** The name of the provider that offers the model. */
  provider: string;
  /** The context window, in tokens of input and output together. */
  contextTokens: number;
  /** The most tokens of output that a call can have. Absent: it is not known. */
  outputTokensMax?: number;
  /** The price in US dollars for a million tokens. */
  price: Price;
  /** A request with more than `overTokens` input tokens costs more, for all of its tokens. */
  longContext?: { overTokens: number; inputFactor: number; outputFactor: number };
  source: string;
  asOf: string;
}

interface Price {
  input: number;
  /** The price of input that the provider had cached. */
  cached: number;
  /** The price of input that the provider writes to its cache. Default: that of other input. */
  written?: number;
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

/** The known models, by family. */
const models: Record<string, ModelInfo> = {
  "gpt-6.2-sol": {
    contextTokens: 1_050_000,
    outputTokensMax: 128_000,
    price: { input: 2, cached: 0.1, written: 2.5, output: 10 },
    longContext: openaiLong,
    ...openai("gpt-6.2-sol"),
  },
  "gpt-5.6-luna": {
    contextTokens: 1_050_000,
    outputTokensMax: 128_000,
    price: { input: 0.2, cached: 0.02, written: 0.25, output: 1.2 },
    longContext: openaiLong,
    ...openai("gpt-5.6-luna"),
  },
  "gpt-5.1": {
    contextTokens: 400_000,
    outputTokensMax: 128_000,
    price: { input: 1.25, cached: 0.125, output: 10 },
    ...openai("gpt-5.1"),
  },
  "claude-opus-5": {
    contextTokens: 1_000_000,
    price: { input: 5, cached: 0.5, written: 6.25, output: 25 },
    ...anthropic,
  },
  "claude-sonnet-5": {
    contextTokens: 1_000_000,
    price: { input: 2, cached: 0.2, written: 2.5, output: 10 },
    ...anthropic,
  },
  "gemini-3.8-flash": {
    provider: "google",
    contextTokens: 1_048_576,
    outputTokensMax: 65_536,
    price: { input: 0.75, cached: 0.075, output: 3.75 },
    source: "https://ai.google.dev/gemini-api/docs/pricing (until 2026-12-31)",
    asOf: "2026-10",
  },
};

/** The wire formats of the providers, each with the media types that it carries beside text (I1). */
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
  // What these models accept is not known here. A server that cannot accept an image reports that itself.
  compatible: { media: webImages, source: "https://developers.openai.com/api/reference/chat", asOf: "2026-11" },
};
/** Families that accept only text, on wire formats that carry more. */
const textOnly = /^(?:gpt-3\.5|o1-mini|o3-mini|claude-2|claude-instant|text-|gemma-)/;

/** Returns the media types that a model accepts over a wire format, beside text. */
export function mediaTaken(wire: Wire, model: string): readonly string[] {
  return textOnly.test(modelFamily(model)) ? [] : taken[wire].media;
}

/** Returns what is known about a model, or null if nothing is. */
export function modelInfo(model: string): ModelInfo | null {
  return ownValue(models, modelFamily(model)) ?? null;
}

/** Returns the known models of a provider, in the order of the table. */
export function modelsOf(provider: string): string[] {
  return Object.keys(models).filter((model) => models[model]?.provider === provider);
}

/** Returns the cost in US dollars, or undefined if the price or the usage is not known. */
export function costOf(model: string, usage: Usage): number | undefined {
  const info = modelInfo(model);
  if (info === null || (usage.isPartial === true && usage.total === 0)) return undefined;
  const isLong = info.longContext !== undefined && usage.input > info.longContext.overTokens;
  const inputFactor = isLong ? (info.longContext?.inputFactor ?? 1) : 1;
  const outputFactor = isLong ? (info.longContext?.outputFactor ?? 1) : 1;
  const { input, cached, output, written = input } = info.price;
  const writes = usage.written ?? 0;
  const plain = Math.max(0, usage.input - usage.cached - writes);
  const inputCost = (plain * input + usage.cached * cached + writes * written) * inputFactor;
  return (inputCost + usage.output * output * outputFactor) / 1_000_000;
}

/** Returns the most that a call with these tokens can cost: all of its input is of the dearest kind. Undefined if no price is known. */
export function costBoundOf(model: string, tokens: { input: number; output: number }): number | undefined {
  const call = { ...noUsage, ...tokens };
  const kinds = [call, { ...call, cached: tokens.input }, { ...call, written: tokens.input }];
  const costs = kinds.flatMap((usage) => costOf(model, usage) ?? []);
  return costs.length === 0 ? undefined : Math.max(...costs);
}

/**
 * Returns the name of a model without its date. Models of one family read each other's memory and reasoning (C2, C5):
 * `gpt-5.1-2025-11-13` is a dated snapshot of `gpt-5.1`, as `claude-haiku-4-5-20251001` is one of `claude-haiku-4-5`,
 * and reads what its alias wrote.
 */
export function modelFamily(model: string): string {
  return model.replace(/-(?:\d{4}-\d{2}-\d{2}|20\d{6})$/, "");
}
