/** What a person has typed and not sent, by session. It survives a reload of the tab. */
import { signal, type Signal } from "@preact/signals";

const drafts = new Map<string, Signal<string>>();

export function draftOf(sessionId: string | null): Signal<string> {
  const key = `aptove.draft.${sessionId ?? "new"}`;
  const known = drafts.get(key);
  if (known !== undefined) return known;
  const draft = signal(sessionStorage.getItem(key) ?? "");
  draft.subscribe((text) => (text === "" ? sessionStorage.removeItem(key) : sessionStorage.setItem(key, text)));
  drafts.set(key, draft);
  return draft;
}
