/** Turns sessions into their wire form, with the current names of their contexts that the caller may see. */
import assert from "node:assert/strict";
import type { Caller } from "../../../domain/caller.ts";
import type { Session } from "../../../domain/session.ts";
import type { Engine } from "../../../engine/engine.ts";
import { toWireSession, type WireSession } from "../../../protocol/session.ts";
import { turnOutcome } from "../../../protocol/turn.ts";

export interface SessionWriter {
  one(caller: Caller, session: Session): Promise<WireSession>;
  all(caller: Caller, sessions: readonly Session[]): Promise<WireSession[]>;
}

export function sessionWriter({ contexts, sessions: { summaries, lastTurns } }: Engine): SessionWriter {
  const writeAll = async (caller: Caller, sessions: readonly Session[]): Promise<WireSession[]> => {
    const { agentContexts, conversationContexts } = await contexts.known(caller, null);
    const agents = new Map(agentContexts.map(({ id, name }) => [id, name]));
    const conversations = new Map(conversationContexts.map(({ id, name }) => [id, name]));
    const ids = sessions.map(({ id }) => id);
    const [newest, last] = await Promise.all([summaries.newestOf(caller, ids), lastTurns(caller, sessions)]);
    const summaryOf = new Map(newest.map((summary) => [summary.sessionId, summary]));
    const lastOf = new Map(last.map((turn) => [turn.sessionId, turn]));
    const names = { agents, conversations };
    return sessions.map((session) => {
      const lastTurn = lastOf.get(session.id);
      return toWireSession(session, names, {
        summary: summaryOf.get(session.id) ?? null,
        lastTurnStopReason: lastTurn === undefined ? null : turnOutcome(lastTurn).stopReason,
        hasUncountedTokens: lastTurn !== undefined && "run" in lastTurn && lastTurn.run.usage.isPartial === true,
      });
    });
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
