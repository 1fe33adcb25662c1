/**
 * Builds the engine from the configuration. The caller may replace any part (Y1). Only this file and compose/ name
 * drivers. A driver is loaded when it is first needed, so that a command starts quickly.
 */
import { configuredWorkspaces, type ConfiguredWorkspaces } from "./compose/configured-workspaces.ts";
import { identitiesOf } from "./compose/identities.ts";
import { lazyWorkspaces } from "./compose/lazy-workspaces.ts";
import { lazyProviders } from "./compose/lazy-providers.ts";
import { lazyDocuments, lazyRetrievers } from "./compose/lazy-retrievers.ts";
import { openLive } from "./compose/open-live.ts";
import type { AptoveOptions } from "./compose/options.ts";
import { openWorkingCopy } from "./retrieval/current-files.ts";
import { openStores } from "./compose/data-folder/open-stores.ts";
import { sessionToolsOpener } from "./compose/session-tools.ts";
import { skillReader } from "./compose/data-folder/skill-reader.ts";
import { startTelemetry, type Telemetry } from "./compose/telemetry.ts";
import { quotasOf, unkeptPolicyOf } from "./compose/quotas.ts";
import { isAlive, monotonic, thisRunner } from "./compose/this-runner.ts";
import { modelInfo } from "./domain/models.ts";
import { createEngine } from "./engine/create-engine.ts";
import type { Engine } from "./engine/engine.ts";
import type { EngineDependencies, Providers, WorkspaceSettings } from "./engine/dependencies.ts";
import { observedStore } from "./telemetry/observed-store.ts";
import type { OpenSessionTools } from "./tools/session-tools.ts";
import { aptoveVersion } from "./version.ts";
import { readContextEntry } from "./configuration/context-entry.ts";
import {
  mergeLayers,
  readSharedLayers,
  type Configuration,
  type LoadedConfiguration,
} from "./configuration/configuration.ts";
import { dataFolderPath, openDataFolder, type DataFolder } from "./configuration/data-folder.ts";
import { pause } from "./system/abort.ts";
import type { OpenedWorkspaces } from "./workspace/opened-workspaces.ts";
import type { Transcripts } from "./workspace/transcript/transcripts.ts";

export interface Aptove {
  engine: Engine;
  /** The configuration of every workspace that changes nothing. */
  configuration: Configuration;
  /** The source of each value of the configuration that is not built in. */
  sources: LoadedConfiguration["sources"];
  folder: DataFolder;
  /** Opens the workspaces, their devices and their permissions. */
  workspaces(): Promise<OpenedWorkspaces>;
  transcripts(): Promise<Transcripts>;
  /** Returns the configuration of a workspace (W7), or null if there is no such workspace. */
  configured: ConfiguredWorkspaces;
  openSessionTools: OpenSessionTools;
  /** What the user should know about the configuration. */
  warnings: string[];
  /** The log, metrics and traces. Close it after the engine. */
  telemetry: Telemetry;
  /** Reports a fault to the operator. */
  report(message: string, error?: unknown): void;
}

