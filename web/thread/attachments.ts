/** Files and images that come with an instruction, by drop, by paste or by choice (I1). */
import type { ExecuteRequest } from "../../src/client/client.ts";

export interface Attachment {
  name: string;
  mediaType: string;
  size: number;
  /** The content in base64. */
  data: string;
}

/** The server takes at most 16 MB in one request, and base64 makes a third more of them. */
export const attachedBytesMax = 10_000_000;

export async function readAttachment(file: File): Promise<Attachment> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("the file cannot be read")));
    reader.readAsDataURL(file);
  });
  const name = file.name === "" ? "pasted" : file.name;
  return { name, mediaType: file.type || "text/plain", size: file.size, data: url.slice(url.indexOf(",") + 1) };
}

export function inputOf(attachments: readonly Attachment[]): Pick<ExecuteRequest, "input"> {
  if (attachments.length === 0) return {};
  const input = attachments.map(({ name, mediaType, data }) => ({
    type: "binary" as const,
    mode: "inline" as const,
    name,
    mediaType,
    data,
  }));
  return { input };
}
