/**
 * The live state of the page: the newest sessions and everything that waits for a person. It is asked for regularly while the tab is
 * visible, and one place holds it, so that the list, the title, the count and the open conversation agree.
 */
import { computed, signal } from "@preact/signals";
import type { WireApprovals, WireSession } from "../../src/client/client.ts";
import { client, lookAtVersion, signInState, wordsOf } from "./connection.ts";

const visibleEveryMs = 2_500;
const hiddenEveryMs = 20_000;

/** The newest sessions, newest activity first. Null: not loaded. */
export const newest = signal<WireSession[] | null>(null);
export const waiting = signal<WireApprovals["approvals"] | null>(null);
export const liveFault = signal<string | null>(null);
/** The time of the last answer, for what is shown while the server is away. */
export const asOf = signal(Date.now());

export const runningCount = computed(
  () => newest.value?.filter(({ lastTurnStatus }) => lastTurnStatus === "pending").length ?? 0,
);

let timer: ReturnType<typeof setTimeout> | null = null;
let looks = 0;

/** Asks at once, and again regularly, as long as this browser is signed in. */
export async function look(): Promise<void> {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  if (signInState.value !== "in") return;
  try {
    const [{ sessions }, { approvals }] = await Promise.all([
      client.sessions.list({ limit: 50, archived: false }),
      client.approvals(),
    ]);
    newest.value = sessions;
    announce(approvals);
    waiting.value = approvals;
    liveFault.value = null;
    asOf.value = Date.now();
    // A server that was started again may be another version.
    if ((looks += 1) % 10 === 0) await lookAtVersion();
  } catch (error) {
    liveFault.value = wordsOf(error);
  }
  if (timer !== null) clearTimeout(timer);
  timer = setTimeout(() => void look(), document.hidden ? hiddenEveryMs : visibleEveryMs);
}

document.addEventListener("visibilitychange", () => void (document.hidden || look()));
addEventListener("online", () => void look());

/** Shows a notification for what is new, if the person allowed that and looks at something else. */
function announce(approvals: WireApprovals["approvals"]): void {
  const known = waiting.value;
  if (known === null || !document.hidden || !("Notification" in window)) return;
  if (Notification.permission !== "granted") return;
  const fresh = approvals.filter(({ callId }) => !known.some((one) => one.callId === callId));
  for (const { callId, sessionName, name, view } of fresh) {
    const notification = new Notification(`${sessionName} waits for you`, { body: view?.title ?? name, tag: callId });
    notification.addEventListener("click", () => window.focus());
  }
}
