/** A turn that this tab follows: its events, drawn at most once a frame, over as many connections as it takes. */
import { type Signal, signal } from "@preact/signals";
import { isTerminalEvent, type AgUiEvent } from "../../src/client/client.ts";
import { client, codeOf, isSilence, streamsAreHeld, wordsOf } from "./connection.ts";
import { pause } from "./pause.ts";
import { emptyView, withEvent, type TurnView } from "./turn-view.ts";

export interface FollowedTurn {
  view: Signal<TurnView>;
  /** Why the stream cannot be read. Null: it can, or it is tried again. */
  failed: Signal<string | null>;
  /** Resolves when the turn has ended, or when it is no longer followed. */
  ended: Promise<void>;
  stop(): void;
}

/** Refusals after which another attempt gives the same. */
const finalCodes = new Set(["not_found", "unauthenticated", "forbidden", "blob_missing", "blob_damaged"]);
const longestPauseMs = 5_000;
/** A turn has events from its beginning, so the first ones come at once. Later a heartbeat is the least that comes. */
const firstMs = 5_000;
const betweenMs = 40_000;
/** How often the events so far are asked for while a proxy holds streams back. */
const heldEveryMs = 1_000;

/** Follows a turn from its first event. A turn that has ended is read in one go. */
export function followTurn(turnId: string): FollowedTurn {
  const view = signal(emptyView);
  const failed = signal<string | null>(null);
  const stopping = new AbortController();
  const arrived: AgUiEvent[] = [];
  let frame = 0;
  const draw = (): void => {
    frame = 0;
    view.value = arrived.splice(0).reduce(withEvent, view.value);
  };
  const take = (event: AgUiEvent): void => {
    arrived.push(event);
    // A hidden tab has no frames, and must not pile up events for hours.
    if (document.hidden || isTerminalEvent(event)) draw();
    else frame ||= requestAnimationFrame(draw);
  };
  const ended = readAll({ turnId, take, failed, signal: stopping.signal }).finally(draw);
  return { view, failed, ended, stop: () => stopping.abort() };
}

interface Reading {
  turnId: string;
  take(event: AgUiEvent): void;
  failed: Signal<string | null>;
  signal: AbortSignal;
}

async function readAll({ turnId, take, failed, signal: stopping }: Reading): Promise<void> {
  let after: string | undefined;
  for (let pauseMs = 250; !stopping.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const isHeld = streamsAreHeld.value;
    const how = isHeld
      ? ({ until: "now" } as const)
      : { firstMs: after === undefined ? firstMs : betweenMs, betweenMs };
    try {
      const from = after === undefined ? {} : { after };
      for await (const { id, event } of client.events(turnId, { ...from, ...how, signal: stopping })) {
        after = id;
        pauseMs = 125;
        take(event);
        if (isTerminalEvent(event)) return;
      }
      if (!isHeld) return;
      pauseMs = heldEveryMs;
    } catch (error) {
      if (stopping.aborted) return;
      if (finalCodes.has(codeOf(error))) {
        failed.value = wordsOf(error);
        return;
      }
      if (isSilence(error) && after === undefined) {
        streamsAreHeld.value = true;
        continue;
      }
    }
    await pause(pauseMs, stopping);
  }
}
