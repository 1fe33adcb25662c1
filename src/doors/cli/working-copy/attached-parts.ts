/**
 * Turns what `--attach` names into parts of the input (I1): addresses, files of the working copy by their path, and
 * other files by their name.
 */
import { readFileSync, statSync } from "node:fs";
import { basename, extname, isAbsolute, relative, resolve, sep } from "node:path";
import type { ExecuteRequest } from "../../../client/client.ts";
import { limits } from "../../../domain/limits.ts";
import { systemCode } from "../../../system/system-error.ts";
import { UsageError } from "../failure.ts";
import { bytes } from "../output.ts";

type WirePart = NonNullable<ExecuteRequest["input"]>[number];

export interface AttachmentRequest {
  /** The top folder of the working copy. */
  root: string;
  cwd: string;
  /** The paths and addresses as the caller wrote them. */
  named: readonly string[];
  mode: "file" | "inline";
}

/** A file whose name is that of an image is sent as an image, so that it is refused if it is none. */
const imageTypes: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

export function attachedParts({ root, cwd, named, mode }: AttachmentRequest): WirePart[] {
  return named.map((name) => {
    if (/^https?:\/\//i.test(name)) return { type: "url", url: name, mode };
    const full = resolve(cwd, name);
    const base64 = readAttached(full, name);
    const path = relative(root, full).split(sep).join("/");
    const isInside = path !== ".." && !path.startsWith("../") && !isAbsolute(path);
    const imageType = imageTypes[extname(full).toLowerCase()];
    const mediaType = imageType === undefined ? {} : { mediaType: imageType };
    if (isInside) return { type: "file", path, contentBase64: base64, mode, ...mediaType };
    return { type: "binary", data: base64, name: basename(full), mode, ...mediaType };
  });
}

const nameFile = "name a file that you can read; the path counts from the current folder";

function readAttached(full: string, name: string): string {
  try {
    const stat = statSync(full);
    if (!stat.isFile()) throw new UsageError(`--attach ${name}: is not a file`, nameFile);
    if (stat.size > limits.inputPartBytesMax) {
      const max = bytes(limits.inputPartBytesMax);
      throw new UsageError(`--attach ${name}: has ${bytes(stat.size)}, and may have ${max}`, "attach a part of it");
    }
    return readFileSync(full).toString("base64");
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const code = systemCode(error);
    const fault = code === "ENOENT" ? "does not exist" : `cannot be read (${code})`;
    throw new UsageError(`--attach ${name}: ${fault}`, nameFile);
  }
}
