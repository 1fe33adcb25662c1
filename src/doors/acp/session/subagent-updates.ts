/**
 * Shows a subagent while it works (A1), to a client that announces `subagents`: as a session of its own below the session that
 * started it. Any other client gets a notice when the subagent has ended. This part of the protocol is not stable yet.
 */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { SessionUpdate as UnstableUpdate } from "@agentclientprotocol/sdk/unstable";
import { isTerminal, type RunFailed, type RunFinished, type TurnEvent } from "../../../domain/events.ts";
import type { FollowContext } from "./open-session.ts";
import { stopReasonOf } from "./stop-reasons.ts";
import { subagentEndedText, TurnUpdates } from "./turn-updates.ts";

export type SubagentStarted = Extract<TurnEvent, { type: "subagent_started" }>;

/** Follows a subagent of the session's agent to its end. Never rejects. */
export async function followSubagent(following: FollowContext, started: SubagentStarted): Promise<void> {
  const { client, session } = following;
  const { turnId, name } = started;
  try {
    const end = await follow(following, { started, parentId: session.facts.id });
    await session.inOrder(async () => {
      if (end === null || !client.takesNotices || session.announcedSubagents.delete(turnId)) return;
      const title = subagentEndedText(name, end.type === "run_failed" ? "failed" : "completed");
      await session.update({ sessionUpdate: "notice", severity: "info", title });
    });
  } catch (error) {
    session.report(`subagent ${turnId} could not be followed to its end`, error);
  }
}

interface Child {
  started: SubagentStarted;
  /** The session, or the subagent that started this one. */
  parentId: string;
}

async function follow(following: FollowContext, child: Child): Promise<RunFinished | RunFailed | null> {
  const { opened, client, session } = following;
  const { turnId, subagentId } = child.started;
  const signal = AbortSignal.any([client.gone, session.closing]);
  const events = await opened.engine.turns.events(opened.caller, turnId, { afterSeq: 0, signal });
  const updates = childUpdates(turnId, client.showsCompactions);
  const isShown = client.takesSubagents;
  const show = async (sessionId: string, shown: readonly SessionUpdate[]): Promise<void> => {
    for (const update of isShown ? shown : []) await client.update(sessionId, update);
  };
  await show(child.parentId, [announced(child.started, { state: "running" })]);
  await show(subagentId, [messageTo(child)]);
  let end: RunFinished | RunFailed | null = null;
  for await (const { event } of events) {
    if (isTerminal(event)) end = event;
    if (isShown && event.type === "subagent_started") {
      void follow(following, { started: event, parentId: subagentId }).catch((error: unknown) =>
        session.report(`subagent ${event.turnId} could not be followed to its end`, error),
      );
    }
    await show(subagentId, updates.of(event));
  }
  const stopReason = end === null ? null : stopReasonOf(end);
  if (end !== null) {
    const state = { state: "idle" as const, ...(stopReason !== null && { stopReason }) };
    await show(child.parentId, [announced(child.started, state)]);
  }
  return end;
}

/** Returns the updates for the turn of a subagent, which no client runs or answers. */
function childUpdates(turnId: string, showsCompactions: boolean): TurnUpdates {
  return new TurnUpdates({
    turnId,
    waiting: new Map(),
    showsCompactions,
    usage: () => [],
    live: { notices: false, isOwnPrompt: false, isOwnSteer: () => false, terminalOf: () => null },
  });
}

type StateOfChild = NonNullable<Extract<UnstableUpdate, { sessionUpdate: "subagent_update" }>["state"]>;

/** Returns the update that names a subagent on the session that started it. Without a state: it is from an earlier turn. */
export function announced({ subagentId, name }: SubagentStarted, state: StateOfChild | null): SessionUpdate {
  return unstable({
    sessionUpdate: "subagent_update",
    sessionId: subagentId,
    title: name,
    ...(state !== null && { state }),
  });
}

function messageTo({ started: { turnId, subagentId, instruction }, parentId }: Child): SessionUpdate {
  return unstable({
    sessionUpdate: "session_message",
    messageId: `${turnId}:instruction`,
    senderSessionId: parentId,
    recipientSessionId: subagentId,
    content: [{ type: "text", text: instruction }],
  });
}

/** The stable types do not have these updates yet. Only a client that announced them receives them. */
function unstable(update: UnstableUpdate): SessionUpdate {
  return update as SessionUpdate;
}
