/** A component in a file of its own, which is loaded when it is needed first. */
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { hasNewVersion, lookAtFiles } from "../api/connection.ts";
import { Empty, FailedState, Loading, Reload } from "./states.tsx";

/**
 * `Of` is null until the file is there. Meanwhile `waiting` is to be shown: it says if the file could not be loaded, and tries again. After
 * an upgrade of the server the file may be gone. Then only loading the page again helps.
 */
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
      () => {
        setFailed(true);
        void lookAtFiles();
      },
    );
  };
  useEffect(get, []);
  const failed = { words: "This part of the page could not be loaded.", code: "" };
  const waiting = !hasFailed ? (
    <Loading />
  ) : hasNewVersion.value ? (
    <Empty action={<Reload />}>The server has a new version, which does not have this part of the page any more.</Empty>
  ) : (
    <FailedState failed={failed} retry={get} />
  );
  return { Of: view?.Of ?? null, waiting };
}
