/**
 * Indexes a repository with an embedding that never answers, so that it can be killed in the middle of a run.
 * Arguments: the folder of the index, the root of the repository, its name, and the org. Prints `embedding` when the run
 * has written files and waits for vectors.
 */
import { writeSync } from "node:fs";
import { lexicalEmbedder } from "../../src/retrieval/lexical-embedding.ts";
import { openLocalRetriever } from "../../src/retrieval/local/local-retriever.ts";

const [folder = "", root = "", repo = "", orgId = "org"] = process.argv.slice(2);
const { model, dimension } = lexicalEmbedder();
const embedder = {
  model,
  dimension,
  embed: () => {
    writeSync(1, "embedding\n");
    return new Promise<Float32Array[]>(() => setInterval(() => undefined, 60_000));
  },
};
const retriever = await openLocalRetriever({ folder, embedder });
await retriever.index({ root, orgId, repo });
