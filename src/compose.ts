/**
 * With compose/ the only place that names a driver. Builds the engine from the configuration, with any part replaced that
 * the caller brings (Y1). Drivers are loaded when they are needed, so that a command starts quickly.
 */
import type { BlobStore } from "./blobs/blob-store.ts";
import { configuredWorkspaces, type ConfiguredWorkspaces } from "./compose/configured-workspaces.ts";
import { identitiesOf } from "./compose/identities.ts";
import { keptWorkspaces } from "./compose/kept-workspaces.ts";
import { lazyProviders } from "./compose/lazy-providers.ts";
import { lazyRetrievers } from "./compose/lazy-retrievers.ts";
import { openLive } from "./compose/open-live.ts";
import { openBlobs } from "./compose/open-blobs.ts";
import { sessionToolsOpener } from "./compose/session-tools.ts";
import { startObserving, type Observing } from "./compose/observing.ts";
import { quotasOf } from "./compose/quotas.ts";
import { isAlive, monotonic, thisRunner } from "./compose/this-runner.ts";
import type { AgentContext, ConversationContext } from "./domain/context.ts";
import { modelInfo } from "./domain/models.ts";
import { createEngine } from "./engine/create-engine.ts";
import type { Engine } from "./engine/engine.ts";
import type { EngineDependencies, Providers, WorkspaceSettings } from "./engine/dependencies.ts";
import type { EventLog } from "./live/event-log.ts";
import type { WakeUps } from "./live/wake-ups.ts";
import type { Provider } from "./providers/provider.ts";
import type { RecordStore } from "./records/record-store.ts";
import type { Retriever } from "./retrieval/retriever.ts";
import { observedStore } from "./telemetry/observed-store.ts";
import type { IdentityProvider } from "./identity/identity-provider.ts";
import type { Observer } from "./telemetry/observer.ts";
import type { OpenSessionTools } from "./tools/session-tools.ts";
import type { Tool } from "./tools/tool.ts";
import { aptoveVersion } from "./version.ts";
import type { BindingStore } from "./workspace/binding-store.ts";
import { readContextEntry } from "./configuration/context-entry.ts";
import { mergeLayers, readSharedLayers, type Configuration } from "./configuration/configuration.ts";
import { dataFolderPath, openDataFolder, type DataFolder } from "./configuration/data-folder.ts";
import { pause } from "./system/abort.ts";
import type { OpenedWorkspaces } from "./workspace/opened-workspaces.ts";
import type { TranscriptStore } from "./workspace/transcript-store.ts";
import type { Transcripts } from "./workspace/transcript/transcripts.ts";
import type { WorkspaceStore } from "./workspace/workspace-store.ts";

/** Every field is optional; what is absent comes from the configuration. */
export interface AptoveOptions {
  /** Where the embedded stores and `config.toml` are; absent: the system's place for data (B6). */
  dataDir?: string;
  /** In place of the process's own environment. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Values over all other layers, in the form of `config.toml`, for example `{ provider: "offline" }` (W7). */
  overrides?: Record<string, unknown>;
  records?: RecordStore;
  blobs?: BlobStore;
  log?: EventLog;
  /** In place of those that come with the configured log; beside a `log` of the caller's, absent: none. */
  wakeUps?: WakeUps;
  /** In place of the configured one (H4). */
  identities?: IdentityProvider;
  /** Added to the configured ones; one with the name of a configured one takes its place. */
  providers?: Provider[];
  /** By the names that agent contexts use; one called `local` or `qdrant` takes the place of the configured one. */
  retrievers?: Record<string, Retriever>;
  /** Offered to the model on every turn, and run in this process. */
  tools?: Tool[];
  agentContexts?: AgentContext[];
  conversationContexts?: ConversationContext[];
  /** In place of the folders of the data folder (W1). */
  workspaceStore?: WorkspaceStore;
  /** In place of `bindings.toml` (W2). */
  bindings?: BindingStore;
  /** In place of the files in the workspaces' folders; absent beside a `workspaceStore`: in memory, until the process ends (W4). */
  transcripts?: TranscriptStore;
  /** For what goes wrong behind the scenes; absent: the log, as the configuration says. */
  report?: (message: string, error?: unknown) => void;
  /** True: whoever gave a command reads the log at their terminal, so it has warnings only, as text. */
  isCommand?: boolean;
  /** Takes a line of the log; absent: standard error. */
  writeLog?: (line: string) => void;
  /** Told what begins and ends, beside what the configuration asks for. */
  observer?: Partial<Observer>;
  now?: () => number;
}

export interface Aptove {
  engine: Engine;
  /** What counts where no workspace says otherwise. */
  configuration: Configuration;
  folder: DataFolder;
  /** What is done with workspaces and devices, and what was allowed in them. */
  workspaces(): Promise<OpenedWorkspaces>;
  transcripts(): Promise<Transcripts>;
  /** What counts in a workspace (W7); null: there is none of that id. */
  configured: ConfiguredWorkspaces;
  openSessionTools: OpenSessionTools;
  /** Things about the configuration that are worth saying. */
  warnings: string[];
  /** Who watches; to be closed after the engine. */
  observing: Observing;
  /** For the operator: what goes wrong behind the scenes. */
  report(message: string, error?: unknown): void;
}

