/**
 * The parts of a turn's input (I1): text, and what goes with it. Texts become the instruction. Every other part is
 * given to the model at once (`inline`), or put where it can be read with a tool (`file`).
 */

export type PartMode = "file" | "inline";

/** As a caller gives it. Without a mode it is a `file`. */
export type InputPart =
  | { type: "text"; text: string }
  | { type: "url"; url: string; mode?: PartMode }
  /** A file of the project. Without content it is only named: the tools that the session has can reach it. */
  | { type: "file"; path: string; content?: Uint8Array; mediaType?: string; mode?: PartMode }
  | { type: "binary"; content: Uint8Array; mediaType?: string; name?: string; mode?: PartMode };

/** Content that is kept once, as a blob of the turn that brought it; the history names it. */
export interface PartRef {
  /** By which the model knows it, and reads it. */
  name: string;
  mediaType: string;
  bytes: number;
  /** Of the raw bytes. */
  sha256: string;
  blob: string;
}

/** As a turn holds it (T4). */
export interface TurnPart {
  type: "url" | "file" | "binary";
  mode: PartMode;
  /** The address or path; null for bytes that came from nowhere else. */
  source: string | null;
  name: string;
  mediaType: string;
  /** Null: a file that was only named. */
  content: Omit<PartRef, "name" | "mediaType"> | null;
}

const signatures: readonly [mediaType: string, at: number, text: string][] = [
  ["image/png", 0, "\u0089PNG\r\n\u001a\n"],
  ["image/jpeg", 0, "\u00ff\u00d8\u00ff"],
  ["image/gif", 0, "GIF87a"],
  ["image/gif", 0, "GIF89a"],
  ["image/webp", 8, "WEBP"],
  ["audio/wav", 8, "WAVE"],
  ["audio/mpeg", 0, "ID3"],
  ["audio/flac", 0, "fLaC"],
  ["audio/ogg", 0, "OggS"],
  ["video/mp4", 4, "ftypisom"],
  ["video/mp4", 4, "ftypmp42"],
  ["image/heic", 4, "ftypheic"],
  ["application/pdf", 0, "%PDF-"],
  ["application/zip", 0, "PK\u0003\u0004"],
  ["application/gzip", 0, "\u001f\u008b"],
];

/** What bytes are by how they begin; null: they do not say. */
export function sniffedType(content: Uint8Array): string | null {
  const beginsWith = (at: number, text: string): boolean =>
    [...text].every((character, index) => content[at + index] === character.charCodeAt(0));
  return signatures.find(([, at, text]) => beginsWith(at, text))?.[0] ?? null;
}

/** `image/png` of `Image/PNG; charset=x`; null for what is no media type. */
export function plainMediaType(given: string): string | null {
  const name = given.split(";")[0]?.trim().toLowerCase() ?? "";
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/.test(name) ? name : null;
}

/** What a model sees or hears, rather than reads as text. */
export function isMedia(mediaType: string): boolean {
  return /^(?:image|audio|video)\//.test(mediaType) ? mediaType !== "image/svg+xml" : mediaType === "application/pdf";
}
