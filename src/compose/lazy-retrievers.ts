/** The code indexes, keyed by the names that agent contexts use. Each is opened at its first use. */
import { AptoveError } from "../domain/errors.ts";
import type { Embedder } from "../retrieval/embedding.ts";
import type { DocumentSearch } from "../retrieval/documents.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import { qdrantFault, qdrantKey, type IndexStore } from "../configuration/configured-index.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { DataFolder } from "../configuration/data-folder.ts";

export interface RetrieverSetup {
  configuration: Configuration;
  folder: DataFolder;
  env: Readonly<Record<string, string | undefined>>;
}

export function lazyRetrievers(setup: RetrieverSetup): Record<IndexStore, Retriever> {
  const local = openedOnce(() => openLocal(setup));
  const { ignore } = setup.configuration.retrieval;
  return {
    local: {
      ...lazyRetriever(local, ignore),
      refresh: async (copy) => (await (await local.open()).refresh?.({ ignore, ...copy })) ?? "current",
    },
    qdrant: lazyRetriever(
      openedOnce(() => openQdrant(setup)),
      ignore,
    ),
  };
}

interface OpenedOnce {
  open(): Promise<Retriever>;
  /** Null: it was never opened. */
  opened(): Promise<Retriever> | null;
}

function openedOnce(openRetriever: () => Promise<Retriever>): OpenedOnce {
  let opened: Promise<Retriever> | null = null;
  return { open: () => (opened ??= openRetriever()), opened: () => opened };
}

/** Opens the retriever at its first use, because most commands never search. */
function lazyRetriever({ open, opened }: OpenedOnce, ignore: readonly string[]): Retriever {
  return {
    search: async (query) => await (await open()).search(query),
    generation: async (index) => (await (await open()).generation?.(index)) ?? null,
    index: async (job) => await (await open()).index({ ignore, ...job }),
    list: async (orgId) => await (await open()).list(orgId),
    runs: async (orgId) => (await (await open()).runs?.(orgId)) ?? [],
    paths: async (index) => (await (await open()).paths?.(index)) ?? [],
    close: async () => {
      const retrieverIfOpened = opened();
      if (retrieverIfOpened === null) return;
      // If it could not be opened, its caller received the error and there is nothing to close.
      const retriever = await retrieverIfOpened.catch(() => null);
      await retriever?.close();
    },
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
  let opened: Promise<DocumentSearch> | null = null;
  return { search: async (query) => await (await (opened ??= openDocuments())).search(query) };
}

async function openDocuments(): Promise<DocumentSearch> {
  const { localDocuments } = await import("../retrieval/local/local-documents.ts");
  const { lexicalEmbedder } = await import("../retrieval/lexical-embedding.ts");
  return localDocuments(lexicalEmbedder());
}
