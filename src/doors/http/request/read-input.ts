/** Reads the input parts of a request, and the files of a form that belong to them (I1, H1). */
import type { InputPart } from "../../../domain/input-part.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { WireInputPart } from "../../../protocol/execute.ts";
import { withoutNullish } from "../../../protocol/given.ts";

export function readInput(part: WireInputPart): InputPart {
  switch (part.type) {
    case "text":
      return part;
    case "url":
      return { type: "url", url: part.url, ...withoutNullish({ mode: part.mode }) };
    case "file": {
      const { type, path, mediaType, mode } = part;
      return { type, path, ...withoutNullish({ content: contentOf(part), mediaType, mode }) };
    }
    case "binary": {
      const { type, data, mediaType, name, mode } = part;
      return { type, content: Buffer.from(data, "base64"), ...withoutNullish({ mediaType, name, mode }) };
    }
  }
}

function contentOf({ path, content, contentBase64 }: Extract<WireInputPart, { type: "file" }>): Uint8Array | null {
  if (contentBase64 != null) return Buffer.from(contentBase64, "base64");
  if (content == null || content.isWellFormed()) return content == null ? null : Buffer.from(content, "utf8");
  throw new AptoveError("input_part_invalid", `the content of ${JSON.stringify(path)} has half a surrogate pair`);
}

export interface FormFile {
  path: string;
  contentBase64: string;
}

/** Adds files of a form to the parts of `input` that name their paths. Returns the changed request, and the other files. */
export function takeInputFiles(
  request: { input?: unknown },
  files: readonly FormFile[],
): { request: object; others: FormFile[] } {
  if (!Array.isArray(request.input)) return { request, others: [...files] };
  const others = [...files];
  const input: unknown[] = request.input.map((part: unknown) => {
    if (typeof part !== "object" || part === null || !("path" in part) || !("type" in part)) return part;
    const at = others.findIndex((file) => file.path === part.path);
    if (part.type !== "file" || at === -1) return part;
    // If the listed part has content already, the schema refuses it, because it then has both.
    return { ...part, contentBase64: others.splice(at, 1)[0]?.contentBase64 };
  });
  return { request: { ...request, input }, others };
}
