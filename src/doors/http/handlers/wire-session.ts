/** Turns sessions into their wire form, with the current names of their contexts that the caller may see. */
import assert from "node:assert/strict";
import type { Caller } from "../../../domain/caller.ts";
import type { Session } from "../../../domain/session.ts";
import type { Engine } from "../../../engine/engine.ts";
import { toWireSession, type WireSession } from "../../../protocol/session.ts";

export interface SessionWriter {
  one(caller: Caller, session: Session): Promise<WireSession>;
  all(caller: Caller, sessions: readonly Session[]): Promise<WireSession[]>;
}

export function sessionWriter({ contexts, sessions: { summaries } }: Engine): SessionWriter {
  const writeAll = async (caller: Caller, sessions: readonly Session[]): Promise<WireSession[]> => {
    const { agentContexts, conversationContexts } = await contexts.known(caller, null);
    const agents = new Map(agentContexts.map(({ id, name }) => [id, name]));
    const conversations = new Map(conversationContexts.map(({ id, name }) => [id, name]));
    const newest = await summaries.newestOf(
      caller,
      sessions.map(({ id }) => id),
    );
    const summaryOf = new Map(newest.map((summary) => [summary.sessionId, summary]));
    const names = { agents, conversations };
    return sessions.map((session) => toWireSession(session, names, summaryOf.get(session.id) ?? null));
  };
  return {
    one: async (caller, session) => {
      const [wire] = await writeAll(caller, [session]);
      assert(wire !== undefined, "each session has a wire form");
      return wire;
    },
    all: writeAll,
  };
}
