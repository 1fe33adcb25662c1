/** Shows a running turn to the client, with the turns that it missed before, and the changes of the session (P1, P4). */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { isoTime } from "../../../domain/ids.ts";
import { modelInfo } from "../../../domain/models.ts";
import type { Usage } from "../../../domain/usage.ts";
import {
  isTerminal,
  type RunFailed,
  type RunFinished,
  type SequencedEvent,
  type TurnEvent,
} from "../../../domain/events.ts";
import type { RunningTurn } from "../../../engine/engine.ts";
import type { AcpClient } from "../client/acp-client.ts";
import type { OpenSession } from "./open-session.ts";
import type { OpenedPorts } from "../ports.ts";
import { replay } from "./replay.ts";
import { TurnFeed } from "./turn-feed.ts";
import { closeWaiting, subagentEndedText, TurnUpdates } from "./turn-updates.ts";

export interface FollowContext {
  opened: OpenedPorts;
  client: AcpClient;
  session: OpenSession;
}

/** Returns the terminal event of the turn, or null if the client has left; the turn then continues without it (R5). */
export async function followTurn(
  following: FollowContext,
  running: RunningTurn,
): Promise<RunFinished | RunFailed | null> {
  const { client, session } = following;
  const feed = new TurnFeed(running.turnId);
  session.feed = feed;
  session.terminals.clear();
  const costs = new SessionCost();
  const updates = new TurnUpdates({
    turnId: running.turnId,
    waiting: session.waiting,
    usage: (step) => costs.after(step),
    live: {
      notices: client.takesNotices,
      terminalOf: (callId) => session.terminals.get(callId) ?? null,
    },
  });
  try {
    const end = await feed.send(watched(following, running.events(client.gone)), {
      updates,
      send: (update) => session.update(update),
      onStart: async (parentTurnId) => {
        await catchUp(following, parentTurnId);
        costs.begin({ model: running.model, spentUsd: await sendName(following, running) });
      },
    });
    if (end === null) return null;
    if (end.type === "run_finished") session.seenTurnId = running.turnId;
    await running.finished;
    return end;
  } finally {
    session.feed = null;
  }
}

/** Yields the events. For each subagent that starts, it sees to it that the client receives a notice when the subagent ends. */
async function* watched(
  following: FollowContext,
  events: AsyncIterable<SequencedEvent>,
): AsyncGenerator<SequencedEvent, void, undefined> {
  for await (const sequenced of events) {
    const { event } = sequenced;
    if (event.type === "subagent_started") void sendSubagentNotice(following, event);
    if (event.type === "subagent_ended") following.session.announcedSubagents.add(event.turnId);
    yield sequenced;
  }
}

/** Sends a notice when the subagent has ended and no prompt is running, unless a turn has shown the end before. Never rejects. */
async function sendSubagentNotice(
  { opened, client, session }: FollowContext,
  { turnId, name }: Extract<TurnEvent, { type: "subagent_started" }>,
): Promise<void> {
  const { announcedSubagents } = session;
  try {
    const events = await opened.engine.turns.events(opened.caller, turnId, { afterSeq: 0, signal: client.gone });
    let end: RunFinished | RunFailed | null = null;
    for await (const { event } of events) if (isTerminal(event)) end = event;
    await session.inOrder(async () => {
      if (end === null || !client.takesNotices || announcedSubagents.delete(turnId)) return;
      const title = subagentEndedText(name, end.type === "run_failed" ? "failed" : "completed");
      await session.update({ sessionUpdate: "notice", severity: "info", title });
    });
  } catch (error) {
    session.report(`the notice about the end of subagent ${turnId} could not be sent`, error);
  }
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
    for await (const update of replay(opened, { turns: missed, waiting, signal: client.gone, onUsage: () => {} })) {
      await session.update(update);
    }
    session.seenTurnId = parentTurnId;
  }
  for (const update of closeWaiting(session.waiting)) await session.update(update);
}

/** Sends the session's name if it has changed: by the first turn (S2) or by a user. Returns the session's cost so far, in US dollars. */
async function sendName({ opened, session }: FollowContext, running: RunningTurn): Promise<number> {
  const found = running.session ?? (await opened.engine.sessions.get(opened.caller, session.facts.id));
  const { name, activeAt, costUsd } = found;
  if (name !== session.name) {
    session.name = name;
    await session.update({ sessionUpdate: "session_info_update", title: name, updatedAt: isoTime(activeAt) });
  }
  return costUsd;
}

/** Counts how full the model's context window is and what the session has cost, after each model call. */
class SessionCost {
  #model = "";
  #spentUsd = 0;

  begin({ model, spentUsd }: { model: string; spentUsd: number }): void {
    this.#model = model;
    this.#spentUsd = spentUsd;
  }

  after(step: Usage): SessionUpdate[] {
    this.#spentUsd += step.costUsd ?? 0;
    return usageUpdate(this.#model, step, this.#spentUsd);
  }
}

/** Returns the usage update. Empty if the model's context window is unknown, because ACP requires its size. */
export function usageUpdate(model: string, { input, output }: Usage, spentUsd: number): SessionUpdate[] {
  const size = modelInfo(model)?.contextTokens;
  if (size === undefined) return [];
  const cost = spentUsd > 0 ? { cost: { amount: spentUsd, currency: "USD" } } : {};
  return [{ sessionUpdate: "usage_update", used: input + output, size, ...cost }];
}
