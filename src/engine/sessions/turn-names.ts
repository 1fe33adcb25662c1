/** Names turns, and lists the names (U5). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { oneLine } from "../../domain/one-line.ts";
import type { Session } from "../../domain/session.ts";
import { continuableSession, visibleSession } from "../access/visible.ts";
import type { TurnNames } from "../api/turn-names.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";

export function turnNames(core: EngineCore): TurnNames {
  return {
    list: async (caller, sessionId) => (await visibleSession(core.deps, caller, sessionId)).turnNames,
    set: (caller, sessionId, { turnId, name }) => setName(core, caller, { sessionId, turnId, name }),
  };
}

async function setName(
  core: EngineCore,
  caller: Caller,
  { sessionId, turnId, name }: { sessionId: string; turnId: string; name: string | null },
): ReturnType<TurnNames["set"]> {
  const { records, now } = core.deps;
  const session = await continuableSession(core.deps, caller, sessionId);
  const change = { turnId, depth: await depthOf(core, session, turnId), name: name === null ? null : cleaned(name) };
  const updated = await records.sessions.update(sessionId, { turnName: change }, now());
  if (updated === null) throw new AptoveError("not_found", `there is no session ${JSON.stringify(sessionId)}`);
  const stored = updated.turnNames.find((one) => one.turnId === turnId);
  if ((stored?.name ?? null) === change.name) return updated.turnNames;
  throw new AptoveError(
    "request_invalid",
    `${limits.turnNamesPerSessionMax} turns of the session have a name; take one away`,
  );
}

/** A name is one line, so that a list of turns can show it. */
function cleaned(name: string): string {
  const line = oneLine(name);
  if (line !== "" && line.length <= limits.turnNameCharactersMax) return line;
  throw new AptoveError("request_invalid", `a name has 1 to ${limits.turnNameCharactersMax} characters`);
}

/** Returns the depth of a turn. The same answer for every other turn shows nothing of other sessions (H4). */
async function depthOf({ deps, histories }: EngineCore, session: Session, turnId: string): Promise<number> {
  const turn = await deps.records.turns.get(turnId);
  if (turn?.sessionId === session.id) return turn.depth;
  const { entries } = await histories.state(session.originTurnId);
  const entry = entries.find((one) => one.turnId === turnId);
  if (entry !== undefined) return entry.depth;
  throw new AptoveError("not_found", `turn ${JSON.stringify(turnId)} is neither of this session nor above it`);
}
