/** Ctrl-C and the stop signals of one command: the first asks it to stop, the second ends it at once. */
import type { SignalSource, StopSignal } from "./ports.ts";

export interface StopListener {
  /** Aborts at the first signal. */
  first: AbortSignal;
  /** Rejects at the second; to be raced with the work. */
  second: Promise<never>;
  /** Stops listening. */
  release(): void;
}

/** The second signal: whatever runs is left where it is. */
export class StoppedAtOnce extends Error {}

const stopSignals: StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

export function listenForStop(signals: SignalSource): StopListener {
  const first = new AbortController();
  const second = Promise.withResolvers<never>();
  // Nobody may be waiting for it at that moment.
  second.promise.catch(() => undefined);
  const onSignal = (): void => {
    if (first.signal.aborted) second.reject(new StoppedAtOnce("stopped"));
    first.abort();
  };
  for (const signal of stopSignals) signals.on(signal, onSignal);
  return {
    first: first.signal,
    second: second.promise,
    release: () => {
      for (const signal of stopSignals) signals.off(signal, onSignal);
    },
  };
}
