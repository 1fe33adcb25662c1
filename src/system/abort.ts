/** Waits that a signal or a time limit can end. Listeners and timers that are no longer needed are removed. */

/** Calls the listener when the signal aborts, or at once if it has. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => undefined;
  }
  signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

/** Resolves when the signal aborts. Its listener stays on the signal until then. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve));
}

/**
 * Settles as the work does, or rejects with the signal's reason if it aborts first. The work continues then, and its
 * result is dropped, an error too. Work that has settled already counts, even if the signal has aborted.
 */
export async function unlessAborted<T>(work: T | PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const remove = onAbort(signal, () => reject(signal.reason));
  try {
    return await Promise.race([work, aborted]);
  } finally {
    remove();
  }
}

/** Settles as the work does, or resolves to null after `ms` milliseconds. The work continues then, and its result is dropped. */
export async function withinMs<T>(ms: number, work: T | PromiseLike<T>): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves after `ms` milliseconds, or when the signal aborts. Never rejects. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const remove = signal === undefined ? null : onAbort(signal, resolve);
  await promise;
  clearTimeout(timer);
  remove?.();
}

/** Returns a signal that aborts when the first of the signals does, with its reason. Absent signals are left out. */
export function anySignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}
