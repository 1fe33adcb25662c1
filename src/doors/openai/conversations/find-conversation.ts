/** Finds the session of a conversation. A deleted conversation does not exist any more; its session remains for its responses. */
import type { Caller } from "../../../domain/caller.ts";
import type { Session } from "../../../domain/session.ts";
import type { Engine } from "../../../engine/engine.ts";
import { noSuch, unlessHidden } from "../wire-error.ts";
import { sessionOfConversation } from "../wire-ids.ts";

/** The key of a session's metadata that says that its conversation was deleted. */
export const deletedKey = "aptove.dev/conversation-deleted";

export async function findConversation(engine: Engine, caller: Caller, id: string): Promise<Session> {
  const sessionId = sessionOfConversation(id);
  const session = sessionId === null ? null : await engine.sessions.get(caller, sessionId).catch(unlessHidden);
  if (session === null || session.metadata[deletedKey] === true) throw noSuch("Conversation", id);
  return session;
}
