/** The settings of retrieval: indexes are stored in the data folder, or on a Qdrant server that all servers of a team share. */
import type { MergedValues } from "./merged-values.ts";

export interface ConfiguredRetrieval {
  /** The index that agent contexts search if they do not name one. */
  store: IndexStore;
  embedding: "lexical" | "openai";
  /** Patterns of paths that are not indexed, in the form of `.gitignore`. */
  ignore: string[];
  model: string | null;
  dimension: number | null;
  qdrant: ConfiguredQdrant;
}

export type IndexStore = (typeof indexStores)[number];
export const indexStores = ["local", "qdrant"] as const;

export interface ConfiguredQdrant {
  url: string | null;
  collection: string;
  /** Name of the environment variable that holds the key. The key is stored nowhere else (E8). */
  apiKeyEnv: string;
}

export function settleRetrieval(values: MergedValues): ConfiguredRetrieval {
  return {
    store: values.get<IndexStore>("retrieval.store") ?? "local",
    embedding: values.get<"lexical" | "openai">("retrieval.embedding") ?? "lexical",
    ignore: values.get<string[]>("retrieval.ignore") ?? [],
    model: values.text("retrieval.model"),
    dimension: values.get<number>("retrieval.dimension") ?? null,
    qdrant: {
      url: values.text("retrieval.qdrant.url"),
      collection: values.text("retrieval.qdrant.collection") ?? "aptove",
      apiKeyEnv: values.text("retrieval.qdrant.api_key_env") ?? "QDRANT_API_KEY",
    },
  };
}

/** Returns the key of the Qdrant server, or null if the server is called without a key. */
export function qdrantKey(
  { apiKeyEnv }: ConfiguredQdrant,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  return env[apiKeyEnv]?.trim() || null;
}

/** Returns why the Qdrant server cannot be used and how to fix it, or null if the configuration shows no fault. */
export function qdrantFault(
  qdrant: ConfiguredQdrant,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  if (qdrant.url === null) return "has no address: set retrieval.qdrant.url, or QDRANT_URL";
  const { protocol, hostname } = new URL(qdrant.url);
  const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  if (protocol === "https:" || isHere || qdrantKey(qdrant, env) === null) return null;
  return `would receive its key unencrypted: ${qdrant.apiKeyEnv} is set, so retrieval.qdrant.url must be https`;
}
