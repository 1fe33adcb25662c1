/** The sessions of a workspace. Each continues the last one (W3), or the transcript that a person edited (W5). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { Session } from "../../domain/session.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { SessionStart, WorkspaceSessions } from "../engine.ts";
import { importConversation } from "../turn/import-conversation.ts";
import type { EngineDependencies, WorkspaceParts } from "../dependencies.ts";
import { ownsWorkspaces, unknownWorkspace } from "../access/access.ts";
import { createSession } from "./sessions.ts";
import { mayWrite, visibleSession } from "../access/visible.ts";

export function workspaceSessions(core: EngineCore): Omit<WorkspaceSessions, "memory" | "workspaces"> {
  return {
    begin: (caller, start) => begin(core, caller, start),
    import: async (caller, start) => (await importConversation(core, caller, start)).session,
  };
}

type BegunSession = Awaited<ReturnType<WorkspaceSessions["begin"]>>;

async function begin(
  core: EngineCore,
  caller: Caller,
  { fresh, ...start }: Parameters<WorkspaceSessions["begin"]>[1],
): Promise<BegunSession> {
  mayWrite(caller);
  const { workspaceId } = start;
  const workspaces = await knownWorkspaces(core.deps, caller, workspaceId);
  if (fresh === true) return { session: await createSession(core.deps, caller, start), warnings: [] };
  await core.transcriber.written(workspaceId);
  const beginning = await workspaces.nextBeginning(workspaceId);
  const { warnings } = beginning;
  switch (beginning.kind) {
    case "empty":
      return { session: await createSession(core.deps, caller, start), warnings };
    case "session":
      return await continueSession(core, caller, { start, sessionId: beginning.sessionId, warnings });
    case "edited": {
      const { session, transcribed } = await importConversation(core, caller, {
        ...start,
        messages: beginning.messages,
      });
      await beginning.adopt(transcribed);
      // This session continues the imported one, which keeps the content of the file.
      return await continueSession(core, caller, { start, sessionId: session.id, warnings });
    }
  }
}

/** Returns the workspaces. Throws `workspace_unknown` if this one does not exist, or if the caller may not use it. */
export async function knownWorkspaces(
  { workspaces }: EngineDependencies,
  caller: Caller,
  workspaceId: string,
): Promise<WorkspaceParts> {
  const isHis = workspaces !== undefined && ownsWorkspaces(caller);
  if (isHis && (await workspaces.settings(workspaceId)) !== null) return workspaces;
  throw unknownWorkspace(workspaceId);
}

interface SessionToContinue {
  start: SessionStart;
  sessionId: string;
  warnings: string[];
}

/** Creates a fork at the session's head. It costs nothing and has the whole history (K1). */
async function continueSession(
  core: EngineCore,
  caller: Caller,
  { start, sessionId, warnings }: SessionToContinue,
): Promise<BegunSession> {
  const last = await lastSession(core, caller, sessionId);
  const head = last?.headTurnId ?? last?.originTurnId ?? null;
  if (head !== null) return { session: await createSession(core.deps, caller, { ...start, forkOf: head }), warnings };
  const session = await createSession(core.deps, caller, start);
  return { session, warnings: [...warnings, `the session ${sessionId} no longer exists; this session begins empty`] };
}

async function lastSession(core: EngineCore, caller: Caller, sessionId: string): Promise<Session | null> {
  try {
    return await visibleSession(core.deps, caller, sessionId);
  } catch (error) {
    if (error instanceof AptoveError && error.code === "not_found") return null;
    throw error;
  }
}
