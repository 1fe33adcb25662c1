/** What a person has typed and not sent, by session or by another name. It survives a reload of the tab. */
import { signal, type Signal } from "@preact/signals";

const drafts = new Map<string, Signal<string>>();

export function draftOf(name: string | null): Signal<string> {
  const key = `aptove.draft.${name ?? "new"}`;
  const known = drafts.get(key);
  if (known !== undefined) return known;
  const draft = signal(sessionStorage.getItem(key) ?? "");
  draft.subscribe((text) => keep(key, text));
  drafts.set(key, draft);
  return draft;
}

/** A browser may have no room for a very long text, which then lives as long as the page is open. */
const keptCharactersMax = 1_000_000;

function keep(key: string, text: string): void {
  if (text === "" || text.length > keptCharactersMax) sessionStorage.removeItem(key);
  else sessionStorage.setItem(key, text);
}
