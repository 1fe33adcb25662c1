/** The rule for changes to a session, which all drivers share (S2). */
import { repinned } from "../domain/pin.ts";
import { renamedTurns } from "../domain/turn-name.ts";
import type { Session } from "../domain/session.ts";
import type { SessionChange } from "./sessions.ts";

/** Returns the session with the change. A name that a user set replaces one that the program found, and not the reverse. */
export function changedSession(
  session: Session,
  { proposedName, pins: change, turnName, ...fields }: SessionChange,
): Session {
  const nameIsSet = session.nameIsSet || fields.name !== undefined;
  const name = nameIsSet ? session.name : (proposedName ?? session.name);
  const pins = change === undefined ? session.pins : repinned(session.pins, change);
  const turnNames = turnName === undefined ? session.turnNames : renamedTurns(session.turnNames, turnName);
  return { ...session, name, ...fields, nameIsSet, pins, turnNames };
}
