import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testEngine, type TestEngine, type TestEngineOptions } from "../../../../../testing/engine.ts";
import { newId, sha256 } from "../../../../domain/ids.ts";
import { memoryCache } from "../../../../live/memory/memory-cache.ts";
import type { SharedCache } from "../../../../live/shared-cache.ts";
import type { RetrievalQuery, RetrievedChunk, Retriever } from "../../../../retrieval/retriever.ts";
import { keptSearch } from "./kept-search.ts";

function chunk(query: RetrievalQuery): RetrievedChunk {
  const text = `found for ${JSON.stringify(query)}`;
  const lines = { startLine: 1, endLine: 3, language: "typescript", symbol: null };
  return {
    id: sha256(text),
    repo: query.repo,
    path: "a.ts",
    ...lines,
    text,
    hash: sha256(text),
    commit: null,
    score: 1,
  };
}

class CountingRetriever implements Retriever {
  readonly queries: RetrievalQuery[] = [];
  now = "1";

  async search(query: RetrievalQuery): Promise<RetrievedChunk[]> {
    this.queries.push(query);
    return [chunk(query)];
  }
  async generation(): Promise<string> {
    return this.now;
  }
  index = () => assert.fail("nothing is indexed here");
  list = async () => [];
  close = async () => {};
}

interface Setup extends TestEngine {
  retriever: CountingRetriever;
}

async function setUp(context: TestContext, options: TestEngineOptions = {}): Promise<Setup> {
  const retriever = new CountingRetriever();
  const retrievers = new Map([["local", retriever]]);
  return { ...(await testEngine(context, { retrievers, cache: memoryCache(), ...options })), retriever };
}

test("[Q7] a rerun, a retry and a follow-up with the same question do not search again, and the manifest says so", async (t) => {
  const { ask, retriever } = await setUp(t);
  const first = await ask("where is the head?", { repo: "r" });
  assert.equal(first.manifest.searchWasKept, undefined);
  const rerun = await ask("", { rerun: { turnId: first.id } });
  const again = await ask("where is the head?", { sessionId: first.sessionId });
  const elsewhere = await ask("where is the head?", { repo: "r" });
  assert.deepEqual(
    [rerun, again, elsewhere].map(({ manifest }) => manifest.searchWasKept),
    [true, true, true],
  );
  assert.equal(retriever.queries.length, 1);
  const idsOf = ({ manifest }: typeof first): string[] => manifest.chunks.map(({ id }) => id);
  for (const turn of [rerun, again, elsewhere]) assert.deepEqual(idsOf(turn), idsOf(first));
  assert.equal(again.manifest.chunks[0]?.notSentBecause, "already_sent");
  const other = await ask("where is the tail?", { sessionId: first.sessionId });
  assert.equal(other.manifest.searchWasKept, undefined);
  assert.equal(retriever.queries.length, 2);
});

test("[Q7] once the index has another generation, every question is searched again", async (t) => {
  const { ask, retriever } = await setUp(t);
  await ask("where is the head?", { repo: "r" });
  retriever.now = "2";
  const later = await ask("where is the head?", { repo: "r" });
  assert.equal(later.manifest.searchWasKept, undefined);
  assert.equal(retriever.queries.length, 2);
});

test("[Q7] [H4] the key has the caller's scope: another org, repository, folder or language searches for itself", async () => {
  const retriever = new CountingRetriever();
  const parts = { cache: memoryCache(), version: "1" };
  const query = { text: "q", orgId: "one", repo: "r", candidates: 5 };
  const others: RetrievalQuery[] = [
    { ...query, orgId: "two" },
    { ...query, repo: "s" },
    { ...query, pathPrefixes: ["src"] },
    { ...query, pathPrefixes: [] },
    { ...query, language: "python" },
    { ...query, candidates: 6 },
    { ...query, text: "Q" },
  ];
  for (const one of [query, ...others]) {
    const { chunks, isKept } = await keptSearch(parts, retriever, one);
    assert.deepEqual([chunks, isKept], [[chunk(one)], false]);
  }
  const kept = await keptSearch(parts, retriever, { ...query });
  assert.deepEqual(kept, { chunks: [chunk(query)], isKept: true });
  assert.equal((await keptSearch({ ...parts, version: "2" }, retriever, query)).isKept, false);
  const folders = { ...query, pathPrefixes: ["src", "docs"] };
  await keptSearch(parts, retriever, folders);
  assert.equal((await keptSearch(parts, retriever, { ...folders, pathPrefixes: ["docs", "src"] })).isKept, true);
});

test("[Q7] a cache that has nothing or something damaged is no failure: then the index is searched", async (t) => {
  const texts = [null, "", "{", "[1]", '[{"id":"x"}]', "null"];
  for (const text of texts) {
    const cache: SharedCache = { get: async () => text, set: () => undefined };
    const { ask, retriever } = await setUp(t, { cache });
    const turn = await ask("where is the head?", { repo: "r" });
    assert.equal(turn.status, "completed", String(text));
    assert.equal(turn.manifest.chunks.length, 1);
    assert.equal(retriever.queries.length, 1);
  }
});

test("[Q7] a retriever without generations is searched every time", async (t) => {
  const { retriever } = await setUp(t);
  const { generation: _generation, ...without } = {
    search: retriever.search.bind(retriever),
    generation: null,
    index: retriever.index,
    list: retriever.list,
    close: retriever.close,
  };
  const parts = { cache: memoryCache(), version: newId() };
  for (const one of [without, { ...without, generation: async () => null }]) {
    const query = { text: "q", orgId: "one", repo: "r", candidates: 5 };
    await keptSearch(parts, one, query);
    assert.equal((await keptSearch(parts, one, query)).isKept, false);
  }
});

test("[Q7] [O3] a turn that is not kept leaves nothing in the cache", async (t) => {
  const keys: string[] = [];
  const cache: SharedCache = {
    get: async (key) => {
      keys.push(key);
      return null;
    },
    set: (key) => void keys.push(key),
  };
  const { engine, caller, retriever } = await setUp(t, { cache });
  const unkept = await engine.unkept(caller);
  t.after(() => unkept?.forget());
  const turn = await (await unkept?.turns.run(caller, { instruction: "where is the head?", repo: "r" }))?.finished;
  assert.equal(turn?.status, "completed");
  assert.equal(retriever.queries.length, 1);
  assert.deepEqual(keys, []);
});
