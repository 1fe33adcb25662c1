/**
 * File bundles: the changes that an answer in `edit` mode proposes (X7). The functions here read a bundle from an
 * answer, check it, and return the new contents of the files, or the reasons why the bundle does not fit them. Nothing
 * here reads or writes a disk.
 */
import { decodeText, pathFault } from "./active-file.ts";

export interface FileBundle {
  /** The folder that the paths are relative to. It is itself relative to the working copy; `.` is the top folder. */
  root: string;
  files: FileChange[];
}

/**
 * The change of one file. `baseSha256` is the hash of the file that the change was made for; the change is refused if
 * the file has another hash now.
 */
export type FileChange =
  | { path: string; operation: "create"; content: string }
  | { path: string; operation: "replace"; content: string; baseSha256?: string }
  | { path: string; operation: "delete"; baseSha256?: string }
  | { path: string; operation: "patch"; patches: Patch[]; baseSha256?: string };

export interface Patch {
  /** The exact text to replace. With `once`, the file must contain it exactly once; with `all`, at least once. */
  find: string;
  replace: string;
  limit: "once" | "all";
}

export type ParsedBundle = { bundle: FileBundle } | { fault: string };

/**
 * Returns the bundle of an answer, from its fenced JSON block that has `files`. Null if the answer has no such block.
 */
export function parseFileBundle(answer: string): ParsedBundle | null {
  // Only a list of objects counts, because the `files` of a package.json is a list of strings.
  const candidates = jsonBlocks(answer).filter((block) => /"files"\s*:\s*\[\s*[{\]]/.test(block));
  const [only, second] = candidates;
  if (only === undefined) return null;
  if (second !== undefined) return { fault: "the answer has more than one block with files" };
  return parseBundleJson(only);
}

/** Reads a bundle from the text of a JSON file. */
export function parseBundleJson(text: string): ParsedBundle {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `the block is not valid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  try {
    return { bundle: readBundle(value) };
  } catch (error) {
    if (error instanceof BundleFault) return { fault: error.message };
    throw error;
  }
}

/**
 * Returns the fenced blocks that are marked json or not marked. A block that the end of the answer cuts off counts too.
 * An answer that is one JSON object is one block.
 */
function jsonBlocks(answer: string): string[] {
  if (answer.trimStart().startsWith("{")) return [answer];
  const blocks: string[] = [];
  let open: { fence: string; lines: string[] | null } | null = null;
  for (const line of answer.split(/\r?\n/)) {
    const fence = /^\s*(`{3,}|~{3,})(.*)$/.exec(line);
    if (open === null) {
      if (fence === null) continue;
      const isJson = /^\s*(json)?\s*$/i.test(fence[2] ?? "");
      open = { fence: fence[1] ?? "", lines: isJson ? [] : null };
    } else if (fence !== null && closes(fence, open.fence)) {
      if (open.lines !== null) blocks.push(open.lines.join("\n"));
      open = null;
    } else {
      open.lines?.push(line);
    }
  }
  if (open?.lines) blocks.push(open.lines.join("\n"));
  return blocks;
}

function closes(fence: RegExpExecArray, opening: string): boolean {
  const marks = fence[1] ?? "";
  return marks[0] === opening[0] && marks.length >= opening.length && (fence[2] ?? "").trim() === "";
}

/** Ends the reading of a bundle at its first fault. It is caught in this file. */
class BundleFault extends Error {}

