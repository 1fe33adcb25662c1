/** Turns sessions into their wire form, with the current names of their contexts that the caller may see. */
import type { Caller } from "../../../domain/caller.ts";
import type { Session } from "../../../domain/session.ts";
import type { Engine } from "../../../engine/engine.ts";
import { toWireSession, type WireSession } from "../../../protocol/session.ts";

export interface SessionWriter {
  one(caller: Caller, session: Session): Promise<WireSession>;
  all(caller: Caller, sessions: readonly Session[]): Promise<WireSession[]>;
}

export function sessionWriter({ contexts }: Engine): SessionWriter {
  const writeFor = async (caller: Caller): Promise<(session: Session) => WireSession> => {
    const { agentContexts, conversationContexts } = await contexts.known(caller, null);
    const agents = new Map(agentContexts.map(({ id, name }) => [id, name]));
    const conversations = new Map(conversationContexts.map(({ id, name }) => [id, name]));
    return (session) => toWireSession(session, { agents, conversations });
  };
  return {
    one: async (caller, session) => (await writeFor(caller))(session),
    all: async (caller, sessions) => sessions.map(await writeFor(caller)),
  };
}
