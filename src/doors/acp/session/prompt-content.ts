/** Turns the content blocks of a prompt into an instruction and its files (P1, X1). */
import { readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { ContentBlock, EmbeddedResource, ResourceLink } from "@agentclientprotocol/sdk";
import { type ActiveFile, decodeText, isTooLarge, pathFault } from "../../../domain/active-file.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { isMedia, sniffedType, type InputPart } from "../../../domain/input-part.ts";
import { languageOf } from "../../../domain/language.ts";
import { joinPath } from "../../../domain/repositories.ts";
import type { FolderRepository } from "../ports.ts";
import type { FileAccess } from "../../../tools/session-tools.ts";

export interface PromptContent {
  instruction: string;
  activeFiles: ActiveFile[];
  /** Images, and embedded files that are not text (I1). */
  input: InputPart[];
}

/** The sources of a prompt's files. */
export interface PromptSources {
  /** Absolute path. The paths of active files are relative to it. */
  folder: string;
  /** The repositories of a session about several: paths of their files begin with their names (M7). */
  repositories?: readonly FolderRepository[];
  /** The client's access to files, if it offers that. */
  files: Partial<FileAccess>;
  signal: AbortSignal;
}

/** Reads a prompt. Throws `request_invalid` for content that no supported model accepts. */
export async function readPrompt(blocks: readonly ContentBlock[], place: PromptSources): Promise<PromptContent> {
  const parts: string[] = [];
  const files = new Map<string, ActiveFile>();
  const input: InputPart[] = [];
  for (const block of blocks) {
    const { text, file, part } = await readBlock(block, { ...place, number: input.length + 1 });
    if (part !== undefined) input.push(part);
    parts.push(`${separator(parts.at(-1) ?? "", text, block)}${text}`);
    if (file !== null) files.set(file.path, file);
  }
  return { instruction: parts.join(""), activeFiles: [...files.values()], input };
}

/** Two texts are two lines, but editors send a mention within a sentence as a block of its own. Two mentions are two words. */
function separator(before: string, text: string, block: ContentBlock): string {
  if (before === "" || /\s$/.test(before) || /^\s/.test(text)) return "";
  const isAfterMention = /^\s?@/.test(before);
  if (block.type === "text") return isAfterMention ? "" : "\n";
  return isAfterMention ? " " : "";
}

interface ReadBlock {
  text: string;
  file: ActiveFile | null;
  part?: InputPart;
}

/** `number` names the next part if it has no other name. */
type BlockSources = PromptSources & { number: number };

async function readBlock(block: ContentBlock, place: BlockSources): Promise<ReadBlock> {
  switch (block.type) {
    case "text":
      return { text: block.text, file: null };
    case "image":
      return readBytes({ ...block, base64: block.data }, place);
    case "resource_link":
      return await readLink(block, place);
    case "resource":
      return await readResource(block, place);
    default:
      throw new AptoveError("request_invalid", `a prompt cannot have content of the type "${block.type}"; send text`);
  }
}

/** Returns the whole file if it is in the folder. Otherwise returns only its path, which the model's tools may be able to read. */
async function readLink({ uri, name }: ResourceLink, place: PromptSources): Promise<ReadBlock> {
  const linked = filePath(uri);
  if (linked === null) return { text: `@${uri}`, file: null };
  const path = await pathInSession(place, linked.path);
  if (path === "") return { text: `@${name}`, file: null };
  if (path === null) return { text: `@${linked.path}${linked.lines}`, file: null };
  return { text: `@${path}${linked.lines}`, file: activeFile(path, await readText(linked.path, place)) };
}

/** Returns a complete file of the folder as an active file. An excerpt, or any other text, becomes part of the instruction. */
async function readResource({ resource }: EmbeddedResource, place: BlockSources): Promise<ReadBlock> {
  if (!("text" in resource)) return readBytes({ ...resource, base64: resource.blob }, place);
  const linked = filePath(resource.uri);
  const path = linked === null ? null : await pathInSession(place, linked.path);
  const content = Buffer.from(resource.text);
  const file = linked?.lines === "" && path !== null ? activeFile(path, sendable(content)) : null;
  if (file !== null) return { text: `@${file.path}`, file };
  const source = linked === null ? { path: resource.uri, lines: "" } : { ...linked, path: path ?? linked.path };
  if (!isTooLarge(content.byteLength)) return { text: excerpt(source, resource.text), file: null };
  // A file of the folder can be read with the tools, as the editor has it. Any other long text becomes a part that can be read.
  if (linked?.lines === "" && path !== null) return { text: `@${path}`, file: null };
  return readBytes({ ...resource, base64: content.toString("base64"), mimeType: "text/plain" }, place);
}

interface EmbeddedBytes {
  base64: string;
  mimeType?: string | null;
  uri?: string | null;
}

/** Returns a binary part. Media that a model can see goes into its context; any other file can be read with a tool. */
function readBytes({ base64, mimeType, uri }: EmbeddedBytes, { number }: BlockSources): ReadBlock {
  const content = Buffer.from(base64, "base64");
  const mediaType = mimeType ?? "application/octet-stream";
  const named =
    URL.parse(uri ?? "")
      ?.pathname.split("/")
      .at(-1) ?? "";
  const name = named === "" ? `attachment-${number}${extensionOf(mediaType)}` : decodedName(named);
  const mode = isMedia(sniffedType(content) ?? mediaType) ? "inline" : "file";
  return { text: `@${name}`, file: null, part: { type: "binary", content, mediaType, name, mode } };
}

function extensionOf(mediaType: string): string {
  const found = /^image\/([a-z0-9]+)$/.exec(mediaType)?.[1];
  return found === undefined ? "" : `.${found}`;
}

function decodedName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Returns the active file, or null if it cannot be one (X5). */
function activeFile(path: string, content: Uint8Array | null): ActiveFile | null {
  if (content === null || pathFault(path) !== null) return null;
  return { path, content, sha256: null, isTouched: false };
}

function excerpt({ path, lines }: { path: string; lines: string }, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const end = text.endsWith("\n") ? "" : "\n";
  return `\n@${path}${lines}\n${fence}${languageOf(path)}\n${text}${end}${fence}\n`;
}

/** Returns the path of a `file:` address and the lines that its fragment names, or null for any other address. */
function filePath(uri: string): { path: string; lines: string } | null {
  if (isAbsolute(uri)) return { path: uri, lines: "" };
  const url = URL.parse(uri);
  if (url?.protocol !== "file:") return null;
  const lines = url.hash;
  url.hash = "";
  url.search = "";
  try {
    return { path: fileURLToPath(url), lines };
  } catch {
    // The file is on another host, or the address is no valid path on this system.
    return null;
  }
}

/** Returns the path of a file as the session has it, or null if it is outside of all folders. */
async function pathInSession({ folder, repositories = [] }: PromptSources, path: string): Promise<string | null> {
  const inFolder = await pathInside(folder, path);
  if (inFolder !== null) return inFolder;
  for (const { repo, root } of repositories) {
    const inside = await pathInside(root, path);
    if (inside !== null) return inside === "" ? null : joinPath({ repo, path: inside });
  }
  return null;
}

/** Returns the path relative to the folder, with forward slashes and resolved links, or null if it is outside. */
async function pathInside(folder: string, path: string): Promise<string | null> {
  const [from, to] = await Promise.all([realpath(folder).catch(() => folder), realpath(path).catch(() => path)]);
  const inside = relative(from, to);
  if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return null;
  return inside.split(sep).join("/");
}

/** Returns the text of a file, or null if there is none to send. The model then sees only the path, and can read the file with a tool. */
async function readText(path: string, { files, signal }: PromptSources): Promise<Uint8Array | null> {
  try {
    if (files.readText !== undefined) return sendable(Buffer.from(await files.readText(path, signal)));
    const found = await stat(path);
    // Only regular files: reading a pipe or a device may never end.
    return found.isFile() && !isTooLarge(found.size) ? sendable(await readFile(path)) : null;
  } catch {
    // The path is a folder, does not exist, or cannot be read.
    return null;
  }
}

function sendable(content: Uint8Array): Uint8Array | null {
  return isTooLarge(content.byteLength) || decodeText(content) === null ? null : content;
}
