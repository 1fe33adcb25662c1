/**
 * Edits of a few plain forms (L3), so that the tools that write files, and the way of a file bundle where there are none
 * (X7), can be tried without a key:
 * `replace "a" with "b" in path`, `replace all "a" with "b" in path`, `delete path`, and
 * `create path with: text`, whose text goes to the end of the instruction.
 */
import { pathFault } from "../../domain/active-file.ts";
import type { FileBundle, FileChange } from "../../domain/file-bundle.ts";
import type { QuotableSource } from "./read-messages.ts";

export interface SimpleEdit {
  bundle: FileBundle;
  /** Why parts of the instruction are not in it. */
  faults: string[];
}

type Ask =
  | { does: "replace"; path: string; find: string; by: string; limit: "once" | "all" }
  | { does: "delete"; path: string }
  | { does: "create"; path: string; text: string };

/** Null where the instruction has none of the forms. */
export function simpleEdit(instruction: string, sources: readonly QuotableSource[]): SimpleEdit | null {
  const asks = readAsks(instruction);
  if (asks.length === 0) return null;
  const files = new Map(sources.flatMap((source) => (source.kind === "file" ? [[source.path, source] as const] : [])));
  const changes = new Map<string, FileChange>();
  const faults: string[] = [];
  for (const ask of asks) {
    const file = files.get(ask.path) ?? null;
    const fault = askFault(ask, file, changes.get(ask.path));
    if (fault === null) changes.set(ask.path, changeFor(ask, file, changes.get(ask.path)));
    else faults.push(`\`${ask.path}\`: ${fault}`);
  }
  return { bundle: { root: ".", files: [...changes.values()] }, faults };
}

/** A call of a tool, as the model writes it. */
export interface EditCall {
  name: string;
  arguments: string;
}

/**
 * The same as calls of the tools `edit` and `write`; none where the turn does not offer both, or the instruction has
 * none of the forms.
 */
export function editCalls(instruction: string, offered: readonly string[]): EditCall[] {
  if (!["edit", "write"].every((name) => offered.includes(name))) return [];
  // No tool deletes: that stays with the bundle.
  return readAsks(instruction).flatMap((ask) => (ask.does === "delete" ? [] : [callFor(ask)]));
}

function callFor(ask: Exclude<Ask, { does: "delete" }>): EditCall {
  const { path } = ask;
  if (ask.does === "create") return { name: "write", arguments: JSON.stringify({ path, content: ask.text }) };
  const all = ask.limit === "all" ? { all: true } : {};
  return { name: "edit", arguments: JSON.stringify({ path, find: ask.find, replace: ask.by, ...all }) };
}

function readAsks(instruction: string): Ask[] {
  const create = /^[ \t]*create[ \t]+(\S+)[ \t]+with:[ \t]?\n?([\s\S]*)$/im.exec(instruction);
  const lines = (create === null ? instruction : instruction.slice(0, create.index)).split("\n");
  const asks = lines.flatMap((line) => readLine(line.trim()) ?? []);
  if (create !== null) asks.push({ does: "create", path: bare(create[1] ?? ""), text: create[2] ?? "" });
  return asks;
}

function readLine(line: string): Ask | null {
  const quoted = String.raw`"((?:[^"\\]|\\.)*)"`;
  const replace = new RegExp(`^replace (all |every )?${quoted} with ${quoted} in (\\S+)$`, "i").exec(line);
  if (replace !== null) {
    const [, all, find = "", by = "", path = ""] = replace;
    return { does: "replace", path: bare(path), find: unescaped(find), by: unescaped(by), limit: all ? "all" : "once" };
  }
  const removed = /^delete (\S+)$/i.exec(line)?.[1];
  return removed === undefined ? null : { does: "delete", path: bare(removed) };
}

/** A path as people write it: in quotes, or with the sentence's full stop. */
function bare(path: string): string {
  return path.replace(/^["'`]|["'`]?\.?$/g, "");
}

/** `\n`, `\t`, `\"` and `\\` mean what they mean in JSON; anything else stays as it is. */
function unescaped(text: string): string {
  const meanings: Record<string, string> = { n: "\n", t: "\t", '"': '"', "\\": "\\" };
  return text.replace(/\\(.)/g, (written, letter: string) => meanings[letter] ?? written);
}

function askFault(ask: Ask, file: QuotableSource | null, earlier: FileChange | undefined): string | null {
  const path = pathFault(ask.path);
  if (path !== null) return `the path ${path}`;
  if (earlier !== undefined && !(ask.does === "replace" && earlier.operation === "patch")) return "it is changed twice";
  if (ask.does !== "replace") return null;
  if (ask.find === "") return "there is nothing to replace";
  if (file === null) return null;
  const times = file.text.split(ask.find).length - 1;
  if (times === 0) return `it does not contain ${JSON.stringify(ask.find)}`;
  if (times > 1 && ask.limit === "once")
    return `it contains ${JSON.stringify(ask.find)} ${times} times; say "replace all"`;
  return null;
}

function changeFor(ask: Ask, file: QuotableSource | null, earlier: FileChange | undefined): FileChange {
  const { path } = ask;
  const base = file === null || file.sha256 === null ? {} : { baseSha256: file.sha256 };
  switch (ask.does) {
    case "delete":
      return { path, operation: "delete", ...base };
    case "create":
      return file === null
        ? { path, operation: "create", content: ask.text }
        : { path, operation: "replace", content: ask.text, ...base };
    case "replace": {
      const before = earlier?.operation === "patch" ? earlier.patches : [];
      const patches = [...before, { find: ask.find, replace: ask.by, limit: ask.limit }];
      return { path, operation: "patch", patches, ...base };
    }
  }
}
