/**
 * What every retriever must do, as tests. Run it on your own driver to know that it keeps the contract (B5).
 */
import { suite } from "node:test";
import type { OpenRetriever, RetrieverForTest } from "./suite/set-up-retriever.ts";
import { chunkTests, failureTests, listingTests, reindexTests } from "./suite/indexing.ts";
import { embeddingTests, filterTests, generationTests, orgTests, retrievalSearchTests } from "./suite/searching.ts";

export type { OpenRetriever, RetrieverForTest };

/** Registers the tests in a suite of this name. */
export function retrieverSuite(name: string, forTest: RetrieverForTest): void {
  suite(name, () => {
    chunkTests(forTest);
    listingTests(forTest);
    reindexTests(forTest);
    failureTests(forTest);
    retrievalSearchTests(forTest);
    filterTests(forTest);
    orgTests(forTest);
    generationTests(forTest);
    embeddingTests(forTest);
  });
}
