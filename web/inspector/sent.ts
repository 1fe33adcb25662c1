/** Chunks, files, rules, skills and facts of a turn, by what became of them. Pure. */
import type { WireTurn, WireTurnContext } from "../../src/client/client.ts";

export interface SentItem {
  path: string;
  /** `12–40`. Null: the whole file. */
  lines: string | null;
  sizeBytes: number | null;
  why: string;
  /** The text as the model received it, and its language. Null: it did not, or it is not known. */
  text: SentText | null;
  /** True if a file was left out that another run can send. */
  isAskable: boolean;
}

export interface SentText {
  text: string;
  language: string;
}

/** What another run can send after all. A file that is gone or that changed is no such case. */
const askable: ReadonlySet<string> = new Set(["too_large", "over_budget", "content_missing"]);

const chunkReasons = {
  already_sent: "",
  active_file: "the model has the whole file",
  outdated: "the working copy has another version",
  deleted: "the file does not exist any more",
} as const;

export const skipReasons = {
  too_large: "larger than 100 KB",
  over_budget: "no room in the budget for files",
  content_missing: "its content never came",
  deleted: "it does not exist any more",
  outdated: "it changed; the message says so",
} as const;

export interface SentLists {
  now: SentItem[];
  before: SentItem[];
  out: SentItem[];
}

const plain = { lines: null, sizeBytes: null, why: "", text: null, isAskable: false };

export function listOfSent({ manifest }: WireTurn, context: WireTurnContext | null): SentLists {
  const texts = textsOf(context);
  const lists: SentLists = { now: [], before: [], out: [] };
  for (const { path, startLine, endLine, wasSent, notSentBecause } of manifest.chunks) {
    const lines = `${startLine}–${endLine}`;
    const item = { ...plain, path, lines };
    const why = notSentBecause === undefined ? "there was no room for it" : chunkReasons[notSentBecause];
    if (wasSent) lists.now.push({ ...item, why: "", text: texts.get(`${path}:${startLine}-${endLine}`) ?? null });
    else lists[notSentBecause === "already_sent" ? "before" : "out"].push({ ...item, why });
  }
  for (const { path, sizeBytes, wasSentToLLM, wasTooLargeToSend } of manifest.activeFiles) {
    if (wasTooLargeToSend) continue;
    const item = { ...plain, path, sizeBytes, text: wasSentToLLM ? (texts.get(path) ?? null) : null };
    lists[wasSentToLLM ? "now" : "before"].push(item);
  }
  for (const { path, reason, sizeBytes } of manifest.skippedFiles) {
    lists.out.push({ ...plain, path, sizeBytes, why: skipReasons[reason], isAskable: askable.has(reason) });
  }
  for (const { path, sizeBytes } of manifest.rules?.files ?? []) {
    lists.before.push({ ...plain, path, sizeBytes, why: "rules, in the boot prompt" });
  }
  for (const { path, wasSent, contentHash } of manifest.rules?.changed ?? []) {
    const why = contentHash === "" ? "rules that no longer count" : "changed rules";
    lists[wasSent ? "now" : "before"].push({ ...plain, path, why });
  }
  const { offered = [], wasSent = false, read = [] } = manifest.skills ?? {};
  for (const { path } of read) lists.now.push({ ...plain, path, why: "skill that it read" });
  for (const { path } of offered) {
    const why = "skill, offered by its name";
    lists[wasSent ? "now" : "before"].push({ ...plain, path, why });
  }
  for (const { id, wasSent: isNew } of manifest.facts ?? []) {
    lists[isNew ? "now" : "before"].push({ ...plain, path: id, why: "fact of the memory" });
  }
  return lists;
}

/** The fenced texts of the `[CONTEXT]` block, by path, or by path and lines. */
function textsOf(context: WireTurnContext | null): Map<string, SentText> {
  const block = context?.message.find((text) => text.startsWith("[CONTEXT]")) ?? "";
  const heads = [...block.matchAll(/^=== (?:CHUNK|FILE) \d+ ===$/gm)];
  const texts = new Map<string, SentText>();
  for (const [at, head] of heads.entries()) {
    const part = block.slice(head.index, heads[at + 1]?.index ?? block.length);
    const path = /^Path: (.*?)(?: \(attached\))?$/m.exec(part)?.[1] ?? "";
    const lines = /^Lines: (.*)$/m.exec(part)?.[1];
    const [, , language = "", text = part] = /^(`{3,})([^\n]*)\n([\s\S]*?)\n\1$/m.exec(part) ?? [];
    texts.set(lines === undefined ? path : `${path}:${lines}`, { text, language });
  }
  return texts;
}
