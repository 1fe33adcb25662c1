/** A component in a file of its own, which is loaded when it is needed first. */
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { FailedState, Loading } from "./states.tsx";

/** `Of` is null until the file is there. Meanwhile `waiting` is to be shown: it says if the file could not be loaded, and tries again. */
export function useLate<P>(load: () => Promise<ComponentType<P>>): {
  Of: ComponentType<P> | null;
  waiting: ComponentChildren;
} {
  const [view, setView] = useState<{ Of: ComponentType<P> } | null>(null);
  const [hasFailed, setFailed] = useState(false);
  const get = (): void => {
    setFailed(false);
    void load().then(
      (Of) => setView({ Of }),
      () => setFailed(true),
    );
  };
  useEffect(get, []);
  const waiting = hasFailed ? (
    <FailedState failed={{ words: "This part of the page could not be loaded.", code: "" }} retry={get} />
  ) : (
    <Loading />
  );
  return { Of: view?.Of ?? null, waiting };
}
