/**
 * Embeddings from OpenAI, or from any server with the same `POST /embeddings` (Q6). The texts of the chunks and of the questions
 * leave this machine.
 */
import { AptoveError } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { anySignal, pause } from "../system/abort.ts";
import { normalize, type Embedder } from "./embedding.ts";

export interface OpenaiEmbedderOptions {
  apiKey: string;
  model: string;
  /** The number of dimensions. Models of the third generation shorten their vectors to it; other models must have it. */
  dimension: number;
  /** The URL before `/embeddings`. */
  baseUrl?: string;
  fetch?: typeof globalThis.fetch;
  /** Waits between two attempts. It rejects or resolves early when the signal aborts. */
  wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

const defaultBaseUrl = "https://api.openai.com/v1";
const inputsPerRequestMax = 2_048;
/** The service accepts 300,000 tokens in a request, and 8,192 in an input. A token has at least one character. */
const charactersPerRequestMax = 250_000;
const charactersPerInputMax = 8_000;

export function openaiEmbedder(options: OpenaiEmbedderOptions): Embedder {
  const { model, dimension } = options;
  return {
    model,
    dimension,
    async embed(texts, signal) {
      const vectors: Float32Array[] = [];
      for (const inputs of batches(texts)) vectors.push(...(await embedBatch(options, inputs, signal)));
      return vectors;
    },
  };
}

/** Yields batches of as many inputs as one request may have. The service accepts no empty input. */
function* batches(texts: readonly string[]): Generator<string[]> {
  let batch: string[] = [];
  let characters = 0;
  for (const text of texts) {
    const input = text.slice(0, charactersPerInputMax).toWellFormed() || " ";
    if (batch.length === inputsPerRequestMax || characters + input.length > charactersPerRequestMax) {
      yield batch;
      [batch, characters] = [[], 0];
    }
    batch.push(input);
    characters += input.length;
  }
  if (batch.length > 0) yield batch;
}

type Attempt =
  | { outcome: "answered"; body: unknown }
  | { outcome: "failed"; detail: string; isRetryable: boolean; retryAfterMs: number | null };

async function embedBatch(
  options: OpenaiEmbedderOptions,
  inputs: string[],
  signal: AbortSignal | undefined,
): Promise<Float32Array[]> {
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    const result = await post(options, inputs, signal);
    if (result.outcome === "answered") return readVectors(options, result.body, inputs.length);
    if (!result.isRetryable || attempt === limits.providerAttemptsMax) throw failed(options, result.detail);
    const waitMs = result.retryAfterMs ?? limits.providerBackoffMs * 2 ** (attempt - 1);
    // A retry before the requested time would only be refused again.
    if (waitMs > limits.providerBackoffMaxMs) throw failed(options, result.detail);
    // If the wait is aborted, the loop throws the signal's own reason.
    await (options.wait ?? pause)(waitMs, signal);
  }
}

async function post(
  options: OpenaiEmbedderOptions,
  inputs: string[],
  signal: AbortSignal | undefined,
): Promise<Attempt> {
  const { apiKey, model, dimension, baseUrl = defaultBaseUrl } = options;
  const canShorten = model.startsWith("text-embedding-3");
  const timeout = AbortSignal.timeout(limits.providerFirstByteMs);
  try {
    const response = await (options.fetch ?? fetch)(`${baseUrl.replace(/\/+$/, "")}/embeddings`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(apiKey !== "" && { authorization: `Bearer ${apiKey}` }) },
      body: JSON.stringify({
        model,
        input: inputs,
        encoding_format: "float",
        ...(canShorten && { dimensions: dimension }),
      }),
      signal: anySignal(signal, timeout),
    });
    const text = await response.text();
    return response.ok ? answered(text) : refused(response, text);
  } catch (error) {
    signal?.throwIfAborted();
    const reason = error instanceof Error ? causeOf(error) : String(error);
    return { outcome: "failed", detail: `no answer: ${reason}`, isRetryable: true, retryAfterMs: null };
  }
}

/** Returns the reason of a failed request. `fetch failed` does not contain it; its cause does. */
function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function answered(text: string): Attempt {
  try {
    return { outcome: "answered", body: JSON.parse(text) };
  } catch {
    return { outcome: "failed", detail: "the answer is not JSON", isRetryable: true, retryAfterMs: null };
  }
}

function refused(response: Response, text: string): Attempt {
  // An exhausted quota also returns 429, and no waiting helps (C7).
  const isRetryable = response.status >= 500 || (response.status === 429 && !text.includes("insufficient_quota"));
  const detail = `${response.status} ${messageIn(text)}`;
  return { outcome: "failed", detail, isRetryable, retryAfterMs: retryAfterMs(response.headers) };
}

function messageIn(text: string): string {
  const message = /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text;
  return message.slice(0, 300);
}

function retryAfterMs(headers: Headers): number | null {
  const milliseconds = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds);
  const value = headers.get("retry-after");
  if (value === null) return null;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

interface EmbeddingAnswer {
  data: { index: number; embedding: number[] }[];
}

/** Returns the vectors in the order of the inputs. Each item names its input; the order of the items means nothing. */
function readVectors(options: OpenaiEmbedderOptions, body: unknown, count: number): Float32Array[] {
  const { data } = body as Partial<EmbeddingAnswer>;
  if (!Array.isArray(data)) throw failed(options, "the answer has no vectors");
  const vectors: (Float32Array | undefined)[] = Array.from({ length: count });
  for (const { index, embedding } of data) {
    if (!Array.isArray(embedding) || !embedding.every(Number.isFinite)) {
      throw failed(options, "the answer has something else instead of a vector");
    }
    if (embedding.length !== options.dimension) {
      const fix = `set the dimension to that, and run \`aptove index --rebuild\``;
      throw failed(options, `it gives ${embedding.length} dimensions, not ${options.dimension}; ${fix}`);
    }
    vectors[index] = normalize(Float32Array.from(embedding));
  }
  const whole = vectors.filter((vector) => vector !== undefined);
  if (whole.length !== count || vectors.length !== count) throw failed(options, "the answer lacks some of the vectors");
  return whole;
}

/** Returns the error. It has no cause, because the caught error may contain the request, and with it the key (E8). */
function failed({ apiKey, model }: OpenaiEmbedderOptions, detail: string): AptoveError {
  const safe = apiKey === "" ? detail : detail.replaceAll(apiKey, "[key]");
  return new AptoveError("retrieval_failed", `the embedding model ${model} failed: ${safe}`);
}
