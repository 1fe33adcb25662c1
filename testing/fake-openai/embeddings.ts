/** Embeddings as `POST /v1/embeddings` gives them: the same text always gets the same vector. */
import { createHash } from "node:crypto";
import type { CreateEmbeddingResponse, EmbeddingCreateParams } from "openai/resources/embeddings";
import { tokensOf } from "./answer-stream.ts";

type Format = NonNullable<EmbeddingCreateParams["encoding_format"]>;
type EmbeddingAnswer = Omit<CreateEmbeddingResponse, "data"> & {
  data: { object: "embedding"; index: number; embedding: number[] | string }[];
};

const dimensionsDefault = 1_536;

export function embed(body: EmbeddingCreateParams & { input: string | string[] }): EmbeddingAnswer {
  const inputs = typeof body.input === "string" ? [body.input] : body.input;
  const data = inputs.map((input, index) => ({
    object: "embedding" as const,
    index,
    embedding: encoded(vectorOf(input, body.dimensions ?? dimensionsDefault), body.encoding_format ?? "float"),
  }));
  const tokens = tokensOf(inputs);
  return { object: "list", data, model: body.model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

function encoded(vector: Float32Array, format: Format): number[] | string {
  if (format === "float") return Array.from(vector);
  return Buffer.from(vector.buffer).toString("base64");
}

/** Counts each word at one index of the vector, so that texts with the same words are near each other. */
function vectorOf(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    const place = createHash("sha256").update(word).digest().readUInt32LE(0) % dimensions;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
