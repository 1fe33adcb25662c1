/** Where indexes are kept, by the configuration: beside the data, or on a Qdrant server that all servers of a team share. */
import type { MergedValues } from "./merged-values.ts";

export interface ConfiguredRetrieval {
  /** Where an agent context looks that does not say otherwise. */
  store: IndexStore;
  embedding: "lexical" | "openai";
  model: string | null;
  dimension: number | null;
  qdrant: ConfiguredQdrant;
}

export type IndexStore = (typeof indexStores)[number];
export const indexStores = ["local", "qdrant"] as const;

export interface ConfiguredQdrant {
  url: string | null;
  collection: string;
  /** Name of the environment variable that the key is read from; it stands nowhere else (E8). */
  apiKeyEnv: string;
}

export function settleRetrieval(values: MergedValues): ConfiguredRetrieval {
  return {
    store: values.get<IndexStore>("retrieval.store") ?? "local",
    embedding: values.get<"lexical" | "openai">("retrieval.embedding") ?? "lexical",
    model: values.text("retrieval.model"),
    dimension: values.get<number>("retrieval.dimension") ?? null,
    qdrant: {
      url: values.text("retrieval.qdrant.url"),
      collection: values.text("retrieval.qdrant.collection") ?? "aptove",
      apiKeyEnv: values.text("retrieval.qdrant.api_key_env") ?? "QDRANT_API_KEY",
    },
  };
}

/** Null: there is none, and the server is asked without. */
export function qdrantKey(
  { apiKeyEnv }: ConfiguredQdrant,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  return env[apiKeyEnv]?.trim() || null;
}

/** What keeps the server from being asked, and how to mend it; null: nothing that the configuration tells. */
export function qdrantFault(
  qdrant: ConfiguredQdrant,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  if (qdrant.url === null) return "has no address: set retrieval.qdrant.url, or QDRANT_URL";
  const { protocol, hostname } = new URL(qdrant.url);
  const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  if (protocol === "https:" || isHere || qdrantKey(qdrant, env) === null) return null;
  return `would be sent its key in the clear: ${qdrant.apiKeyEnv} is set, so retrieval.qdrant.url must be https`;
}
