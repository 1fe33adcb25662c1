/** Builds the ports of the ACP door from the parts of aptove. */
import type { Aptove } from "../compose.ts";
import type { Caller } from "../domain/caller.ts";
import { modelFamily, modelInfo, modelsOf } from "../domain/models.ts";
import type { ChoosableModel } from "../doors/acp/ports.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { missingKey, settingsWithKeys } from "../configuration/configured-providers.ts";
import type { Provider } from "../providers/provider.ts";
import type { MissingKey, OpenedPorts, SessionChoices } from "../doors/acp/agent.ts";

export interface AcpPortsRequest {
  caller: Caller;
  /** The workspace for a client that names no device. Null: `default`. */
  workspaceId: string | null;
}

export async function openAcpPorts(aptove: Aptove, { caller, workspaceId }: AcpPortsRequest): Promise<OpenedPorts> {
  const { engine, configured, openSessionTools } = aptove;
  const { workspaces, permissions } = await aptove.workspaces();
  const read: ReadModels = new Map();
  return {
    engine,
    caller,
    permissions,
    openSessionTools,
    workspaces: {
      ofDevice: async (deviceId) => {
        // The first user who names a device owns it, so that no other user reaches its workspace by guessing its id (P2).
        await engine.devices.resolve(caller, deviceId);
        return (await workspaces.resolve(deviceId)).id;
      },
      standard: async () =>
        (workspaceId === null ? await workspaces.resolve(null) : await workspaces.use(workspaceId)).id,
      exists: async (id) => (await configured(id)) !== null,
      choices: async (id) => await choicesOf(aptove, { caller, workspaceId: id, read }),
      missingKey: async (id) => await missingKeyOf(aptove, { caller, workspaceId: id }),
    },
  };
}

async function missingKeyOf(
  { engine, configured }: Aptove,
  { caller, workspaceId }: { caller: Caller; workspaceId: string },
): Promise<MissingKey | null> {
  const own = await configured(workspaceId);
  if (own === null) return null;
  const { configuration, settings } = own;
  const { agentContexts } = await engine.contexts.known(caller, workspaceId);
  const provider = agentContexts.find(({ id }) => id === configuration.agentContext)?.provider ?? null;
  if (provider === null || [...settings.providers.keys()].includes(provider)) return null;
  const variable = missingKey(configuration.providers, provider);
  return variable === null ? null : { provider, variable };
}

/** The models of a workspace's providers, once they were read. A session does not wait for them. */
type ReadModels = Map<string, readonly ChoosableModel[]>;

async function choicesOf(
  { engine, configured, configuration }: Aptove,
  { caller, workspaceId, read }: { caller: Caller; workspaceId: string; read: ReadModels },
): Promise<SessionChoices> {
  const contexts = await engine.contexts.known(caller, workspaceId);
  const own = await configured(workspaceId);
  const windowOf = (model: string): number | null => windowIn(own?.configuration ?? configuration, model);
  const known = read.get(workspaceId);
  const readAll = async (): Promise<readonly ChoosableModel[]> => {
    const models = await engine.contexts.models(caller, workspaceId);
    read.set(workspaceId, models);
    return models;
  };
  if (known !== undefined) {
    // The next session gets what the providers offer by then. This one keeps what it has.
    void readAll().catch(() => known);
    return { ...contexts, models: known, allModels: null, windowOf };
  }
  const providers = own?.settings.providers;
  const isOffered = (name: string): boolean =>
    name !== "offline" || contexts.agentContexts.some(({ provider }) => provider === name);
  const found = await Promise.all([...(providers?.keys() ?? [])].filter(isOffered).map((name) => providers?.get(name)));
  const models = found.flatMap((provider) => (provider === undefined ? [] : knownModels(provider)));
  return { ...contexts, models, allModels: () => readAll().catch(() => models), windowOf };
}

function windowIn({ providers }: Configuration, model: string): number | null {
  const names = [model, modelFamily(model)];
  const windows = settingsWithKeys(providers).flatMap(({ contextTokens }) =>
    names.flatMap((name) => contextTokens[name] ?? []),
  );
  return windows[0] ?? modelInfo(model)?.contextTokens ?? null;
}

function knownModels({ name, defaultModel, contextTokens }: Provider): ChoosableModel[] {
  return [...new Set([defaultModel, ...modelsOf(name)])].map((model) => {
    const info = modelInfo(model);
    return {
      provider: name,
      model,
      contextTokens: contextTokens?.(model) ?? info?.contextTokens ?? null,
      price: info?.price ?? null,
    };
  });
}
