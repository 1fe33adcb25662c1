/**
 * The connection to the server: the typed client with this browser's sign-in, and what every answer tells about it. The secret
 * of the page is in this origin's storage; the other half is a cookie that no script can read.
 */
import { computed, signal } from "@preact/signals";
import { sawTime, serverNow } from "./clock.ts";
import { AptoveApiError, createClient, type WireMe, type WireSignIn } from "../../src/client/client.ts";

import { keepAttempt, redirectUri, takeAnswer } from "./identity.ts";

const storageKey = "aptove.page";

type SignInState = "unknown" | "out" | "in";

export const signInState = signal<SignInState>("unknown");
export const me = signal<WireMe | null>(null);
/** The time since which the server does not answer. Null: it answers. */
export const offlineSince = signal<number | null>(null);
/** The last time at which a request failed or the network was lost, by a clock that never jumps. */
let lostAt = 0;
/** Why this browser was signed out, for the sign-in view. */
export const signedOutBecause = signal("");
/** True while a proxy between the server and this browser holds streams back until they end. Then the page asks instead. */
export const streamsAreHeld = signal(false);
/** The version of the server when this page was loaded. */
let loadedVersion: string | null = null;
/** True if another version answers now, or if files of this page are gone. Only loading the page again helps. */
export const hasNewVersion = signal(false);

export const isAdmin = computed(() => me.value?.role === "admin" && me.value.deviceId === null);
export const mayWrite = computed(() => me.value !== null && me.value.role !== "reader");

export const client = createClient({
  url: location.origin,
  // What reads a stream here goes on by itself, and says so meanwhile.
  retries: 0,
  pageSecret: () => localStorage.getItem(storageKey),
  fetch: async (request) => {
    const sentAt = performance.now();
    try {
      const response = await fetch(request);
      // The answer to a request from before the network was lost says nothing about now.
      if (sentAt >= lostAt) offlineSince.value = null;
      sawTime(response.headers.get("date"));
      if (response.status === 401) signedOut("Your sign-in has ended.");
      return response;
    } catch (error) {
      if (!request.signal.aborted) lost();
      throw error;
    }
  },
});

function lost(): void {
  lostAt = performance.now();
  offlineSince.value ??= serverNow();
}

function signedOut(because: string): void {
  if (signInState.value === "in") signedOutBecause.value = because;
  signInState.value = "out";
  me.value = null;
}

/** Signs in with what the address carries, else with what this browser has. */
export async function connect(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) {
    history.replaceState(null, "", location.pathname + location.search);
    if (await signIn({ code }).then(() => true, explainRefusal)) return;
  }
  const answered = takeAnswer();
  if (answered !== null && (await signInWith(answered.identity))) return;
  if (localStorage.getItem(storageKey) === null) {
    signInState.value = "out";
    return;
  }
  await loadMe().catch(() => {
    if (offlineSince.value !== null) setTimeout(() => void connect(), 2_000);
  });
}

/** An address that was used before does no harm to a browser that is signed in. */
function explainRefusal(error: unknown): false {
  signedOutBecause.value = wordsOf(error);
  return false;
}

async function signInWith(identity: WireSignIn["identity"] | null): Promise<boolean> {
  if (identity === null || identity === undefined) {
    signedOutBecause.value = "This sign-in was begun in another tab, or was finished before. Sign in again.";
    return false;
  }
  return await signIn({ identity }).then(() => true, explainRefusal);
}

/** Leaves the page for the identity provider, which sends the browser back. */
export async function signInAtProvider(): Promise<void> {
  const { address, ...attempt } = await client.page.begin({ redirectUri });
  keepAttempt(attempt);
  location.assign(address);
}

export async function signIn(proof: Omit<WireSignIn, "name"> & { name?: string }): Promise<void> {
  const { pageSecret } = await client.page.signIn({ name: browserName(), ...proof });
  localStorage.setItem(storageKey, pageSecret);
  await loadMe();
  signedOutBecause.value = "";
}

export async function signOut(): Promise<void> {
  await client.page.signOut();
  localStorage.removeItem(storageKey);
  signInState.value = "out";
  me.value = null;
}

async function loadMe(): Promise<void> {
  me.value = await client.me();
  signInState.value = "in";
  await lookAtVersion();
}

addEventListener("offline", lost);

/** Another tab may have signed this browser in or out. */
addEventListener("storage", ({ key, newValue }) => {
  if (key !== storageKey) return;
  if (newValue === null) signedOut("You signed out in another tab.");
  else if (signInState.value === "out") void loadMe().catch(() => undefined);
});

/** Asks which version the server has. A page of another version says so once. */
export async function lookAtVersion(): Promise<void> {
  sawVersion((await client.health()).version);
}

export function sawVersion(version: string): void {
  loadedVersion ??= version;
  if (version !== loadedVersion) hasNewVersion.value = true;
}

/** Asks whether the server's page still has the files of this one, after one of them could not be loaded. Never rejects. */
export async function lookAtFiles(): Promise<void> {
  const own = document.querySelector("script[src]")?.getAttribute("src") ?? "";
  // Of a server that is away, nothing is known.
  const page = await fetch("/", { headers: { accept: "text/html" } }).catch(() => null);
  if (page?.ok === true && !(await page.text()).includes(own)) hasNewVersion.value = true;
}

/** The name of this browser in the list of browsers, for example `Chrome on Linux`. */
export function browserName(): string {
  const agent = navigator.userAgent;
  // Each also names what it is compatible with, so the first that is found anywhere counts: Edge is Chrome too, and Android Linux.
  const named = (all: readonly string[]): string | undefined => all.find((one) => agent.includes(one));
  const browser = named(["Firefox", "Edg", "OPR", "Chrome", "Safari"]) ?? "a browser";
  const system = named(["Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux"]) ?? "an unknown system";
  const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", "Mac OS X": "macOS" };
  return `${names[browser] ?? browser} on ${names[system] ?? system}`;
}

/** Returns what a person should read about a failure: what happened, and the code by which the documentation names it. */
export function wordsOf(error: unknown): string {
  if (error instanceof AptoveApiError) {
    return error.code === "unreachable" ? "The server does not answer." : `${error.message} (${error.code})`;
  }
  return error instanceof Error ? error.message : String(error);
}

/** Returns true if a stream was given up because nothing arrived. */
export function isSilence(error: unknown): boolean {
  return error instanceof AptoveApiError && "silenceMs" in error.facts;
}

export function codeOf(error: unknown): string {
  return error instanceof AptoveApiError ? error.code : "";
}
