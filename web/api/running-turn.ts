/** A turn that this tab follows: its events, drawn at most once a frame, over as many connections as it takes. */
import { type Signal, signal } from "@preact/signals";
import { isTerminalEvent, type AgUiEvent } from "../../src/client/client.ts";
import { client, codeOf, wordsOf } from "./connection.ts";
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
    try {
      const from = after === undefined ? {} : { after };
      for await (const { id, event } of client.events(turnId, { ...from, signal: stopping })) {
        after = id;
        pauseMs = 250;
        take(event);
      }
      return;
    } catch (error) {
      if (stopping.aborted) return;
      if (finalCodes.has(codeOf(error))) {
        failed.value = wordsOf(error);
        return;
      }
      await pause(pauseMs, stopping);
    }
  }
}

/** Waits, but not longer than until the browser is online again. */
function pause(ms: number, stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener("online", done);
      stopping.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    stopping.addEventListener("abort", done);
  });
}
