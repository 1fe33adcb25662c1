/** What the model of an engine is, knows and can do. Most of it is loaded when a turn first needs it. */
import type { Configuration } from "../../configuration/configuration.ts";
import { readContextEntry } from "../../configuration/context-entry.ts";
import type { DataFolder } from "../../configuration/data-folder.ts";
import { modelInfo } from "../../domain/models.ts";
import type { EngineModels, WorkspaceSettings } from "../../engine/dependencies.ts";
import { openWorkingCopy } from "../../retrieval/current-files.ts";
import { skillReader } from "../data-folder/skill-reader.ts";
import { lazyDocuments, lazyRetrievers } from "../lazy-retrievers.ts";
import type { ModelOptions } from "../options.ts";

export interface ModelSetup {
  configuration: Configuration;
  /** The settings of every workspace that changes nothing. */
  settings: WorkspaceSettings;
  folder: DataFolder;
  env: Readonly<Record<string, string | undefined>>;
}

export function engineModels(given: ModelOptions, { configuration, settings, folder, env }: ModelSetup): EngineModels {
  const usual = { provider: configuration.provider, index: configuration.retrieval.store };
  const retrievers = { ...lazyRetrievers({ configuration, folder, env }), ...given.retrievers };
  return {
    ...settings,
    retrievers: new Map(Object.entries(retrievers)),
    documents: given.documents ?? lazyDocuments(),
    tools: given.tools ?? [],
    readContext: (kind, id, entry) => readContextEntry({ kind, id, entry, ...usual }),
    workingCopy: openWorkingCopy,
    surroundings: async (path) => {
      const { surroundingsOf } = await import("../../working-copy/surroundings.ts");
      return await surroundingsOf(path);
    },
    skills: skillReader(folder),
    urls: {
      read: async (url, how) => {
        const { webReader } = await import("../../tools/url/web-reader.ts");
        return await webReader({ allowedHosts: configuration.input.allowedUrlHosts }).read(url, how);
      },
    },
    contextTokens: (model) => modelInfo(model)?.contextTokens ?? null,
  };
}
