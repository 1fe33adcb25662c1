/**
 * Builds the engine from the configuration. The caller may replace any part (Y1). Only this file and compose/ name
 * drivers. A driver is loaded when it is first needed, so that a command starts quickly.
 */
import { checkOptions } from "./compose/checks/check-options.ts";
import { configuredWorkspaces, type ConfiguredWorkspaces } from "./compose/configured-workspaces.ts";
import { openStores } from "./compose/data-folder/open-stores.ts";
import { engineModels } from "./compose/engine-parts/engine-models.ts";
import { engineProcess } from "./compose/engine-parts/engine-process.ts";
import { observedStores } from "./compose/engine-parts/engine-stores.ts";
import { quotasOf, unkeptPolicyOf } from "./compose/engine-parts/quotas.ts";
import { settingsFrom, workspaceParts } from "./compose/engine-parts/workspace-parts.ts";
import { identitiesOf } from "./compose/identities.ts";
import { lazyProviders } from "./compose/lazy-providers.ts";
import { lazyWorkspaces } from "./compose/lazy-workspaces.ts";
import { openLive } from "./compose/open-live.ts";
import type { AptoveOptions } from "./compose/options.ts";
import { sessionToolsOpener } from "./compose/session-tools.ts";
import { startTelemetry, type Telemetry } from "./compose/telemetry.ts";
import {
  mergeLayers,
  readSharedLayers,
  type Configuration,
  type LoadedConfiguration,
} from "./configuration/configuration.ts";
import { dataFolderPath, openDataFolder, type DataFolder } from "./configuration/data-folder.ts";
import { createEngine } from "./engine/create-engine.ts";
import type { EngineDependencies } from "./engine/dependencies.ts";
import type { Engine } from "./engine/engine.ts";
import type { OpenSessionTools } from "./tools/session-tools.ts";
import { aptoveVersion } from "./version.ts";
import type { OpenedWorkspaces } from "./workspace/opened-workspaces.ts";
import type { Transcripts } from "./workspace/transcript/transcripts.ts";

/** Its end closes the engine, then the log: `await using aptove = await createAptove()`. */
export interface Aptove extends AsyncDisposable {
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
  checkOptions(options);
  const { env = process.env, now = Date.now, overrides = {}, overridesFrom, providers: given = [] } = options;
  const folder = openDataFolder(options.dataDir ?? dataFolderPath({ env }));
  const shared = readSharedLayers({
    dataDir: folder.dir,
    env,
    overrides,
    ...(overridesFrom !== undefined && { overridesFrom }),
    providers: given.map(({ name }) => name),
  });
  const { configuration, sources, warnings } = mergeLayers(shared, null);
  const version = aptoveVersion();
  const telemetry = await startTelemetry({ configuration, env, version, now, options });
  const { observer, report, redact } = telemetry;
  const providers = lazyProviders(configuration.providers, given, null);
  const settings = settingsFrom(configuration, providers, options);
  const workspaces = lazyWorkspaces(options, { folder, now, report });
  const configured = configuredWorkspaces({
    store: async () => (await workspaces.opened()).store,
    shared,
    base: { configuration, settings },
    settle: (own) => settingsFrom(own, lazyProviders(own.providers, given, providers), options),
  });
  const stores = await openStores(options, { configuration, folder, env, telemetry });
  const live = await openLive({ configuration, folder, report, given: options });
  const models = engineModels(options, { configuration, settings, folder, env });
  const recordsAreEmbedded = configuration.records.url === null;
  const recordsFile = recordsAreEmbedded && options.records === undefined ? folder.records : null;
  const deps: EngineDependencies = {
    ...observedStores(stores, live, observer),
    ...models,
    ...engineProcess({ recordsFile, recordsAreEmbedded, version, now }),
    workspaces: workspaceParts(workspaces, configured),
    ...identitiesOf(configuration, { given: options.identities, report, observer }),
    limits: configuration.limits,
    quotas: quotasOf(configuration),
    unkeptPolicy: unkeptPolicyOf(configuration),
    inspections: async () => {
      const { serverInspections } = await import("./compose/checks/server-inspections.ts");
      const { records, blobs } = stores;
      const retriever = models.retrievers.get(configuration.retrieval.store);
      const inspected = { configuration, folder, env, records, blobs, log: live.log, retriever, configured, redact };
      return serverInspections({ ...inspected, workspaces: () => workspaces.opened() });
    },
    observer,
    report,
  };
  const engine = await createEngine(deps).catch(async (error: unknown) => {
    // A temporary copy of the records goes away with them.
    if (options.records === undefined) await stores.records.close();
    throw error;
  });
  return {
    engine,
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
    [Symbol.asyncDispose]: () => engine.close().finally(() => telemetry.close()),
  };
}
