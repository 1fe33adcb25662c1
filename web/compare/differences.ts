/** The rows of a comparison: only what differs, in the order in which a model reads it. Pure. */
import type { WireTurnDiff } from "../../src/client/client.ts";

export interface Difference {
  what: string;
  left: string;
  right: string;
}

const labels = [
  ["prompt", "boot prompt"],
  ["rules", "rules"],
  ["skills", "skills"],
  ["facts", "memory"],
  ["tools", "tools"],
  ["conversationContext", "context"],
  ["agentContext", "agent context"],
] as const;

export interface Differences {
  rows: Difference[];
  /** Chunks, files, rules, skills and facts, by their place. `left` and `right` say what each side sent. */
  places: Difference[];
  same: string[];
}

export function differencesOf(diff: WireTurnDiff): Differences {
  const { a, b, same } = diff;
  const rows: Difference[] = [];
  const equal: string[] = [];
  const compare = (what: string, left: string, right: string): void => {
    if (left === right) equal.push(what);
    else rows.push({ what, left, right });
  };
  compare("model", `${a.provider} ${a.model}`, `${b.provider} ${b.model}`);
  compare("mode", a.mode, b.mode);
  compare("settings", settingsWords(a.settings), settingsWords(b.settings));
  for (const [key, label] of labels) {
    if (same[key]) equal.push(label);
    else if (!(key in listed)) rows.push({ what: label, left: "one version", right: "another version" });
  }
  compare("place of work", placeWords(a.place), placeWords(b.place));
  const places: Difference[] = [];
  for (const { path, startLine, endLine, change } of diff.chunks) {
    const words = {
      only_a: ["sent", "not sent"],
      only_b: ["not sent", "sent"],
      changed: ["one version", "another version"],
    };
    const [left = "", right = ""] = words[change];
    places.push({ what: `${path}:${startLine}-${endLine}`, left, right });
  }
  for (const { path, hashA, hashB } of [...diff.files, ...diff.rules, ...diff.skills, ...diff.facts]) {
    const [left, right] = versionsOf(hashA, hashB);
    places.push({ what: path, left, right });
  }
  if (diff.chunks.length === 0) equal.push("code found");
  if (diff.files.length === 0) equal.push("files");
  places.sort((one, other) => (one.what < other.what ? -1 : 1));
  return { rows, places, same: equal };
}

/** These are listed by their paths. */
const listed = { rules: true, skills: true, facts: true };

function versionsOf(left: string | null, right: string | null): [left: string, right: string] {
  if (left === null) return ["not sent", "sent"];
  return right === null ? ["sent", "not sent"] : ["one version", "another version"];
}

function settingsWords(settings: Record<string, unknown>): string {
  const words = Object.entries(settings).map(([name, value]) => `${name} ${String(value)}`);
  return words.length === 0 ? "as the model has them" : words.join(", ");
}

function placeWords(place: WireTurnDiff["a"]["place"]): string {
  return place === null
    ? "not known"
    : [place.folder, place.branch, place.platform, place.date].filter(Boolean).join(", ");
}
