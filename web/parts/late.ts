/** A part of the page that is a file of its own, and is loaded when it is opened first. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Failed } from "../api/loading.ts";

/** The fault that is shown if the server is away when the part is needed. */
export const notLoaded: Failed = { words: "This part of the page could not be loaded.", code: "" };

interface LatePart<Props> {
  /** Null: it is not loaded. */
  part: { Of: ComponentType<Props> } | null;
  hasFailed: boolean;
  /** Loads it, also again after a failure. */
  get(): void;
}

export function useLate<Props>(load: () => Promise<ComponentType<Props>>): LatePart<Props> {
  const [part, setPart] = useState<LatePart<Props>["part"]>(null);
  const [hasFailed, setFailed] = useState(false);
  const get = (): void => {
    setFailed(false);
    void load().then(
      (Of) => setPart({ Of }),
      () => setFailed(true),
    );
  };
  useEffect(get, []);
  return { part, hasFailed, get };
}
