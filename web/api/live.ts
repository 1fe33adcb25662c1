/**
 * The live state of the page: the newest sessions and everything that waits for a person. One place holds it, so that the list, the
 * title, the count and the open conversation agree. A stream of the server says when it changed. While there is no stream, because
 * the tab is hidden or a proxy does not let streams through, it is asked for regularly.
 */
import { computed, effect, signal } from "@preact/signals";
import type { WireApprovals, WireSession } from "../../src/client/client.ts";
import { serverNow } from "./clock.ts";
import {
  client,
  isSilence,
  lookAtVersion,
  offlineSince,
  sawVersion,
  signInState,
  streamsAreHeld,
  wordsOf,
} from "./connection.ts";
import { pause } from "./pause.ts";

const visibleEveryMs = 2_500;
const hiddenEveryMs = 20_000;
/** The stream is about the newest sessions only, and a clock may have jumped. */
const listeningEveryMs = 60_000;
/** News that come close together are read once. */
const soonMs = 100;
/** The first news come at once. A proxy that holds streams back delivers nothing. */
const firstMs = 5_000;
const heldEveryMs = 60_000;
const longestPauseMs = 5_000;

/** The newest sessions, newest activity first. Null: not loaded. */
export const newest = signal<WireSession[] | null>(null);
export const waiting = signal<WireApprovals["approvals"] | null>(null);
export const liveFault = signal<string | null>(null);
/** The server's time of the last answer, for what is shown while the server is away. */
export const asOf = signal(serverNow());

export const runningCount = computed(
  () => newest.value?.filter(({ lastTurnStatus }) => lastTurnStatus === "pending").length ?? 0,
);

/** The session of the open conversation. It is covered however old it is. Null: none is open. */
export const openedId = signal<string | null>(null);
/** The open session as it was read last, if it is not among the newest. */
export const openedSession = signal<WireSession | null>(null);
const isAmongNewest = (id: string): boolean => newest.value?.some((one) => one.id === id) ?? true;
const uncoveredId = computed(() => (openedId.value === null || isAmongNewest(openedId.value) ? null : openedId.value));

let timer: ReturnType<typeof setTimeout> | null = null;
let due = 0;
let looks = 0;
let looking: Promise<void> | null = null;
let isListening = false;

/** Asks at once, and again regularly, as long as this browser is signed in. What is there when it resolves is no older than the call. */
export async function look(): Promise<void> {
  await looking;
  await (looking ??= lookNow().finally(() => (looking = null)));
}

async function lookNow(): Promise<void> {
  if (signInState.value !== "in") return;
  try {
    const [{ sessions }, { approvals }, opened] = await Promise.all([
      client.sessions.list({ limit: 50, archived: false }),
      client.approvals(),
      readUncovered(),
    ]);
    newest.value = sessions;
    openedSession.value = opened;
    announce(approvals);
    waiting.value = approvals;
    liveFault.value = null;
    asOf.value = serverNow();
    // A server that was started again may be another version. The stream says so by itself.
    if (!isListening && (looks += 1) % 10 === 0) await lookAtVersion();
  } catch (error) {
    liveFault.value = wordsOf(error);
  }
  const hasNews = isListening && offlineSince.value === null;
  lookIn(hasNews ? listeningEveryMs : document.hidden ? hiddenEveryMs : visibleEveryMs);
}

/** What the conversation shows stays if its session cannot be read. */
async function readUncovered(): Promise<WireSession | null> {
  const id = uncoveredId.value;
  return id === null ? null : await client.sessions.get(id).catch(() => null);
}

/** Looks after this time, or earlier if that is planned already. */
function lookIn(ms: number): void {
  const at = Date.now() + ms;
  if (timer !== null && due <= at) return;
  if (timer !== null) clearTimeout(timer);
  due = at;
  timer = setTimeout(() => {
    timer = null;
    void look();
  }, ms);
}

let listening: { stopping: AbortController; sessionId: string | null } | null = null;
/** True if this is the one tab that listens while it is hidden, so that it can notify a person at once. */
let mayListenHidden = false;

/** Listens while the tab is visible. A browser opens few connections to one server, so hidden tabs leave them to others. */
function listenIfSeen(): void {
  const wanted = signInState.value === "in" && (!document.hidden || mayListenHidden);
  const sessionId = uncoveredId.value;
  const isCovered = sessionId === null || listening?.sessionId === sessionId;
  if (wanted ? listening !== null && isCovered : listening === null) return;
  listening?.stopping.abort();
  listening = wanted ? { stopping: new AbortController(), sessionId } : null;
  if (listening !== null) void listen(listening.stopping.signal, sessionId === null ? {} : { sessionId });
}

async function listen(stopping: AbortSignal, opened: { sessionId?: string }): Promise<void> {
  let betweenMs = 2.5 * 15_000;
  for (let pauseMs = 250; !stopping.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const begunAt = performance.now();
    let isQuiet = true;
    let isHeld = false;
    try {
      for await (const news of client.news({ ...opened, signal: stopping, firstMs, betweenMs })) {
        if (news.type === "read_anew") {
          sawVersion(news.version);
          betweenMs = 2.5 * news.heartbeatMs;
        }
        [isQuiet, isListening, streamsAreHeld.value] = [false, true, false];
        lookIn(soonMs);
      }
    } catch (error) {
      isHeld = isQuiet && isSilence(error);
      if (isHeld && !stopping.aborted) streamsAreHeld.value = true;
    }
    isListening = false;
    if (!stopping.aborted) lookIn(visibleEveryMs);
    // A proxy that cuts connections after some time is no reason to wait.
    if (performance.now() - begunAt > longestPauseMs && !isHeld) pauseMs = 125;
    await pause(isHeld ? heldEveryMs : pauseMs, stopping);
  }
}

effect(listenIfSeen);
// A server on the same machine answers without any network.
effect(() => void (offlineSince.value !== null && lookIn(soonMs)));
document.addEventListener("visibilitychange", () => {
  listenIfSeen();
  if (!document.hidden) void look();
});
addEventListener("online", () => void look());
// Only in a secure context. The lock passes to another tab when this one is closed.
void (navigator.locks as LockManager | undefined)?.request("aptove.news", () => {
  mayListenHidden = true;
  listenIfSeen();
  return new Promise<never>(() => undefined);
});

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
