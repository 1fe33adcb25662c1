/** Fork, run again, make head, pin. What the server refuses is shown as a notice. */
import { signal } from "@preact/signals";
import type { ExecuteRequest } from "../../src/client/client.ts";
import { client, wordsOf } from "../api/connection.ts";
import { look } from "../api/live.ts";
import type { ListedTurn, Thread } from "../api/thread.ts";
import { navigate, pathTo } from "../routes.ts";

export const actionFault = signal<string | null>(null);

async function attempt(action: () => Promise<void>): Promise<void> {
  actionFault.value = null;
  try {
    await action();
  } catch (error) {
    actionFault.value = wordsOf(error);
  }
}

/** Shows the conversation up to the turn. The fork is made with its first instruction, so that none is left behind empty. */
export function forkAt(thread: Thread, turnId: string): void {
  navigate(pathTo("session", { session: thread.id }, { fork: turnId }));
}

/** Returns true if the turn is run again in a session of its own, and not as the new head of this one (T7). */
export function isForkedByRerun(thread: Thread, turn: Pick<ListedTurn, "id" | "sessionId" | "parentId">): boolean {
  const { id, headTurnId } = thread.session.value ?? {};
  const isLast = headTurnId !== undefined && (turn.id === headTurnId || turn.parentId === headTurnId);
  return turn.sessionId !== id || !isLast;
}

export function showTurn(thread: Thread, turnId: string): Promise<void> {
  return attempt(() => thread.show(turnId));
}

export function runAgain(thread: Thread, turnId: string): Promise<void> {
  return attempt(() => startAgain(thread, { rerun: { turnId } }));
}

/** Runs a turn again and opens the session in which it runs. Throws what the server refuses. */
export async function startAgain(thread: Thread, request: ExecuteRequest): Promise<void> {
  const started = await thread.run(request, crypto.randomUUID());
  navigate(pathTo("session", { session: started.sessionId }));
}

export function makeHead(thread: Thread, turnId: string): Promise<void> {
  return attempt(async () => {
    const from = thread.session.value?.headTurnId ?? null;
    await client.sessions.moveHead(thread.id, { from, to: turnId });
    thread.tip.value = null;
    await thread.load();
    await look();
  });
}

/** Names a turn. An empty name takes the former one away. */
export function nameTurn(thread: Thread, turnId: string, name: string): Promise<void> {
  return attempt(async () => thread.takeNames(await client.sessions.nameTurn(thread.id, turnId, name || null)));
}

/** Pins the whole turn. If it, or a passage of it, is pinned, removes these pins. */
export function pinOrUnpin(thread: Thread, turnId: string): Promise<void> {
  return attempt(async () => {
    const pinned = thread.pins.value.filter((pin) => pin.turnId === turnId);
    if (pinned.length === 0) await client.sessions.pin(thread.id, { turnId });
    for (const { id } of pinned) await client.sessions.unpin(thread.id, id);
    thread.pins.value = await client.sessions.pins(thread.id);
  });
}
