/** A small repository with a local index, whose runs can be held while they wait for the vectors of new chunks. */
import { join } from "node:path";
import type { TestContext } from "node:test";
import { lexicalEmbedder } from "../src/retrieval/lexical-embedding.ts";
import { openLocalRetriever } from "../src/retrieval/local/local-retriever.ts";
import type { Retriever } from "../src/retrieval/retriever.ts";
import { sampleRepository, type SampleRepository } from "../src/retrieval/sample-repository.ts";
import { unlessAborted } from "../src/system/abort.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface IndexedRepository {
  repository: SampleRepository;
  retriever: Retriever;
  /** The folder of the index. */
  folder: string;
  /** Holds every run from now on. `reached` resolves when one waits; `go` lets it go on, and holds no further one. */
  hold(): { reached: Promise<void>; go(): void };
}

export async function indexedRepository(
  t: TestContext,
  { orgId = "org", files = { "a.ts": "export function greet() {}\n" } } = {},
): Promise<IndexedRepository> {
  const folder = join(await temporaryFolder(t), "index");
  const repository = sampleRepository(files);
  repository.commit();
  const lexical = lexicalEmbedder();
  let held: { reached: () => void; until: Promise<void> } | null = null;
  const embedder = {
    ...lexical,
    embed: async (texts: readonly string[], signal?: AbortSignal) => {
      held?.reached();
      if (held !== null) await unlessAborted(held.until, signal);
      return await lexical.embed(texts, signal);
    },
  };
  const retriever = await openLocalRetriever({ folder, embedder });
  t.after(async () => {
    await retriever.close();
    repository.remove();
  });
  await retriever.index({ root: repository.root, orgId, repo: "sample" });
  const hold = (): ReturnType<IndexedRepository["hold"]> => {
    const [reached, until] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    held = { reached: reached.resolve, until: until.promise };
    const go = (): void => {
      held = null;
      until.resolve();
    };
    return { reached: reached.promise, go };
  };
  return { repository, retriever, folder, hold };
}
