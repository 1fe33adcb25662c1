/** Ctrl-C and the stop signals of one command: the first signal asks it to stop, the second ends it at once. */
import type { SignalSource, StopSignal } from "./ports.ts";

export interface StopListener {
  /** Aborts at the first signal. */
  first: AbortSignal;
  /** Rejects at the second signal. Race it with the work. */
  second: Promise<never>;
  /** Stops listening. */
  release(): void;
}

/** Thrown at the second signal: running work is left as it is. */
export class StoppedAtOnce extends Error {}

const stopSignals: StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

export function listenForStop(signals: SignalSource): StopListener {
  const first = new AbortController();
  const second = Promise.withResolvers<never>();
  // At that moment the promise may have no handler yet.
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
