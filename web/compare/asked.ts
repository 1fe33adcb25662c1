/** The turns that "Ask several" has started. They stay while a person looks at a comparison and comes back. */
import { signal, type Signal } from "@preact/signals";
import type { ExecuteRequest, WireTurnSummary } from "../../src/client/client.ts";
import { client, wordsOf } from "../api/connection.ts";
import { look } from "../api/live.ts";
import { followTurn, type FollowedTurn } from "../api/running-turn.ts";

export interface Asked {
  label: string;
  request: ExecuteRequest;
  state: Signal<AskedState>;
}

export type AskedState =
  | { kind: "starting" }
  | { kind: "refused"; words: string }
  /** `end` is null until the turn has ended. */
  | { kind: "started"; sessionId: string; turnId: string; followed: FollowedTurn; end: WireTurnSummary | null };

/** What was asked at which place: an address of the view. */
export const asked = signal<{ place: string; all: readonly Asked[] }>({ place: "", all: [] });

/** Starts all at once. One that is refused says so at its place, and holds none of the others. */
export function askAll(place: string, questions: readonly Omit<Asked, "state">[]): void {
  for (const { state } of asked.value.all) if (state.value.kind === "started") state.value.followed.stop();
  const all = questions.map((question): Asked => ({ ...question, state: signal<AskedState>({ kind: "starting" }) }));
  asked.value = { place, all };
  for (const one of all) void start(one);
}

export async function start({ request, state }: Asked): Promise<void> {
  state.value = { kind: "starting" };
  try {
    const { sessionId, turnId } = await client.start(request);
    const followed = followTurn(turnId);
    const started = { kind: "started" as const, sessionId, turnId, followed };
    state.value = { ...started, end: null };
    void look();
    await followed.ended;
    state.value = { ...started, end: await client.turns.summary(turnId) };
    void look();
  } catch (error) {
    if (state.value.kind === "starting") state.value = { kind: "refused", words: wordsOf(error) };
  }
}
