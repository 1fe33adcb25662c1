/** What the stores of a world hold, read past the simulation. */
import type { Session } from "../../src/domain/session.ts";
import type { PendingTurn, Turn } from "../../src/domain/turn.ts";
import { alice } from "../engine.ts";
import type { Stores } from "./stores.ts";

/** More than any world has. */
export const allOfThem = 10_000;

/** Returns every session, deleted ones too. */
export async function storedSessions({ records }: Stores): Promise<Session[]> {
  const { orgId, userId } = alice;
  const seen = await records.sessions.list({ orgId, userId, limit: allOfThem });
  return [...seen.sessions, ...(await records.sessions.listDeleted({ orgId, userId, limit: allOfThem }))];
}

/** Returns every pending turn, those of subagents too. */
export async function storedPendingTurns(stores: Stores): Promise<PendingTurn[]> {
  const sessions = await storedSessions(stores);
  const turns = await Promise.all(sessions.map(({ id }) => stores.records.turns.list(id, { limit: allOfThem })));
  return turns.flat().filter((turn: Turn) => turn.status === "pending");
}
