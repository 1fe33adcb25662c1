/** Shows a running turn to the client, with the turns that it missed before, and the changes of the session (P1, P4). */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { isoTime } from "../../../domain/ids.ts";
import type { Usage } from "../../../domain/usage.ts";
import type { SequencedEvent } from "../../../domain/events.ts";
import type { RunningTurn } from "../../../engine/engine.ts";
import type { FollowContext } from "./open-session.ts";
import { replay } from "./replay.ts";
import { followSubagent } from "./subagent-updates.ts";
import { TurnFeed, type FeedTarget, type FollowedEnd } from "./turn-feed.ts";
import { TurnQuestions } from "./turn-questions.ts";
import { closeWaiting, TurnUpdates } from "./turn-updates.ts";

/** A turn that is shown while it runs. */
export interface ShownTurn {
  turnId: string;
  model: string;
  events: AsyncIterable<SequencedEvent>;
  /** The session at the start of the turn. Null: it is read. */
  session: RunningTurn["session"];
  /** What had happened before the client began to follow. */
  past: FeedTarget["past"];
  /** True if a prompt of this client runs the turn. */
  isOwnPrompt: boolean;
}

/** Shows the turn of a prompt. Returns its terminal event, or null if the client has left; the turn then continues without it (R5). */
export async function followTurn(following: FollowContext, running: RunningTurn): Promise<FollowedEnd | null> {
  const { client } = following;
  const { turnId, session, turn } = running;
  const ended = Promise.withResolvers<FollowedEnd | null>();
  following.session.followed = { turnId, isAttached: false, end: ended.promise, detach: () => {} };
  const past = { seq: 0, isShown: true };
  const shown = { turnId, model: turn.model, session, past, isOwnPrompt: true, events: running.events(client.gone) };
  try {
    const end = await showTurn(following, shown, new TurnFeed(turnId));
    ended.resolve(end);
    if (end !== null) await running.finished;
    return end;
  } finally {
    following.session.followed = null;
    ended.resolve(null);
  }
}

/** Sends the events of the turn to the client, and asks it about the calls that need permission. */
export async function showTurn(
  following: FollowContext,
  shown: ShownTurn,
  feed: TurnFeed,
): Promise<FollowedEnd | null> {
  const { client, session } = following;
  session.feed = feed;
  session.terminals.clear();
  const costs = new SessionCost();
  const updates = new TurnUpdates({
    turnId: shown.turnId,
    waiting: session.waiting,
    showsCompactions: client.showsCompactions,
    usage: (step) => costs.after(step),
    live: {
      notices: client.takesNotices,
      isOwnPrompt: shown.isOwnPrompt,
      isOwnSteer: (text) => session.takeOwnSteer(text),
      terminalOf: (callId) => session.terminals.get(callId) ?? null,
    },
  });
  try {
    const end = await feed.send(shown.events, {
      updates,
      questions: questionsOf(following, shown.turnId),
      past: shown.past,
      send: (update) => session.update(update),
      onEvent: (event) => {
        if (event.type === "subagent_started") void followSubagent(following, event);
        if (event.type === "subagent_ended") session.announcedSubagents.add(event.turnId);
      },
      onStart: async (parentTurnId) => {
        if (shown.isOwnPrompt) await catchUp(following, parentTurnId);
        costs.begin({
          size: session.facts.options.windowOf(shown.model),
          spentUsd: await sendName(following, shown.session),
        });
      },
    });
    if (end !== null && (await becameHead(following, shown.turnId, end))) session.seenTurnId = shown.turnId;
    return end;
  } finally {
    session.feed = null;
  }
}

function questionsOf({ opened, client, session, report }: FollowContext, turnId: string): TurnQuestions {
  const { engine, caller, permissions } = opened;
  return new TurnQuestions({
    client,
    session,
    turnId,
    permissions,
    report,
    answer: (callId, answer) =>
      engine.turns.answerQuestion(caller, {
        turnId,
        callId,
        ...answer,
      }),
  });
}

/** Returns true if the next turn continues from this one. A failed turn is the head if it had done something (T12). */
async function becameHead({ opened, session }: FollowContext, turnId: string, end: FollowedEnd): Promise<boolean> {
  if (end.type === "run_finished") return true;
  return (await opened.engine.sessions.get(opened.caller, session.facts.id)).headTurnId === turnId;
}

/** Shows the turns that other doors added since the client last saw the session, and closes the calls that can no longer be answered. */
async function catchUp({ opened, client, session }: FollowContext, parentTurnId: string | null): Promise<void> {
  const seen = session.seenTurnId;
  if (parentTurnId !== null && parentTurnId !== seen) {
    const turns = await opened.engine.turns.lineage(opened.caller, parentTurnId);
    const known = turns.findIndex((turn) => turn.id === seen);
    // The head was moved to a branch that the client has never seen, so there is no turn to continue the display from.
    const missed = seen !== null && known === -1 ? [] : turns.slice(known + 1);
    const { waiting } = session;
    const [folder] = session.facts.folders;
    for await (const update of replay(opened, {
      turns: missed,
      folder,
      client,
      waiting,
      signal: client.gone,
      onUsage: () => {},
    })) {
      await session.update(update);
    }
    session.seenTurnId = parentTurnId;
  }
  for (const update of closeWaiting(session.waiting)) await session.update(update);
}

/** Sends the session's name if it has changed: by the first turn (S2) or by a user. Returns the session's cost so far, in US dollars. */
async function sendName({ opened, session }: FollowContext, atStart: RunningTurn["session"]): Promise<number> {
  const found = atStart ?? (await opened.engine.sessions.get(opened.caller, session.facts.id));
  const { name, activeAt, costUsd } = found;
  if (name !== session.name) {
    session.name = name;
    await session.update({ sessionUpdate: "session_info_update", title: name, updatedAt: isoTime(activeAt) });
  }
  return costUsd;
}

/** Counts how full the model's context window is and what the session has cost, after each model call. */
class SessionCost {
  #size: number | null = null;
  #spentUsd = 0;

  begin({ size, spentUsd }: { size: number | null; spentUsd: number }): void {
    this.#size = size;
    this.#spentUsd = spentUsd;
  }

  after(step: Usage): SessionUpdate[] {
    this.#spentUsd += step.costUsd ?? 0;
    return usageUpdate(this.#size, step, this.#spentUsd);
  }
}

/** Returns the usage update. Empty if the model's context window is unknown, because ACP requires its size. */
export function usageUpdate(size: number | null, { input, output }: Usage, spentUsd: number): SessionUpdate[] {
  // An attempt that failed before the provider counted anything does not empty the window.
  if (size === null || input + output === 0) return [];
  const cost = spentUsd > 0 ? { cost: { amount: spentUsd, currency: "USD" } } : {};
  return [{ sessionUpdate: "usage_update", used: input + output, size, ...cost }];
}
