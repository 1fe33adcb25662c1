/** Notes for the model about files whose version in its context no longer counts (X6). */
import { limits } from "../../../domain/limits.ts";
import { line } from "./context-block.ts";

/** A file whose version in the model's context no longer counts. */
export interface FileNews {
  path: string;
  /** SHA-256 of the version that counts, `unknown`, or empty: the file does not exist any more. */
  hash: string;
  /** The new path of a file that does not exist any more. */
  renamedTo: string | null;
}

/** Returns the lines for the `[NOTE]` block. */
export function newsNotes(news: readonly FileNews[]): string[] {
  if (news.length === 0) return [];
  const shown = news.slice(0, limits.notedFilesMax);
  const more = news.length - shown.length;
  return [
    "Files have changed. What you have of these from earlier in this conversation no longer counts:",
    ...shown.map(newsLine),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ];
}

function newsLine({ path, hash, renamedTo }: FileNews): string {
  if (renamedTo !== null) return `- ${line(path)} was renamed to ${line(renamedTo)}.`;
  if (hash === "") return `- ${line(path)} does not exist any more.`;
  const version = /^[0-9a-f]{64}$/.test(hash) ? ` (now Sha256: ${hash})` : "";
  return `- ${line(path)} has another content now${version}; what this message or a later one has of it is current.`;
}
