/** The turns that "Ask several" has started. They stay while a person looks at a comparison and comes back. */
import { signal, type Signal } from "@preact/signals";
import { AptoveApiError, type ExecuteRequest, type WireTurnSummary } from "../../src/client/client.ts";
import { client, wordsOf } from "../api/connection.ts";
import { look } from "../api/live.ts";
import { pause } from "../api/pause.ts";
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

/** Aborts when other questions are asked. */
let leaving = new AbortController();

/** Starts all at once. One that is refused says so at its place, and holds none of the others. */
export function askAll(place: string, questions: readonly Omit<Asked, "state">[]): void {
  for (const { state } of asked.value.all) if (state.value.kind === "started") state.value.followed.stop();
  leaving.abort();
  leaving = new AbortController();
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
    state.value = { ...started, end: await endOf(turnId, leaving.signal) };
    void look();
  } catch (error) {
    if (state.value.kind === "starting") state.value = { kind: "refused", words: wordsOf(error) };
  }
}

const askedAgainMs = 1_000;

/** Reads how the turn has ended. A server that is away is asked again. Null: other questions were asked meanwhile. */
async function endOf(turnId: string, stopping: AbortSignal): Promise<WireTurnSummary | null> {
  while (!stopping.aborted) {
    try {
      return await client.turns.summary(turnId);
    } catch (error) {
      if (!(error instanceof AptoveApiError && error.retryable)) throw error;
    }
    await pause(askedAgainMs, stopping);
  }
  return null;
}
