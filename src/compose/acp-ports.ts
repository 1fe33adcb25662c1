/** Builds the ports of the ACP door from the parts of aptove. */
import type { Aptove } from "../compose.ts";
import type { Caller } from "../domain/caller.ts";
import { modelsOf } from "../domain/models.ts";
import type { OpenedPorts, SessionChoices } from "../doors/acp/agent.ts";

export interface AcpPortsRequest {
  caller: Caller;
  /** The workspace for a client that names no device. Null: `default`. */
  workspaceId: string | null;
}

export async function openAcpPorts(aptove: Aptove, { caller, workspaceId }: AcpPortsRequest): Promise<OpenedPorts> {
  const { engine, configured, openSessionTools } = aptove;
  const { workspaces, permissions } = await aptove.workspaces();
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
      choices: async (id) => await choicesOf(aptove, { caller, workspaceId: id }),
    },
  };
}

async function choicesOf(
  { engine, configured }: Aptove,
  { caller, workspaceId }: { caller: Caller; workspaceId: string },
): Promise<SessionChoices> {
  const own = (await configured(workspaceId))?.settings;
  return {
    ...(await engine.contexts.known(caller, workspaceId)),
    models: async (name) => {
      const provider = await own?.providers.get(name);
      return provider === undefined ? [] : [provider.defaultModel, ...modelsOf(name)];
    },
  };
}
