/** What a person has typed or attached and not sent, by session or by another name. It survives a reload of the tab. */
import { signal, type Signal } from "@preact/signals";
import type { ExecuteRequest } from "../../src/client/client.ts";
import type { Attachment } from "./attachments.ts";

export interface Draft {
  text: Signal<string>;
  attached: Signal<readonly Attachment[]>;
  /** False: the attached files are too large, and live as long as the page is open. */
  isAttachedKept: Signal<boolean>;
  /** True while what was typed is on its way. A person may leave its field meanwhile, and come back to it. */
  isBusy: Signal<boolean>;
  /** What was sent and not answered. */
  sent: Signal<Sent | null>;
  /** Why it did not arrive. */
  fault: Signal<{ words: string; code: string } | null>;
  /** How many fields show the draft. */
  fields: number;
}

/** A request without the files that came with it. Its key makes it one turn if the person sends it again (T13). */
export interface Sent {
  idempotencyKey: string;
  request: ExecuteRequest;
  files: number;
}

const drafts = new Map<string, Draft>();
/** A browser has room for some five million characters of a tab. */
const textCharactersMax = 1_000_000;
const attachedCharactersMax = 3_000_000;

export function draftOf(name: string | null): Draft {
  const key = `aptove.draft.${name ?? "new"}`;
  const known = drafts.get(key);
  if (known !== undefined) return known;
  const attachedKey = `${key}.attached`;
  const text = signal(sessionStorage.getItem(key) ?? "");
  const attached = signal(JSON.parse(sessionStorage.getItem(attachedKey) ?? "[]") as readonly Attachment[]);
  const sentKey = `${key}.sent`;
  const sent = signal(JSON.parse(sessionStorage.getItem(sentKey) ?? "null") as Sent | null);
  const isAttachedKept = signal(true);
  text.subscribe((words) => void keep(key, words, textCharactersMax));
  attached.subscribe((files) => {
    const kept = files.length === 0 ? "" : JSON.stringify(files);
    isAttachedKept.value = keep(attachedKey, kept, attachedCharactersMax);
  });
  sent.subscribe((one) => void keep(sentKey, one === null ? "" : JSON.stringify(one), textCharactersMax));
  const sending = {
    sent,
    isBusy: signal(false),
    fault: signal<{ words: string; code: string } | null>(null),
    fields: 0,
  };
  const draft: Draft = { text, attached, isAttachedKept, ...sending };
  drafts.set(key, draft);
  return draft;
}

/** Returns true if the text is kept. The text before it is not kept any more in any case. */
function keep(key: string, text: string, charactersMax: number): boolean {
  sessionStorage.removeItem(key);
  if (text.length > charactersMax) return false;
  try {
    if (text !== "") sessionStorage.setItem(key, text);
    return true;
  } catch {
    // The browser has no room left.
    return false;
  }
}
