/**
 * Edits in a few simple forms (L3). With them the tools that write files can be tried without a key, and so can file
 * bundles if there are no such tools (X7). The forms are `replace "a" with "b" in path`,
 * `replace all "a" with "b" in path`, `delete path`, and `create path with: text`, whose text extends to the end of the
 * instruction.
 */
import { pathFault } from "../../domain/active-file.ts";
import type { FileBundle, FileChange } from "../../domain/file-bundle.ts";
import type { QuotableSource } from "./read-messages.ts";

export interface SimpleEdit {
  bundle: FileBundle;
  /** The reasons why parts of the instruction are not in the bundle. */
  faults: string[];
}

type RequestedEdit =
  | { does: "replace"; path: string; find: string; by: string; limit: "once" | "all" }
  | { does: "delete"; path: string }
  | { does: "create"; path: string; text: string };

/** Returns the bundle for an instruction, or null if the instruction has none of the forms. */
export function simpleEdit(instruction: string, sources: readonly QuotableSource[]): SimpleEdit | null {
  const edits = requestedEdits(instruction);
  if (edits.length === 0) return null;
  const files = new Map(sources.flatMap((source) => (source.kind === "file" ? [[source.path, source] as const] : [])));
  const changes = new Map<string, FileChange>();
  const faults: string[] = [];
  for (const edit of edits) {
    const file = files.get(edit.path) ?? null;
    const fault = editFault(edit, file, changes.get(edit.path));
    if (fault === null) changes.set(edit.path, changeFor(edit, file, changes.get(edit.path)));
    else faults.push(`\`${edit.path}\`: ${fault}`);
  }
  return { bundle: { root: ".", files: [...changes.values()] }, faults };
}

/** A tool call that the answer makes; the driver adds its id. */
export interface OfflineToolCall {
  name: string;
  arguments: string;
}

/**
 * Returns the edits as calls of the tools `edit` and `write`. Returns none if the turn does not offer both tools, or if
 * the instruction has none of the forms.
 */
export function editCalls(instruction: string, offered: readonly string[]): OfflineToolCall[] {
  if (!["edit", "write"].every((name) => offered.includes(name))) return [];
  // No tool deletes files: deleting is left to the bundle.
  return requestedEdits(instruction).flatMap((edit) => (edit.does === "delete" ? [] : [callFor(edit)]));
}

function callFor(edit: Exclude<RequestedEdit, { does: "delete" }>): OfflineToolCall {
  const { path } = edit;
  if (edit.does === "create") return { name: "write", arguments: JSON.stringify({ path, content: edit.text }) };
  const all = edit.limit === "all" ? { all: true } : {};
  return { name: "edit", arguments: JSON.stringify({ path, find: edit.find, replace: edit.by, ...all }) };
}

function requestedEdits(instruction: string): RequestedEdit[] {
  const create = /^[ \t]*create[ \t]+(\S+)[ \t]+with:[ \t]?\n?([\s\S]*)$/im.exec(instruction);
  const lines = (create === null ? instruction : instruction.slice(0, create.index)).split("\n");
  const edits = lines.flatMap((line) => readLine(line.trim()) ?? []);
  if (create !== null) edits.push({ does: "create", path: bare(create[1] ?? ""), text: create[2] ?? "" });
  return edits;
}

function readLine(line: string): RequestedEdit | null {
  const quoted = String.raw`"((?:[^"\\]|\\.)*)"`;
  const replace = new RegExp(`^replace (all |every )?${quoted} with ${quoted} in (\\S+)$`, "i").exec(line);
  if (replace !== null) {
    const [, all, find = "", by = "", path = ""] = replace;
    return { does: "replace", path: bare(path), find: unescaped(find), by: unescaped(by), limit: all ? "all" : "once" };
  }
  const removed = /^delete (\S+)$/i.exec(line)?.[1];
  return removed === undefined ? null : { does: "delete", path: bare(removed) };
}

/** Removes what people write around a path: quotes, or the full stop of the sentence. */
function bare(path: string): string {
  return path.replace(/^["'`]|["'`]?\.?$/g, "");
}

/** Replaces `\n`, `\t`, `\"` and `\\` as JSON does. Anything else stays as it is. */
function unescaped(text: string): string {
  const meanings: Record<string, string> = { n: "\n", t: "\t", '"': '"', "\\": "\\" };
  return text.replace(/\\(.)/g, (written, letter: string) => meanings[letter] ?? written);
}

function editFault(edit: RequestedEdit, file: QuotableSource | null, earlier: FileChange | undefined): string | null {
  const path = pathFault(edit.path);
  if (path !== null) return `the path ${path}`;
  if (earlier !== undefined && !(edit.does === "replace" && earlier.operation === "patch"))
    return "it is changed twice";
  if (edit.does !== "replace") return null;
  if (edit.find === "") return "there is nothing to replace";
  if (file === null) return null;
  const times = file.text.split(edit.find).length - 1;
  if (times === 0) return `it does not contain ${JSON.stringify(edit.find)}`;
  if (times > 1 && edit.limit === "once")
    return `it contains ${JSON.stringify(edit.find)} ${times} times; write "replace all"`;
  return null;
}

function changeFor(edit: RequestedEdit, file: QuotableSource | null, earlier: FileChange | undefined): FileChange {
  const { path } = edit;
  const base = file === null || file.sha256 === null ? {} : { baseSha256: file.sha256 };
  switch (edit.does) {
    case "delete":
      return { path, operation: "delete", ...base };
    case "create":
      return file === null
        ? { path, operation: "create", content: edit.text }
        : { path, operation: "replace", content: edit.text, ...base };
    case "replace": {
      const before = earlier?.operation === "patch" ? earlier.patches : [];
      const patches = [...before, { find: edit.find, replace: edit.by, limit: edit.limit }];
      return { path, operation: "patch", patches, ...base };
    }
  }
}