export async function createAptove(options: AptoveOptions = {}): Promise<Aptove> {
  const { env = process.env, now = Date.now } = options;
  const folder = openDataFolder(options.dataDir ?? dataFolderPath({ env }));
  const overrides = options.overrides ?? {};
  const brought = (options.providers ?? []).map(({ name }) => name);
  const shared = readSharedLayers({ dataDir: folder.dir, env, overrides, providers: brought });
  const { configuration, warnings } = mergeLayers(shared, null);
  const version = aptoveVersion();
  const observing = await startObserving({ configuration, env, version, now, options });
  const { observer, report } = observing;
  const providers = lazyProviders(configuration.providers, options.providers ?? [], null);
  const settings = settingsFrom(configuration, providers, options);
  const workspaces = keptWorkspaces(options, { folder, now, report });
  const configured = configuredWorkspaces({
    store: async () => (await workspaces.opened()).store,
    shared,
    base: { configuration, settings },
    settle: (own) => settingsFrom(own, lazyProviders(own.providers, options.providers ?? [], providers), options),
  });
  const usual = { provider: configuration.provider, index: configuration.retrieval.store };
  const { records, blobs } = await openStores(options, { configuration, folder, env, observing });
  const live = await openLive({ configuration, folder, report, brought: options });
  const deps: EngineDependencies = {
    ...settings,
    records: observedStore(records, "records", observer),
    blobs: observedStore(blobs, "blobs", observer),
    log: observedStore(live.log, "live", observer),
    ...(live.wakeUps !== undefined && { wakeUps: live.wakeUps }),
    retrievers: new Map(Object.entries({ ...lazyRetrievers({ configuration, folder, env }), ...options.retrievers })),
    tools: options.tools ?? [],
    workspaces: {
      settings: async (id) => (await configured(id))?.settings ?? null,
      ofDevice: async (deviceId) => (await (await workspaces.opened()).workspaces.resolve(deviceId)).id,
      bind: async (deviceId, id) => await (await workspaces.opened()).bindings.bind(deviceId, id),
      standing: async (id) => await (await workspaces.transcripts()).standing(id),
      turnFinished: (id, turn) => workspaces.turnFinished(id, turn),
    },
    readContext: (kind, id, entry) => readContextEntry({ kind, id, entry, ...usual }),
    urls: {
      read: async (url, how) => {
        const { webReader } = await import("./tools/url/web-reader.ts");
        return await webReader({ allowedHosts: configuration.input.allowedUrlHosts }).read(url, how);
      },
    },
    ...identitiesOf(configuration, { brought: options.identities, report }),
    limits: configuration.limits,
    quotas: quotasOf(configuration),
    contextTokens: (model) => modelInfo(model)?.contextTokens ?? null,
    runner: thisRunner(),
    isAlive,
    version,
    now,
    monotonic,
    random: Math.random,
    sleep: pause,
    deadline: (ms) => AbortSignal.timeout(ms),
    observer,
    report,
  };
  return {
    engine: await createEngine(deps),
    configuration,
    folder,
    workspaces: () => workspaces.opened(),
    transcripts: () => workspaces.transcripts(),
    configured,
    openSessionTools: sessionToolsOpener({ configuration, configured, folder, env, version }),
    warnings,
    observing,
    report,
  };
}

/** The caller's own contexts stand in place of the configured ones, in every workspace. */
function settingsFrom(configuration: Configuration, providers: Providers, options: AptoveOptions): WorkspaceSettings {
  return {
    providers,
    agentContexts: options.agentContexts ?? configuration.agentContexts,
    conversationContexts: options.conversationContexts ?? configuration.conversationContexts,
    defaults: {
      agentContextId: configuration.agentContext,
      conversationContextId: configuration.conversationContext,
    },
  };
}

interface Surroundings {
  configuration: Configuration;
  folder: DataFolder;
  env: Readonly<Record<string, string | undefined>>;
  observing: Observing;
}

/** Throws `blobs_foreign` where records that servers share are not those of the blobs. */
async function openStores(
  options: AptoveOptions,
  { configuration, folder, env, observing }: Surroundings,
): Promise<{ records: RecordStore; blobs: BlobStore }> {
  // The records first: where they are of a newer version, nothing else in the folder is touched (B2).
  const records = options.records ?? (await openRecords(configuration, folder, observing));
  try {
    const blobs = options.blobs ?? (await openBlobs(configuration, folder, env));
    const isConfigured = options.records === undefined && options.blobs === undefined;
    if (isConfigured && configuration.records.url !== null) {
      const { checkSameBlobs } = await import("./compose/same-blobs.ts");
      await checkSameBlobs({ records, blobs, report: observing.report });
    }
    return { records, blobs };
  } catch (error) {
    if (options.records === undefined) await records.close();
    throw error;
  }
}

async function openRecords(
  configuration: Configuration,
  folder: DataFolder,
  { metrics }: Observing,
): Promise<RecordStore> {
  const { url, ...settings } = configuration.records;
  if (url === null) {
    const { openSqliteRecords } = await import("./records/sql/sqlite/sqlite.ts");
    return await openSqliteRecords({ file: folder.records });
  }
  const { openPostgresRecords } = await import("./records/sql/postgres/postgres.ts");
  return await openPostgresRecords({ ...settings, url, ...(metrics && { onPool: metrics.watchPool }) });
}
