/**
 * Sends a turn that a recovery ended to the transcript of its workspace (W4). The caller of the turn is gone: who made it
 * is read from the records. If that is not certain, the next turn of the session writes this one too.
 */
import { runsTheServer, type Caller } from "../../domain/caller.ts";
import type { HistoryItem } from "../../domain/history.ts";
import { limits } from "../../domain/limits.ts";
import type { Session } from "../../domain/session.ts";
import type { FailedTurn } from "../../domain/turn.ts";
import { knownContexts } from "../contexts/known-contexts.ts";
import { settingsOf } from "../contexts/resolve-contexts.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { transcribe } from "./end/transcribe.ts";

interface LostToTranscribe {
  turn: FailedTurn;
  session: Session | null;
  items: readonly HistoryItem[];
}

/** Gives the turn to the transcript, if a person who owns the workspaces made it. Never rejects. */
export async function transcribeLost(core: EngineCore, { turn, session, items }: LostToTranscribe): Promise<void> {
  if (turn.workspaceId === null || turn.kind !== "agent" || core.deps.workspaces === undefined) return;
  try {
    const caller = await ownerWhoMade(core, turn);
    if (caller === null) return;
    transcribe(core, { turn, session, items, bootPrompt: await bootPromptOf(core, caller, turn) });
  } catch (error) {
    core.deps.report(`the lost turn ${turn.id} is not in the transcript of its workspace yet`, error);
  }
}

/**
 * Returns the caller of a turn as one who owns the workspaces. Null if it was another one (W1), or may have been: a key can
 * have fewer rights than its user, and the turn does not say with which key it was requested.
 */
async function ownerWhoMade({ deps }: EngineCore, { createdBy }: FailedTurn): Promise<Caller | null> {
  const user = await deps.records.people.getUser(createdBy);
  if (user === null) return null;
  const caller: Caller = { orgId: user.orgId, userId: user.id, role: user.role };
  if (!runsTheServer(caller)) return null;
  const keys = await deps.records.keys.list({ orgId: user.orgId, userId: user.id, limit: limits.pageSizeMax });
  const isCertain =
    keys.length < limits.pageSizeMax && keys.every(({ roleMax }) => roleMax === null || roleMax === "admin");
  return isCertain ? caller : null;
}

/** Returns the boot prompt of the turn's context. Empty if there is no such context any more. */
async function bootPromptOf({ deps }: EngineCore, caller: Caller, turn: FailedTurn): Promise<string> {
  const known = await knownContexts(deps, caller, await settingsOf(deps, caller, turn.workspaceId));
  const context = known.conversationContexts.find(({ id }) => id === turn.manifest.conversationContext.id);
  return context?.bootPrompt ?? "";
}
