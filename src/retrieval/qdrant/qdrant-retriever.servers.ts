import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test, type TestContext } from "node:test";
import { QdrantClient } from "@qdrant/js-client-rest";
import { startFakeQdrant } from "../../../testing/fake-qdrant/fake-qdrant.ts";
import { retrieverSuite, type OpenRetriever } from "../retriever.suite.ts";
import type { Retriever } from "../retriever.ts";
import { openQdrantRetriever, type QdrantRetrieverOptions } from "./qdrant-retriever.ts";

function opener(context: TestContext, at: Omit<QdrantRetrieverOptions, "embedder">): OpenRetriever {
  const opened: Retriever[] = [];
  context.after(() => Promise.all(opened.map((retriever) => retriever.close())));
  return async (embedder) => {
    const retriever = openQdrantRetriever({ ...at, embedder });
    opened.push(retriever);
    return retriever;
  };
}

retrieverSuite("retrieval from Qdrant (a fake of it)", async (context) => {
  const fake = await startFakeQdrant();
  context.after(async () => {
    await fake.close();
    assert.deepEqual(fake.faults, []);
  });
  return opener(context, { url: fake.at("suite"), apiKey: null, collection: "aptove" });
});

/** A real server to test with: `QDRANT_URL=http://127.0.0.1:6333 npm test`, and `QDRANT_API_KEY` if the server needs one. */
const url = process.env["QDRANT_URL"] ?? "";
const apiKey = process.env["QDRANT_API_KEY"] ?? null;
if (url === "") {
  test("[Q3] retrieval from a live Qdrant", { skip: "QDRANT_URL is not set, and no server can be installed here" });
} else {
  retrieverSuite("retrieval from a live Qdrant", (context) => {
    const collection = `aptove-test-${randomUUID()}`;
    context.after(async () => {
      const client = new QdrantClient({ url, ...(apiKey !== null && { headers: { "api-key": apiKey } }) });
      const { collections } = await client.getCollections();
      const own = collections.filter(({ name }) => name.startsWith(collection));
      await Promise.all(own.map(async ({ name }) => await client.deleteCollection(name)));
    });
    return opener(context, { url, apiKey, collection });
  });
}
