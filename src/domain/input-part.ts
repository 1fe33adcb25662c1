/**
 * The parts of a turn's input (I1). Texts become part of the instruction. Every other part is either sent to the model
 * at once (`inline`), or stored where a tool can read it (`file`).
 */

export type PartMode = "file" | "inline";

/** A part as the caller sends it. The default mode is `file`. */
export type InputPart =
  | { type: "text"; text: string }
  | { type: "url"; url: string; mode?: PartMode }
  /** A file of the project. A file without content is only named, for the tools of the session that can read it. */
  | { type: "file"; path: string; content?: Uint8Array; mediaType?: string; mode?: PartMode }
  | { type: "binary"; content: Uint8Array; mediaType?: string; name?: string; mode?: PartMode };

/** Content that is stored once, as a blob of the turn that brought it. The history refers to it. */
export interface PartRef {
  /** The name by which the model refers to the part and reads it. */
  name: string;
  mediaType: string;
  bytes: number;
  /** SHA-256 of the raw bytes. */
  sha256: string;
  blob: string;
}

/** The part as a turn keeps it (T4). */
export interface TurnPart {
  type: "url" | "file" | "binary";
  mode: PartMode;
  /** The address or path that the content came from. Null if the caller sent bytes without one. */
  source: string | null;
  name: string;
  mediaType: string;
  /** The blob that holds the content. Null for a file that was only named. */
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

/** Returns the media type that the first bytes show, or null if they show none. */
export function sniffedType(content: Uint8Array): string | null {
  const beginsWith = (at: number, text: string): boolean =>
    [...text].every((character, index) => content[at + index] === character.charCodeAt(0));
  return signatures.find(([, at, text]) => beginsWith(at, text))?.[0] ?? null;
}

/**
 * Returns the plain media type, for example `image/png` for `Image/PNG; charset=x`. Null if the text is not a media
 * type.
 */
export function plainMediaType(given: string): string | null {
  const name = given.split(";")[0]?.trim().toLowerCase() ?? "";
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/.test(name) ? name : null;
}

/** Returns true for content that a model sees or listens to instead of reading it as text. */
export function isMedia(mediaType: string): boolean {
  return /^(?:image|audio|video)\//.test(mediaType) ? mediaType !== "image/svg+xml" : mediaType === "application/pdf";
}