function must(holds: boolean, fault: string): asserts holds {
  if (!holds) throw new BundleFault(fault);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readBundle(value: unknown): FileBundle {
  must(isObject(value), "the bundle is not an object");
  const { root = ".", files } = value;
  must(typeof root === "string", "root is not a string");
  const rootFault = root === "." ? null : bundlePathFault(root);
  must(rootFault === null, `root "${root}" ${rootFault}`);
  must(Array.isArray(files) && files.length > 0, "files is not a list with at least one file");
  const changes = files.map(readChange);
  refuseOverlaps(changes.map((change) => change.path));
  return { root, files: changes };
}

/**
 * Returns why a path is refused. The rules are those of X5, and git's own folder is refused too, because a hook written
 * there would be run.
 */
function bundlePathFault(path: string): string | null {
  const fault = pathFault(path);
  if (fault !== null) return fault;
  if (!path.isWellFormed()) return "is not valid Unicode";
  if (path.split("/").some((segment) => segment.toLowerCase() === ".git")) return "is inside .git";
  return null;
}

function readChange(value: unknown, index: number): FileChange {
  must(isObject(value), `files[${index}] is not an object`);
  const { path, operation } = value;
  must(typeof path === "string", `files[${index}] has no path`);
  const fault = bundlePathFault(path);
  must(fault === null, `path "${path}" ${fault}`);
  const where = `"${path}" (${String(operation)})`;
  switch (operation) {
    case "create":
      refuseFields(value, ["patches", "baseSha256"], where);
      return { path, operation, content: readContent(value["content"], where) };
    case "replace":
      refuseFields(value, ["patches"], where);
      return { path, operation, content: readContent(value["content"], where), ...readBase(value, where) };
    case "delete":
      refuseFields(value, ["content", "patches"], where);
      return { path, operation, ...readBase(value, where) };
    case "patch":
      refuseFields(value, ["content"], where);
      return { path, operation, patches: readPatches(value["patches"], where), ...readBase(value, where) };
    default:
      throw new BundleFault(
        `"${path}" has the operation ${JSON.stringify(operation)}, not create, replace, delete or patch`,
      );
  }
}

/** Refuses fields of another operation: they mean that the model intended something else. Null counts as absent. */
function refuseFields(value: Record<string, unknown>, fields: string[], where: string): void {
  for (const field of fields) must((value[field] ?? null) === null, `${where} takes no ${field}`);
}

function readContent(content: unknown, where: string): string {
  must(typeof content === "string", `${where} needs content`);
  must(content.isWellFormed() && !content.includes("\u0000"), `${where} has content that is not text`);
  return content;
}

function readBase(value: Record<string, unknown>, where: string): { baseSha256?: string } {
  const base = value["baseSha256"] ?? null;
  if (base === null) return {};
  must(typeof base === "string" && /^[0-9a-f]{64}$/i.test(base), `${where} has a baseSha256 that is not a SHA-256`);
  return { baseSha256: base.toLowerCase() };
}

function readPatches(patches: unknown, where: string): Patch[] {
  must(Array.isArray(patches) && patches.length > 0, `${where} needs patches`);
  return patches.map((patch: unknown, index) => {
    const at = `${where} patches[${index}]`;
    must(isObject(patch), `${at} is not an object`);
    const { find, limit = "once" } = patch;
    must(typeof find === "string" && find !== "", `${at} needs a text to find`);
    must(limit === "once" || limit === "all", `${at} has a limit that is not once or all`);
    return { find, replace: readContent(patch["replace"], `${at}.replace`), limit };
  });
}

/** Refuses a path that occurs twice, and a path that is both a file and a folder. */
function refuseOverlaps(paths: string[]): void {
  const seen = new Set<string>();
  // Most disks treat two Unicode spellings of one name as the same file.
  for (const path of paths.map((each) => each.normalize("NFC"))) {
    must(!seen.has(path), `"${path}" is named twice`);
    seen.add(path);
  }
  for (const path of seen) {
    const parts = path.split("/");
    for (let length = 1; length < parts.length; length++) {
      const folder = parts.slice(0, length).join("/");
      must(!seen.has(folder), `"${folder}" is a file and a folder`);
    }
  }
}

/** A file of the working copy, as it is now. */
export interface CurrentFile {
  content: Uint8Array;
  sha256: string;
}

/**
 * The change that a bundle makes to one file. `before` is null if the file is created; `after` is null if it is
 * deleted.
 */
export interface PlannedChange {
  /** The path, relative to the working copy. */
  path: string;
  before: CurrentFile | null;
  after: string | null;
}

export interface BundleConflict {
  path: string;
  reason: string;
}

export interface PlanInput {
  read(path: string): CurrentFile | null;
  /**
   * Returns the hash of the file that the model received, or null if it is not known. It is used if the change has no
   * `baseSha256`.
   */
  baseOf?(path: string): string | null;
}

/**
 * Returns the new contents of all files, or every reason why the bundle does not fit. A bundle is never applied in
 * part. A change that the file already has is left out.
 */
export function planBundle(
  bundle: FileBundle,
  input: PlanInput,
): { changes: PlannedChange[] } | { conflicts: BundleConflict[] } {
  const changes: PlannedChange[] = [];
  const conflicts: BundleConflict[] = [];
  for (const file of bundle.files) {
    const path = bundle.root === "." ? file.path : `${bundle.root}/${file.path}`;
    const before = input.read(path);
    const planned = planChange(file, before, input.baseOf?.(path) ?? null);
    if ("reason" in planned) conflicts.push({ path, reason: planned.reason });
    else if (!isSame(before, planned.after)) changes.push({ path, before, after: planned.after });
  }
  return conflicts.length > 0 ? { conflicts } : { changes };
}

function isSame(before: CurrentFile | null, after: string | null): boolean {
  if (before === null || after === null) return before === after;
  return decodeText(before.content) === after;
}

type Planned = { after: string | null } | { reason: string };

function planChange(file: FileChange, before: CurrentFile | null, base: string | null): Planned {
  if (file.operation === "create") {
    const isFree = before === null || isSame(before, file.content);
    return isFree ? { after: file.content } : { reason: "already exists" };
  }
  if (before === null) return { reason: "does not exist" };
  // If the file already has the new content, an earlier run of the same bundle wrote it.
  if (file.operation === "replace" && isSame(before, file.content)) return { after: file.content };
  const expected = file.baseSha256 ?? base;
  if (expected !== null && expected !== before.sha256) return { reason: "changed since the answer was made" };
  if (file.operation === "replace") return { after: file.content };
  if (file.operation === "delete") return { after: null };
  return patched(file.patches, before.content);
}

function patched(patches: Patch[], content: Uint8Array): Planned {
  let text = decodeText(content);
  if (text === null) return { reason: "is not text, so it cannot be patched" };
  // Models write line feeds. If all lines of the file end in CR LF, the new lines do too.
  const isCrLf = text.includes("\r\n") && !/(^|[^\r])\n/.test(text);
  const inFileForm = (part: string): string => (isCrLf ? part.replace(/\r?\n/g, "\r\n") : part);
  for (const [index, patch] of patches.entries()) {
    const parts: string[] = text.split(inFileForm(patch.find));
    const found = parts.length - 1;
    const name = `patch ${index + 1}`;
    if (found === 0) return { reason: `${name}: its text to find is not in the file` };
    if (found > 1 && patch.limit === "once")
      return { reason: `${name}: its text to find is in the file ${found} times, not once` };
    text = parts.join(inFileForm(patch.replace));
  }
  return { after: text };
}
