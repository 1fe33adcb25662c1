/** The shared set-up of the retriever tests: sample files, a repository of them, and a retriever on it. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { AptoveError, type ErrorCode } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { Embedder } from "../embedding.ts";
import { lexicalEmbedder } from "../lexical-embedding.ts";
import type { IndexJob, RetrievedChunk, Retriever } from "../retriever.ts";
import { sampleRepository, type SampleRepository } from "../sample-repository.ts";

/** Opens a retriever over the same store each time. The store is empty at first. */
export type OpenRetriever = (embedder: Embedder) => Promise<Retriever>;
/** Makes a store for one test, and registers with `context.after` whatever must be closed and removed. */
export type RetrieverForTest = (context: TestContext) => OpenRetriever | Promise<OpenRetriever>;

export const greeting = `/** Greets a person by name. */
export function greetPerson(name: string): string {
  return "Good morning, " + name;
}
`;
export const farewell = `/** Says farewell at the end of the day. */
export function sayFarewell(name: string): string {
  return "Good night, " + name;
}
`;
export const tides = `# How the tide is predicted

The moon pulls the water; harmonics of its orbit predict high and low tide.
`;

export interface RetrieverSetUp {
  repository: SampleRepository;
  retriever: Retriever;
  open: OpenRetriever;
  index(job?: Partial<IndexJob>): ReturnType<Retriever["index"]>;
  search(text: string, filters?: { language?: string; pathPrefixes?: string[] }): Promise<RetrievedChunk[]>;
}

export async function setUpRetriever(
  context: TestContext,
  forTest: RetrieverForTest,
  files: Record<string, string | Uint8Array>,
): Promise<RetrieverSetUp> {
  const repository = sampleRepository(files);
  context.after(() => repository.remove());
  const open = await forTest(context);
  const retriever = await open(lexicalEmbedder());
  return {
    repository,
    retriever,
    open,
    index: (job = {}) => retriever.index({ root: repository.root, orgId: "org", repo: "sample", ...job }),
    search: (text, filters = {}) =>
      retriever.search({ text, orgId: "org", repo: "sample", candidates: limits.retrievalCandidatesMax, ...filters }),
  };
}

export async function rejectsWith(code: ErrorCode, promise: Promise<unknown>, words: RegExp): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof AptoveError, String(error));
    assert.equal(error.code, code);
    assert.match(error.detail, words);
    return true;
  });
}

export function ids(chunks: RetrievedChunk[]): string[] {
  return chunks.map(({ id }) => id);
}
