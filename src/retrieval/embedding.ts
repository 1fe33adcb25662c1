/**
 * The contract for embeddings: text as a vector, so that texts about the same topic are close together (Q6).
 *
 * A driver must do the following.
 * - `embed` returns one vector per text, in the order of the texts. Each has exactly `dimension` numbers and the length 1, so
 *   that the cosine is a dot product. A text with nothing in it may have a vector of zeros.
 * - The same model and dimension mean comparable vectors, in every process and every version: an index records both, and
 *   refuses a question embedded by another model. A change in how vectors are computed needs another `model`.
 * - It takes any number of texts of any length, and does the batching and cutting itself. It may cut a text, but must use its
 *   beginning.
 * - It fails with an AptoveError `retrieval_failed` that never contains a secret (E8). After `signal` aborts it ends soon, by
 *   throwing the signal's reason.
 */
export interface Embedder {
  /** The name of the model, for example `text-embedding-3-small`. A built-in one contains its version. */
  readonly model: string;
  readonly dimension: number;
  /**
   * The weight of a rank in the ranking by these vectors; a rank in the ranking by words has the weight 1 (Q3). Absent: 1. An
   * embedding that does not capture meaning has less, because it only repeats what the words show.
   */
  readonly rankWeight?: number;
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
}

/** Scales a vector to length 1, in place. A zero vector stays zero. */
export function normalize(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const value of vector) sum += value * value;
  if (sum > 0) {
    const scale = 1 / Math.sqrt(sum);
    for (let at = 0; at < vector.length; at += 1) vector[at] = (vector[at] ?? 0) * scale;
  }
  return vector;
}