export async function createAptove(options: AptoveOptions = {}): Promise<Aptove> {
  const { env = process.env, now = Date.now } = options;
  const folder = openDataFolder(options.dataDir ?? dataFolderPath({ env }));
  const overrides = options.overrides ?? {};
  const givenProviders = (options.providers ?? []).map(({ name }) => name);
  const from = options.overridesFrom === undefined ? {} : { overridesFrom: options.overridesFrom };
  const shared = readSharedLayers({ dataDir: folder.dir, env, overrides, ...from, providers: givenProviders });
  const { configuration, sources, warnings } = mergeLayers(shared, null);
  const version = aptoveVersion();
  const telemetry = await startTelemetry({ configuration, env, version, now, options });
  const { observer, report } = telemetry;
  const providers = lazyProviders(configuration.providers, options.providers ?? [], null);
  const settings = settingsFrom(configuration, providers, options);
  const workspaces = lazyWorkspaces(options, { folder, now, report });
  const configured = configuredWorkspaces({
    store: async () => (await workspaces.opened()).store,
    shared,
    base: { configuration, settings },
    settle: (own) => settingsFrom(own, lazyProviders(own.providers, options.providers ?? [], providers), options),
  });
  const usual = { provider: configuration.provider, index: configuration.retrieval.store };
  const { records, blobs, turnStore } = await openStores(options, { configuration, folder, env, telemetry });
  const isEmbedded = configuration.records.url === null;
  const live = await openLive({ configuration, folder, report, given: options });
  const retrievers = new Map(
    Object.entries({ ...lazyRetrievers({ configuration, folder, env }), ...options.retrievers }),
  );
  const deps: EngineDependencies = {
    ...settings,
    records: observedStore(records, "records", observer),
    blobs: observedStore(blobs, "blobs", observer),
    ...(turnStore !== undefined && { turnStore: observedStore(turnStore, "records", observer) }),
    log: observedStore(live.log, "live", observer),
    unkeptStores: async () => await (await import("./compose/unkept-stores.ts")).unkeptStores(),
    cache: live.cache,
    ...(live.wakeUps !== undefined && { wakeUps: live.wakeUps }),
    retrievers,
    documents: options.documents ?? lazyDocuments(),
    tools: options.tools ?? [],
    workspaces: workspacesOf(workspaces, configured),
    readContext: (kind, id, entry) => readContextEntry({ kind, id, entry, ...usual }),
    workingCopy: openWorkingCopy,
    surroundings: async (path) => {
      const { surroundingsOf } = await import("./working-copy/surroundings.ts");
      return await surroundingsOf(path);
    },
    skills: skillReader(folder),
    urls: {
      read: async (url, how) => {
        const { webReader } = await import("./tools/url/web-reader.ts");
        return await webReader({ allowedHosts: configuration.input.allowedUrlHosts }).read(url, how);
      },
    },
    ...identitiesOf(configuration, { given: options.identities, report, observer }),
    limits: configuration.limits,
    quotas: quotasOf(configuration),
    unkeptPolicy: unkeptPolicyOf(configuration),
    contextTokens: (model) => modelInfo(model)?.contextTokens ?? null,
    runner: thisRunner(isEmbedded && options.records === undefined ? folder.records : null),
    isAlive,
    recordsAreEmbedded: isEmbedded,
    version,
    now,
    monotonic,
    random: Math.random,
    sleep: pause,
    deadline: (ms) => AbortSignal.timeout(ms),
    inspections: async () => {
      const { serverInspections } = await import("./compose/checks/server-inspections.ts");
      const { redact } = telemetry;
      return serverInspections({
        ...{ configuration, folder, env, records, blobs, log: live.log, configured, redact },
        retriever: retrievers.get(configuration.retrieval.store),
        workspaces: () => workspaces.opened(),
      });
    },
    observer,
    report,
  };
  return {
    engine: await createEngine(deps),
    configuration,
    sources,
    folder,
    workspaces: () => workspaces.opened(),
    transcripts: () => workspaces.transcripts(),
    configured,
    openSessionTools: sessionToolsOpener({ configuration, configured, folder, env, version }),
    warnings,
    telemetry,
    report,
  };
}

/** What the engine does with workspaces. Their files are opened when they are first needed. */
function workspacesOf(
  workspaces: ReturnType<typeof lazyWorkspaces>,
  configured: ReturnType<typeof configuredWorkspaces>,
): NonNullable<EngineDependencies["workspaces"]> {
  return {
    settings: async (id) => (await configured(id))?.settings ?? null,
    ofDevice: async (deviceId) => (await (await workspaces.opened()).workspaces.resolve(deviceId)).id,
    permissions: {
      isAllowed: async (id, key) => await (await workspaces.opened()).permissions.isAllowed(id, key),
      allow: async (id, key) => await (await workspaces.opened()).permissions.allow(id, key),
    },
    memory: workspaces.facts,
    managed: async () => ({ ...(await workspaces.opened()), transcripts: await workspaces.transcripts() }),
    boundTo: async (deviceId) => await (await workspaces.opened()).bindings.resolve(deviceId),
    bind: async (deviceId, id) => await (await workspaces.opened()).bindings.bind(deviceId, id),
    nextBeginning: async (id) => await (await workspaces.transcripts()).nextBeginning(id),
    turnsFinished: (id, turns) => workspaces.turnsFinished(id, turns),
    settle: (id) => workspaces.settle(id),
  };
}

/** Contexts that the caller gives replace the configured ones, in every workspace. */
function settingsFrom(configuration: Configuration, providers: Providers, options: AptoveOptions): WorkspaceSettings {
  return {
    providers,
    agentContexts: options.agentContexts ?? configuration.agentContexts,
    conversationContexts: options.conversationContexts ?? configuration.conversationContexts,
    defaults: {
      agentContextId: configuration.agentContext,
      conversationContextId: configuration.conversationContext,
    },
    scopePaths: configuration.scope.paths,
    summaries: {
      whenArchived: configuration.summaries.whenArchived,
      ...(configuration.summaries.model !== null && { model: configuration.summaries.model }),
    },
  };
}
