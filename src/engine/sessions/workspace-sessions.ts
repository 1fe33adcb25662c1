/** Sessions as a workspace has them: each goes on where the last one was (W3), or with what a person wrote (W5). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { Session } from "../../domain/session.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { SessionStart, WorkspaceSessions } from "../engine.ts";
import { importConversation } from "../turn/import-conversation.ts";
import type { EngineDependencies, WorkspaceParts } from "../dependencies.ts";
import { ownsWorkspaces } from "../access/access.ts";
import { createSession } from "./sessions.ts";
import { mayWrite } from "../access/visible.ts";
import { visibleSession } from "../access/visible.ts";

export function workspaceSessions(core: EngineCore): WorkspaceSessions {
  return {
    begin: (caller, start) => begin(core, caller, start),
    import: async (caller, start) => (await importConversation(core, caller, start)).session,
  };
}

type Begun = Awaited<ReturnType<WorkspaceSessions["begin"]>>;

async function begin(
  core: EngineCore,
  caller: Caller,
  { fresh, ...start }: Parameters<WorkspaceSessions["begin"]>[1],
): Promise<Begun> {
  mayWrite(caller);
  const { workspaceId } = start;
  const workspaces = await knownWorkspaces(core.deps, caller, workspaceId);
  if (fresh === true) return { session: await createSession(core.deps, caller, start), warnings: [] };
  await core.transcriber.written(workspaceId);
  const standing = await workspaces.standing(workspaceId);
  const { warnings } = standing;
  switch (standing.kind) {
    case "empty":
      return { session: await createSession(core.deps, caller, start), warnings };
    case "session":
      return await goOn(core, caller, { start, sessionId: standing.sessionId, warnings });
    case "edited": {
      const { session, transcribed } = await importConversation(core, caller, {
        ...start,
        messages: standing.messages,
      });
      await standing.adopt(transcribed);
      // Below it like below any other: the session that was imported stays what the file said.
      return await goOn(core, caller, { start, sessionId: session.id, warnings });
    }
  }
}

/** Throws `workspace_unknown` where there is none of the id, or none that the caller may know. */
export async function knownWorkspaces(
  { workspaces }: EngineDependencies,
  caller: Caller,
  workspaceId: string,
): Promise<WorkspaceParts> {
  const isHis = workspaces !== undefined && ownsWorkspaces(caller);
  if (isHis && (await workspaces.settings(workspaceId)) !== null) return workspaces;
  throw new AptoveError("workspace_unknown", `there is no workspace ${JSON.stringify(workspaceId)}`);
}

interface GoingOn {
  start: SessionStart;
  sessionId: string;
  warnings: string[];
}

/** A fork at the session's head: it costs nothing, and carries the whole history (K1). */
async function goOn(core: EngineCore, caller: Caller, { start, sessionId, warnings }: GoingOn): Promise<Begun> {
  const last = await lastSession(core, caller, sessionId);
  const head = last?.headTurnId ?? last?.originTurnId ?? null;
  if (head !== null) return { session: await createSession(core.deps, caller, { ...start, forkOf: head }), warnings };
  const session = await createSession(core.deps, caller, start);
  return { session, warnings: [...warnings, `the session ${sessionId} is no longer there; this one begins empty`] };
}

async function lastSession(core: EngineCore, caller: Caller, sessionId: string): Promise<Session | null> {
  try {
    return await visibleSession(core.deps, caller, sessionId);
  } catch (error) {
    if (error instanceof AptoveError && error.code === "not_found") return null;
    throw error;
  }
}
