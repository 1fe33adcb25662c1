/** The secrets of a configuration. No command of the model receives one (P5), and no line of the log contains one (E8). */
import type { Configuration } from "../configuration/configuration.ts";
import { settingsWithKeys } from "../configuration/configured-providers.ts";

export interface ConfiguredSecrets {
  /** Names of the environment variables that hold keys. */
  names: string[];
  /** The keys themselves. */
  values: string[];
}

/** Returns the keys of all providers and of the retrieval store. Both users of this list must not have a list of their own. */
export function configuredSecrets({ providers, retrieval }: Configuration): ConfiguredSecrets {
  const settings = settingsWithKeys(providers);
  return {
    names: [...settings.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []), retrieval.qdrant.apiKeyEnv],
    values: settings.flatMap(({ apiKey }) => apiKey ?? []),
  };
}
