/**
 * The `[CONTEXT]` block of the user message (E3). The text of a chunk or file stays inside its fence, which is longer
 * than any run of backticks in the text. So no text can forge or end a block.
 */
import { languageOf } from "../../../domain/language.ts";
import type { Chunk } from "../../../domain/chunk.ts";

export interface ContextFile {
  path: string;
  sha256: string;
  language: string;
  text: string;
}

/** A part of the input that is not in the instruction (I1). */
export interface ContextPart {
  name: string;
  mediaType: string;
  /** The hash of the content. Empty for a file that was only named. */
  sha256: string;
  shown: { as: "text"; text: string } | { as: "media" } | { as: "name" } | { as: "excerpts" };
}

/** Returns the block, or null if it would be empty: then the message has only one part (E2). */
export function contextBlock(
  chunks: readonly Chunk[],
  files: readonly ContextFile[],
  parts: readonly ContextPart[] = [],
): string | null {
  if (chunks.length === 0 && files.length === 0 && parts.length === 0) return null;
  const blocks = [
    ...chunks.map((chunk, index) => chunkBlock(chunk, index + 1)),
    ...files.map((file, index) => fileBlock(file, index + 1)),
    ...parts.map((part, index) => partBlock(part, index + 1)),
  ];
  return `[CONTEXT]\n\n${blocks.join("\n")}`;
}

/** What follows the name of an attached document in the place of a path. */
const attachedMark = " (attached)";

function chunkBlock(chunk: Chunk, number: number): string {
  const language = label(chunk.language);
  return [
    `=== CHUNK ${number} ===`,
    `Id: ${line(chunk.id)}`,
    // An attached document is no file that the model's tools could open.
    `Path: ${line(chunk.path)}${chunk.document === undefined ? "" : attachedMark}`,
    `Lines: ${chunk.startLine}-${chunk.endLine}`,
    `Language: ${language}`,
    fenced(chunk.text, language),
    "",
  ].join("\n");
}

function fileBlock(file: ContextFile, number: number): string {
  const language = label(file.language);
  return [
    `=== FILE ${number} ===`,
    `Path: ${line(file.path)}`,
    `Sha256: ${file.sha256}`,
    `Language: ${language}`,
    fenced(file.text, language),
    "",
  ].join("\n");
}

/** Returns the text of a file that one of the blocks has, or null if none has this version of it. */
export function fileText(blocks: readonly string[], { path, sha256 }: { path: string; sha256: string }): string | null {
  const head = `Path: ${line(path)}\nSha256: ${sha256}\nLanguage: `;
  for (const block of blocks) {
    const at = block.indexOf(head);
    const opening = at === -1 ? null : /^[^\n]*\n(`{3,})[^\n]*\n/.exec(block.slice(at + head.length));
    if (opening === null) continue;
    const [before, fence = ""] = opening;
    const start = at + head.length + before.length;
    const end = block.indexOf(fence, start);
    if (end !== -1) return block.slice(start, end);
  }
  return null;
}

function partBlock({ name, mediaType, sha256, shown }: ContextPart, number: number): string {
  const facts = [`=== INPUT ${number} ===`, `Name: ${line(name)}`];
  if (sha256 === "") return [...facts, "Read it with your tools: it is a file of the project.", ""].join("\n");
  facts.push(`Type: ${line(mediaType)}`, `Sha256: ${sha256}`);
  switch (shown.as) {
    case "text":
      return [...facts, fenced(shown.text, label(languageOf(name))), ""].join("\n");
    case "media":
      return [...facts, "It is part of this message.", ""].join("\n");
    case "name":
      return [...facts, "Read it with the tool read_input.", ""].join("\n");
    case "excerpts":
      return [...facts, splitWords, ""].join("\n");
  }
}

const splitWords =
  "It is too long to be sent whole. With each question come the chunks of it that fit the question. Read the rest with the tool read_input.";

export function fenced(text: string, language: string): string {
  const longestRun = (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
  const fence = "`".repeat(Math.max(3, longestRun + 1));
  const ending = text === "" || text.endsWith("\n") ? "" : "\n";
  return `${fence}${language}\n${text}${ending}${fence}`;
}

/** Returns a value that takes up one line. Characters that would end the line are escaped. */
export function line(value: string): string {
  return value.replace(
    /[\p{Cc}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function label(language: string): string {
  return language.replace(/[^a-zA-Z0-9+#._-]/g, "") || "plaintext";
}
