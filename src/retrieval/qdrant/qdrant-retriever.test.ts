import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { startFakeQdrant, type FakeQdrant } from "../../../testing/fake-qdrant/fake-qdrant.ts";
import { retrieverSuite } from "../retriever.suite.ts";
import type { Retriever } from "../retriever.ts";
import { openQdrantRetriever } from "./qdrant-retriever.ts";

async function fakeFor(context: TestContext): Promise<FakeQdrant> {
  const fake = await startFakeQdrant();
  context.after(async () => {
    await fake.close();
    assert.deepEqual(fake.faults, []);
  });
  return fake;
}

retrieverSuite("retrieval from Qdrant (a fake of it)", async (context) => {
  const fake = await fakeFor(context);
  const opened: Retriever[] = [];
  context.after(() => Promise.all(opened.map((retriever) => retriever.close())));
  return async (embedder) => {
    const retriever = openQdrantRetriever({ url: fake.at("suite"), apiKey: null, collection: "aptove", embedder });
    opened.push(retriever);
    return retriever;
  };
});
