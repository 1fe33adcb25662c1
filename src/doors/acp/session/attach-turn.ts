/**
 * Follows a turn that was running when the client opened the session: a client that was cut off comes back, or another client
 * started the turn (P4). The client can cancel, steer and answer it like a turn of its own prompt.
 */
import { isoTime } from "../../../domain/ids.ts";
import type { RunningNow } from "../../../engine/engine.ts";
import { metaKeys, metaOf } from "../meta.ts";
import { showTurn } from "./follow-turn.ts";
import type { FollowContext } from "./open-session.ts";
import { beginningOf, taken } from "./replay.ts";
import { stopReasonOf } from "./stop-reasons.ts";
import { TurnFeed, type FollowedEnd } from "./turn-feed.ts";
import { closeWaiting } from "./turn-updates.ts";

/**
 * Begins to follow the turn. Resolves when the client has received it so far. `isShown`: false if the client has that part
 * already.
 */
export async function attachTurn(following: FollowContext, running: RunningNow, isShown: boolean): Promise<void> {
  const { opened, client, session } = following;
  const { engine, caller } = opened;
  const { id: turnId, model, parentId } = running.turn;
  const leaving = new AbortController();
  const signal = AbortSignal.any([leaving.signal, client.gone]);
  session.seenTurnId = parentId ?? session.seenTurnId;
  if (isShown) {
    const beginning = beginningOf(await engine.turns.read(caller, turnId), {
      folder: session.facts.folders[0],
      waiting: session.waiting,
    });
    for await (const update of beginning) await session.update(update);
  }
  const events = await engine.turns.events(caller, turnId, { afterSeq: 0, signal });
  const feed = new TurnFeed(turnId);
  const past = { seq: running.seq, isShown };
  const shown = { turnId, model, session: null, past, isOwnPrompt: false, events };
  const end = followToEnd(following, () => showTurn(following, shown, feed)).finally(() => {
    if (session.followed?.turnId === turnId) session.followed = null;
  });
  session.followed = { turnId, isAttached: true, end, detach: () => leaving.abort() };
  await feed.present;
}

/** Never rejects. Null: the client has left, or the end is not known. */
async function followToEnd(
  following: FollowContext,
  show: () => Promise<FollowedEnd | null>,
): Promise<FollowedEnd | null> {
  const { session } = following;
  const waitingBefore = new Set(session.waiting.keys());
  try {
    const end = await show();
    if (end === null) return null;
    for (const update of closeWaiting(taken(session.waiting, waitingBefore))) await session.update(update);
    await sendEnd(following, end);
    return end;
  } catch (error) {
    session.report("the running turn could not be followed to its end", error);
    return null;
  }
}

/** Tells the client that the turn has ended. ACP has no message for a turn that no prompt of the client began. */
async function sendEnd({ opened, session }: FollowContext, end: FollowedEnd): Promise<void> {
  const { activeAt } = await opened.engine.sessions.get(opened.caller, session.facts.id);
  const meta = metaOf({ [metaKeys.stopReason]: stopReasonOf(end) ?? "failed" });
  await session.update({ sessionUpdate: "session_info_update", updatedAt: isoTime(activeAt), ...meta });
}
