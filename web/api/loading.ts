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
  const load = async (): Promise<void> => {
    try {
      value.value = await read();
      failed.value = null;
    } catch (error) {
      failed.value = { words: wordsOf(error), code: codeOf(error) };
    }
  };
  return { value, failed, load };
}

/** Loads the value when the view appears, and again whenever the key changes. */
export function useLoaded<T>(key: string, read: () => Promise<T>): Loaded<T> {
  const made = useMemo(() => loaded(read), [key]);
  useEffect(() => void made.load(), [made]);
  return made;
}
