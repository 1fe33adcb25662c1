/**
 * The files of the page (U1), as the bundler wrote them: a document, and files that are named by their hash. They are read once, when
 * the server starts, so a build beside a running server changes nothing for it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { isAbsence } from "../../../system/system-error.ts";

export interface PageFile {
  mediaType: string;
  /** The content, compressed ahead, by the name of the encoding. */
  compressed: Record<Encoding, Uint8Array<ArrayBuffer>>;
}
/** The first is the smallest. */
const encodings = ["br", "gzip"] as const;
type Encoding = (typeof encodings)[number];

export interface PageFiles {
  document: PageFile;
  /** The other files, by name. */
  assets: ReadonlyMap<string, PageFile>;
}

const mediaTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Returns null if the page was not built. */
export function readPageFiles(folder: string): PageFiles | null {
  try {
    const names = readdirSync(folder).filter((name) => extname(name) in mediaTypes);
    const files = new Map(names.map((name) => [name, fileAt(join(folder, name))]));
    const document = files.get("index.html");
    files.delete("index.html");
    return document === undefined ? null : { document, assets: files };
  } catch (error) {
    if (isAbsence(error)) return null;
    throw error;
  }
}

function fileAt(path: string): PageFile {
  return {
    mediaType: mediaTypes[extname(path)] ?? "application/octet-stream",
    compressed: { gzip: readFileSync(`${path}.gz`), br: readFileSync(`${path}.br`) },
  };
}

/** Returns the file in the smallest form that the client accepts. */
export function inEncoding(
  { mediaType, compressed }: PageFile,
  { accepted, status = 200 }: { accepted: string | null; status?: number },
): Response {
  const names = (accepted ?? "").split(",").map((one) => one.trim());
  const encoding = encodings.find((name) => names.includes(name));
  // Every browser takes a compressed form, so no server keeps the plain one in memory.
  const bytes = encoding === undefined ? gunzipSync(compressed.gzip) : compressed[encoding];
  const headers = new Headers({ "content-type": mediaType, vary: "accept-encoding" });
  headers.set("content-length", String(bytes.length));
  if (encoding !== undefined) headers.set("content-encoding", encoding);
  return new Response(bytes, { status, headers });
}
