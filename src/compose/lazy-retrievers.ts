/** The code indexes, keyed by the names that agent contexts use. Each is opened at its first use. */
import { AptoveError } from "../domain/errors.ts";
import type { Embedder } from "../retrieval/embedding.ts";
import type { DocumentSearch } from "../retrieval/documents.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import { qdrantFault, qdrantKey, type IndexStore } from "../configuration/configured-index.ts";
import { OpenedOnce } from "../system/opened-once.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { DataFolder } from "../configuration/data-folder.ts";

export interface RetrieverSetup {
  configuration: Configuration;
  folder: DataFolder;
  env: Readonly<Record<string, string | undefined>>;
}

export function lazyRetrievers(setup: RetrieverSetup): Record<IndexStore, Retriever> {
  const local = new OpenedOnce(() => openLocal(setup));
  const { ignore } = setup.configuration.retrieval;
  return {
    local: {
      ...lazyRetriever(local, ignore),
      refresh: async (copy) => (await (await local.open()).refresh?.({ ignore, ...copy })) ?? "current",
    },
    qdrant: lazyRetriever(new OpenedOnce(() => openQdrant(setup)), ignore),
  };
}

/** Opens the retriever at its first use, because most commands never search. */
function lazyRetriever(retriever: OpenedOnce<Retriever>, ignore: readonly string[]): Retriever {
  return {
    search: async (query) => await (await retriever.open()).search(query),
    generation: async (index) => (await (await retriever.open()).generation?.(index)) ?? null,
    index: async (job) => await (await retriever.open()).index({ ignore, ...job }),
    list: async (orgId) => await (await retriever.open()).list(orgId),
    runs: async (orgId) => (await (await retriever.open()).runs?.(orgId)) ?? [],
    paths: async (index) => (await (await retriever.open()).paths?.(index)) ?? [],
    // If it could not be opened, its caller received the error and there is nothing to close.
    close: async () => await (await retriever.ifOpen())?.close(),
  };
}

async function openLocal({ configuration, folder }: RetrieverSetup): Promise<Retriever> {
  const { openLocalRetriever } = await import("../retrieval/local/local-retriever.ts");
  return await openLocalRetriever({ folder: folder.index, embedder: await openEmbedder(configuration) });
}

async function openQdrant({ configuration, env }: RetrieverSetup): Promise<Retriever> {
  const { qdrant } = configuration.retrieval;
  const fault = qdrantFault(qdrant, env);
  if (fault !== null || qdrant.url === null) throw new AptoveError("config_invalid", `the index store qdrant ${fault}`);
  const { openQdrantRetriever } = await import("../retrieval/qdrant/qdrant-retriever.ts");
  const { url, collection } = qdrant;
  const embedder = await openEmbedder(configuration);
  return openQdrantRetriever({ url, collection, apiKey: qdrantKey(qdrant, env), embedder });
}

async function openEmbedder({ retrieval, providers }: Configuration): Promise<Embedder> {
  if (retrieval.embedding === "lexical") {
    const { lexicalEmbedder } = await import("../retrieval/lexical-embedding.ts");
    return lexicalEmbedder();
  }
  const { openaiEmbedder } = await import("../retrieval/openai-embedding.ts");
  return openaiEmbedder({
    apiKey: providers.openai.apiKey ?? "",
    model: retrieval.model ?? "text-embedding-3-small",
    dimension: retrieval.dimension ?? 1_536,
    ...(providers.openai.baseUrl !== null && { baseUrl: providers.openai.baseUrl }),
  });
}

/** Long documents are searched in this process, whatever the index of the code is in. */
export function lazyDocuments(): DocumentSearch {
  const documents = new OpenedOnce(openDocuments);
  return { search: async (query) => await (await documents.open()).search(query) };
}

async function openDocuments(): Promise<DocumentSearch> {
  const { localDocuments } = await import("../retrieval/local/local-documents.ts");
  const { lexicalEmbedder } = await import("../retrieval/lexical-embedding.ts");
  return localDocuments(lexicalEmbedder());
}
