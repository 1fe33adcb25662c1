/** Lists, makes and deletes workspaces, and reads and changes what each keeps besides its sessions (W1, W5, W6, P4). */
import type { AuditAction } from "../../domain/audit.ts";
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { TranscriptText } from "../../domain/transcript.ts";
import type { BoundWorkspace, ManagedWorkspaces } from "../../domain/workspace.ts";
import { noDevice, noReader, operatorOnly, ownsWorkspaces, ownWorkspace, unknownWorkspace } from "../access/access.ts";
import { audited } from "../access/audit.ts";
import type { EngineDependencies } from "../dependencies.ts";
import type { ListedWorkspace, WorkspaceRegistry, WorkspaceStart } from "../engine.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";

export function workspaceRegistry(core: EngineCore): WorkspaceRegistry {
  const { deps } = core;
  /** Waits until what ended a moment ago is in the transcript and counts as a use. */
  const settled = async (caller: Caller, workspaceId: string): Promise<ManagedWorkspaces> => {
    const managed = await managedFor(deps, caller, workspaceId);
    await core.transcriber.written(workspaceId);
    return managed;
  };
  return {
    list: async (caller) => {
      if (!ownsWorkspaces(caller) || deps.workspaces?.managed === undefined) return [];
      const managed = await deps.workspaces.managed();
      await core.transcriber.writtenAll();
      const found = await managed.workspaces.listBound();
      const { workspaceId } = caller;
      const shown = workspaceId === undefined ? found : found.filter(({ id }) => id === workspaceId);
      return await Promise.all(shown.map((workspace) => listed(managed, workspace)));
    },
    get: async (caller, id) => {
      const managed = await settled(caller, id);
      const found = (await managed.workspaces.listBound()).find((workspace) => workspace.id === id);
      if (found === undefined) throw unknownWorkspace(id);
      return await listed(managed, found);
    },
    create: (caller, start) => create(deps, caller, start),
    delete: async (caller, { workspaceId, unusedSince }) => {
      noReader(caller, "delete a workspace");
      const { workspaces } = await settled(caller, workspaceId);
      noDevice(caller, "delete a workspace");
      const isRunning = (id: string): Promise<boolean> => hasRunningTurn(deps, caller, id);
      const body = (): Promise<void> => workspaces.delete(workspaceId, { isRunning, unusedSince });
      await recorded(deps, caller, { action: "workspace.delete", workspaceId, body });
    },
    permissions: async (caller, workspaceId) =>
      await (await managedFor(deps, caller, workspaceId)).permissions.list(workspaceId),
    forgetPermission: async (caller, { workspaceId, key }) => {
      noReader(caller, "change the permissions of a workspace");
      const { permissions } = await managedFor(deps, caller, workspaceId);
      const body = async (): Promise<void> => {
        if (await permissions.forget(workspaceId, key)) return;
        throw new AptoveError("not_found", `${JSON.stringify(key)} is not allowed in the workspace ${workspaceId}`);
      };
      await recorded(deps, caller, { action: "permission.forget", workspaceId, body });
    },
    transcript: async (caller, workspaceId) => {
      const { workspaces, transcripts } = await settled(caller, workspaceId);
      await workspaces.find(workspaceId);
      return await transcripts.read(workspaceId);
    },
    correctTranscript: async (caller, { workspaceId, ...correction }) => {
      noReader(caller, "correct a transcript");
      const { transcripts } = await settled(caller, workspaceId);
      const body = (): Promise<TranscriptText> => transcripts.correct(workspaceId, correction);
      return await recorded(deps, caller, { action: "transcript.correct", workspaceId, body });
    },
  };
}

/** Returns the workspaces if this one exists for the caller as far as access goes. */
async function managedFor(
  { workspaces }: EngineDependencies,
  caller: Caller,
  workspaceId: string,
): Promise<ManagedWorkspaces> {
  ownWorkspace(caller, workspaceId);
  if (workspaces?.managed === undefined) throw unknownWorkspace(workspaceId);
  return await workspaces.managed();
}

async function listed({ transcripts }: ManagedWorkspaces, workspace: BoundWorkspace): Promise<ListedWorkspace> {
  if (workspace.damage !== null) return { ...workspace, transcript: null };
  try {
    return { ...workspace, transcript: await transcripts.show(workspace.id) };
  } catch (error) {
    // The other workspaces are listed although this one was written by a newer version.
    if (error instanceof AptoveError && error.code === "data_newer") {
      return { ...workspace, damage: error.detail, transcript: null };
    }
    throw error;
  }
}

async function create(deps: EngineDependencies, caller: Caller, start: WorkspaceStart): Promise<ListedWorkspace> {
  operatorOnly(caller, "make workspaces");
  const { provider } = start;
  const known = [...deps.providers.keys()];
  if (provider !== undefined && !known.includes(provider)) {
    const detail = `there is no provider ${JSON.stringify(provider)}; they are: ${known.join(", ")}`;
    throw new AptoveError("provider_unknown", detail);
  }
  const managed = await deps.workspaces?.managed?.();
  if (managed === undefined) throw new AptoveError("request_invalid", "this server has no workspaces");
  const target = ({ id }: ListedWorkspace): string => id;
  return await audited(deps, { by: caller, action: "workspace.create", target }, async () =>
    listed(managed, { ...(await managed.workspaces.create(start)), devices: [] }),
  );
}

interface Recorded<T> {
  action: AuditAction;
  workspaceId: string;
  body: () => Promise<T>;
}

async function recorded<T>(
  deps: EngineDependencies,
  by: Caller,
  { action, workspaceId, body }: Recorded<T>,
): Promise<T> {
  return await audited(deps, { by, action, target: workspaceId }, body);
}

/** Returns true if a turn of the workspace runs, of any user of the caller's org, on any server. */
async function hasRunningTurn(
  { records }: EngineDependencies,
  { orgId }: Caller,
  workspaceId: string,
): Promise<boolean> {
  for (const turn of await records.turns.listPending()) {
    if (turn.workspaceId !== workspaceId) continue;
    if ((await records.sessions.get(turn.sessionId))?.orgId === orgId) return true;
  }
  return false;
}
