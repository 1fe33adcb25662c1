/** The errors that every index has in common, with the same messages (Q6). */
import { AptoveError } from "../domain/errors.ts";

export function notIndexed(repo: string): AptoveError {
  return new AptoveError(
    "index_missing",
    `${repo} is not indexed; run \`aptove index\` in its folder, on the machine of the server that answers`,
    { facts: { repo } },
  );
}

interface EmbeddingModel {
  model: string;
  dimension: number;
}

/** Returns the error, or null if the index was built with the configured model. */
export function embeddingMismatch(
  index: EmbeddingModel & { repo: string; root: string },
  configured: EmbeddingModel,
): AptoveError | null {
  if (index.model === configured.model && index.dimension === configured.dimension) return null;
  const detail =
    `the index of ${index.repo} was built with ${index.model} (${index.dimension} dimensions), ` +
    `and ${configured.model} (${configured.dimension}) is configured; run \`aptove index --rebuild\` in ${index.root}`;
  return new AptoveError("index_mismatch", detail, { facts: { repo: index.repo } });
}

export function wrongDimension({ model, dimension }: EmbeddingModel): AptoveError {
  return new AptoveError("retrieval_failed", `${model} did not give ${dimension} dimensions`);
}
