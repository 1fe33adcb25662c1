/**
 * The file of an export: one JSON object per line (docs/formats/export.md). Sessions come first, then every turn after
 * its parent and after its own blobs, summaries after theirs, and an end line that seals all lines before it. The file does not contain when
 * and where it was made, so the same session makes the same file.
 */
import { createHash } from "node:crypto";
import { sha256 } from "../../domain/ids.ts";
import type { Session } from "../../domain/session.ts";
import type { Step } from "../../domain/step.ts";
import type { Summary, SummaryEnd } from "../../domain/summary.ts";
import type { StoredTurn } from "../turn/kept/turn-order.ts";

/** Format 1, of version 0.1.0, has no boot prompts. Format 2 has no summaries. */
export const exportFormat = 3;

export type ExportLine = HeaderLine | SessionLine | BlobLine | PartLine | TurnLine | ExportedSummaryLine | EndLine;

export interface HeaderLine {
  aptove: "export";
  format: number;
  /** The version of the program that made the file. */
  version: string;
}

/** The exported fields of a session. Its owner and who may see it are decided where it is imported (S3). */
export type ExportedSession = Pick<
  Session,
  | "id"
  | "name"
  | "nameIsSet"
  | "key"
  | "description"
  | "labels"
  | "category"
  | "rating"
  | "agentContextId"
  | "conversationContextId"
  | "model"
  | "settings"
  | "workspaceId"
  | "repo"
  | "otherRepos"
  | "defaultLanguage"
  | "metadata"
  | "pins"
  | "turnNames"
  | "originTurnId"
  | "headTurnId"
  | "createdAt"
  | "updatedAt"
  | "archivedAt"
>;

export interface SessionLine {
  kind: "session";
  session: ExportedSession;
}

/**
 * A blob of the next turn, or the boot prompt of the next turn if no turn before it used the same one: as text if its bytes are valid UTF-8, else in base64, or in a number of part lines that
 * follow.
 */
export interface BlobLine {
  kind: "blob";
  key: string;
  bytes: number;
  sha256: string;
  content: { text: string } | { base64: string } | { parts: number };
}

export interface PartLine {
  kind: "part";
  base64: string;
}

export interface TurnLine {
  kind: "turn";
  turn: StoredTurn;
  steps: Step[];
}

/** A summary of a session (M5). Its org is decided where it is imported. */
export interface ExportedSummary extends Omit<Summary, "orgId" | "end"> {
  end: SummaryEnd;
}

/** A summary, after all turns and directly after the blobs of its calls. */
export interface ExportedSummaryLine {
  kind: "summary";
  summary: ExportedSummary;
}

/** The last line. `sha256` covers all lines before this one, each with its line break. */
export interface EndLine {
  kind: "end";
  sessions: number;
  turns: number;
  blobs: number;
  sha256: string;
}

/** Larger blobs are split into parts of this size, so that no line is too long to be imported. */
const partBytes = 6_291_456;

export function blobLines(key: string, bytes: Uint8Array): (BlobLine | PartLine)[] {
  const blob = { kind: "blob", key, bytes: bytes.length, sha256: sha256(bytes) } as const;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length <= partBytes) {
    const text = buffer.toString("utf8");
    const isText = Buffer.from(text).equals(buffer);
    return [{ ...blob, content: isText ? { text } : { base64: buffer.toString("base64") } }];
  }
  const parts: PartLine[] = [];
  for (let at = 0; at < buffer.length; at += partBytes) {
    parts.push({ kind: "part", base64: buffer.subarray(at, at + partBytes).toString("base64") });
  }
  return [{ ...blob, content: { parts: parts.length } }, ...parts];
}

export function blobBytes({ content }: BlobLine, parts: readonly PartLine[]): Uint8Array {
  if ("text" in content) return Buffer.from(content.text);
  if ("base64" in content) return Buffer.from(content.base64, "base64");
  return Buffer.concat(parts.map((part) => Buffer.from(part.base64, "base64")));
}

/** Computes the digest of all lines, one line after the other. */
export class LineSeal {
  readonly #hash = createHash("sha256");

  add(line: string): void {
    this.#hash.update(line).update("\n");
  }

  digest(): string {
    return this.#hash.copy().digest("hex");
  }
}
