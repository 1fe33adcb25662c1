/** Loads a value and keeps what is known about it, for views that show each state. */
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { codeOf, wordsOf } from "./connection.ts";

export interface Failed {
  words: string;
  code: string;
}

/** `value` stays while it is loaded again, and after a failure: the page keeps what it had. */
export interface Loaded<T> {
  value: Signal<T | null>;
  failed: Signal<Failed | null>;
  load(): Promise<void>;
}

function loaded<T>(read: () => Promise<T>): Loaded<T> {
  const value: Signal<T | null> = signal<T | null>(null);
  const failed = signal<Failed | null>(null);
  const load = (): Promise<void> => attempted(failed, async () => void (value.value = await read()));
  return { value, failed, load };
}

/** Reads, and keeps why it failed, for the view that shows it. A read that succeeds takes that away. Never rejects. */
export async function attempted(failed: Signal<Failed | null>, read: () => Promise<void>): Promise<void> {
  try {
    await read();
    failed.value = null;
  } catch (error) {
    failed.value = { words: wordsOf(error), code: codeOf(error) };
  }
}

/** Loads the value when the view appears, and again whenever the key changes. */
export function useLoaded<T>(key: string, read: () => Promise<T>): Loaded<T> {
  const made = useMemo(() => loaded(read), [key]);
  useEffect(() => void made.load(), [made]);
  return made;
}
