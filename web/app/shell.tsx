/** The frame of every view: sign-in first, then the sessions beside what the address names. */
import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { hasNewVersion, me, offlineSince, signInState } from "../api/connection.ts";
import { asOf, look, runningCount, waiting } from "../api/live.ts";
import { SessionList } from "../sessions/session-list.tsx";
import { route } from "../routes.ts";
import { timeOfDay } from "../parts/numbers.ts";
import { Loading, Reload } from "../parts/states.tsx";
import { Navigation } from "./navigation.tsx";
import { listenForKeys, Palette } from "./palette.tsx";
import { spoken, Status } from "./status.tsx";
import { Late, View } from "./view.tsx";

/** The title and the icon's count say when something waits, also while another tab is in front. */
effect(() => {
  const waits = waiting.value?.length ?? 0;
  document.title = waits > 0 ? `(${waits}) aptove` : runningCount.value > 0 ? "● aptove" : "aptove";
  const badge = navigator as { setAppBadge?(count: number): Promise<void>; clearAppBadge?(): Promise<void> };
  void (waits > 0 ? badge.setAppBadge?.(waits) : badge.clearAppBadge?.())?.catch(() => undefined);
  if (waits > 0) spoken.value = `${waits} ${waits === 1 ? "call waits" : "calls wait"} for you`;
});

export function Shell() {
  useEffect(() => listenForKeys(), []);
  useEffect(() => {
    if (signInState.value === "in") void look();
  }, [signInState.value]);
  if (signInState.value === "unknown") {
    return (
      <main class="starting">
        {offlineSince.value === null ? <Loading /> : <p role="alert">The server does not answer. Trying again …</p>}
      </main>
    );
  }
  if (signInState.value === "out")
    return <Late key="sign-in" load={async () => (await import("./sign-in.tsx")).SignIn} />;
  return (
    <div class="shell">
      <a class="skip" href="#view">
        Skip to the content
      </a>
      <Banner />
      <Navigation />
      <Places />
      <Status />
      <Palette />
    </div>
  );
}

const narrow = matchMedia("(max-width: 899px)");
const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", ({ matches }) => (isNarrow.value = matches));

/** Shows the sessions beside the view where there is room. A phone shows one of them. */
function Places() {
  const { name, query } = route.value;
  if (!isNarrow.value) {
    return (
      <>
        <aside class="side" aria-label="Sessions">
          <SessionList />
        </aside>
        <View />
      </>
    );
  }
  if (name !== "sessions" || query.has("new")) return <View />;
  return (
    <main class="side" id="view" tabIndex={-1}>
      <h1 class="spoken">Sessions</h1>
      <SessionList />
    </main>
  );
}

function Banner() {
  if (offlineSince.value !== null) {
    return (
      <p class="banner wait" role="status">
        As of {timeOfDay(asOf.value)}; reconnecting …
      </p>
    );
  }
  if (!hasNewVersion.value)
    return me.value?.role === "reader" ? <p class="banner">You may read here, and not change anything.</p> : null;
  return (
    <p class="banner" role="status">
      The server has a new version. <Reload />
    </p>
  );
}
