/**
 * The files of the page (U1), as the bundler wrote them: a document, and files that are named by their hash. They are read once, when
 * the server starts, so a build beside a running server changes nothing for it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { isAbsence } from "../../../system/system-error.ts";

export interface PageFile {
  mediaType: string;
  /** The content as it is, and compressed ahead, by the name of the encoding. */
  bytes: Record<Encoding, Uint8Array<ArrayBuffer>>;
}
type Encoding = "identity" | "gzip" | "br";

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
  const read = (at: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(at));
  return {
    mediaType: mediaTypes[extname(path)] ?? "application/octet-stream",
    bytes: { identity: read(path), gzip: read(`${path}.gz`), br: read(`${path}.br`) },
  };
}

/** Returns the file in the smallest form that the client accepts. */
export function inEncoding({ mediaType, bytes }: PageFile, accepted: string | null): Response {
  const names = (accepted ?? "").split(",").map((one) => one.trim());
  const encoding = (["br", "gzip"] as const).find((name) => names.includes(name)) ?? "identity";
  const headers = new Headers({ "content-type": mediaType, vary: "accept-encoding" });
  headers.set("content-length", String(bytes[encoding].length));
  if (encoding !== "identity") headers.set("content-encoding", encoding);
  return new Response(bytes[encoding], { headers });
}
