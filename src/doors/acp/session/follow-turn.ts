/** Shows a running turn to the client, with what it missed before, and what the turn changed of its session (P1, P4). */
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
import type { Client } from "../client/client.ts";
import type { OpenSession } from "./open-session.ts";
import type { OpenedPorts } from "../ports.ts";
import { replay } from "./replay.ts";
import { TurnFeed } from "./turn-feed.ts";
import { closeWaiting, endedWords, TurnUpdates } from "./turn-updates.ts";

export interface Following {
  opened: OpenedPorts;
  client: Client;
  session: OpenSession;
}

/** Gives how the turn ended; null: the client is gone, and the turn goes on without it (R5). */
export async function followTurn(following: Following, running: RunningTurn): Promise<RunFinished | RunFailed | null> {
  const { client, session } = following;
  const feed = new TurnFeed(running.turnId);
  session.feed = feed;
  session.terminals.clear();
  const costs = new Costs();
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
        costs.begin({ model: running.model, spentUsd: await tellName(following, running) });
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

/** The events as they come; of each subagent that begins its end is told, here or later. */
async function* watched(
  following: Following,
  events: AsyncIterable<SequencedEvent>,
): AsyncGenerator<SequencedEvent, void, undefined> {
  for await (const sequenced of events) {
    const { event } = sequenced;
    if (event.type === "subagent_started") void tellLater(following, event);
    if (event.type === "subagent_ended") following.session.toldSubagents.add(event.turnId);
    yield sequenced;
  }
}

/** Once no prompt is answered any more, unless a turn told of it meanwhile. Never rejects. */
async function tellLater(
  { opened, client, session }: Following,
  { turnId, name }: Extract<TurnEvent, { type: "subagent_started" }>,
): Promise<void> {
  const { toldSubagents } = session;
  try {
    const events = await opened.engine.turns.events(opened.caller, turnId, { afterSeq: 0, signal: client.gone });
    let end: RunFinished | RunFailed | null = null;
    for await (const { event } of events) if (isTerminal(event)) end = event;
    await session.inLine(async () => {
      if (end === null || !client.takesNotices || toldSubagents.delete(turnId)) return;
      const title = endedWords(name, end.type === "run_failed" ? "failed" : "completed");
      await session.update({ sessionUpdate: "notice", severity: "info", title });
    });
  } catch (error) {
    session.report(`the end of the subagent ${turnId} could not be told`, error);
  }
}

/** What other doors did in the session since the client last saw it, and the calls that nobody can answer any more. */
async function catchUp({ opened, client, session }: Following, parentTurnId: string | null): Promise<void> {
  const seen = session.seenTurnId;
  if (parentTurnId !== null && parentTurnId !== seen) {
    const turns = await opened.engine.turns.lineage(opened.caller, parentTurnId);
    const known = turns.findIndex((turn) => turn.id === seen);
    // Somebody moved the head to where the client has never been: there is no place to go on from.
    const missed = seen !== null && known === -1 ? [] : turns.slice(known + 1);
    const { waiting } = session;
    for await (const update of replay(opened, { turns: missed, waiting, signal: client.gone, onUsage: () => {} })) {
      await session.update(update);
    }
    session.seenTurnId = parentTurnId;
  }
  for (const update of closeWaiting(session.waiting)) await session.update(update);
}

/** The session is named by its first turn (S2), or by somebody meanwhile. Gives what it has cost so far. */
async function tellName({ opened, session }: Following, running: RunningTurn): Promise<number> {
  const found = running.session ?? (await opened.engine.sessions.get(opened.caller, session.facts.id));
  const { name, activeAt, costUsd } = found;
  if (name !== session.name) {
    session.name = name;
    await session.update({ sessionUpdate: "session_info_update", title: name, updatedAt: isoTime(activeAt) });
  }
  return costUsd;
}

/** How full the model's window is, and what the session has cost, after each model call. */
class Costs {
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

/** Empty where the model's window is not known: ACP has no word for that. */
export function usageUpdate(model: string, { input, output }: Usage, spentUsd: number): SessionUpdate[] {
  const size = modelInfo(model)?.contextTokens;
  if (size === undefined) return [];
  const cost = spentUsd > 0 ? { cost: { amount: spentUsd, currency: "USD" } } : {};
  return [{ sessionUpdate: "usage_update", used: input + output, size, ...cost }];
}
