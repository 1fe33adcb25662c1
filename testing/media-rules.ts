/** The rules of the fake providers for images and documents: base64 of the stated type, which the wire supports. */
import { sniffedType } from "../src/domain/input-part.ts";

/** Returns the reason of a refusal, or null if the content is valid. */
export function mediaFault(mediaType: unknown, base64: unknown, taken: readonly string[]): string | null {
  if (typeof mediaType !== "string" || !taken.includes(mediaType)) return `must be one of ${taken.join(", ")}`;
  if (typeof base64 !== "string" || !/^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) {
    return "is not base64";
  }
  const found = sniffedType(Buffer.from(base64, "base64"));
  return found === mediaType ? null : `does not match the media type: it looks like ${found ?? "something else"}`;
}

/** Returns the same for a `data:` address. */
export function dataUrlFault(url: unknown, taken: readonly string[]): string | null {
  const [, mediaType, base64] = /^data:([^;,]+);base64,([\s\S]*)$/.exec(String(url)) ?? [];
  return mediaType === undefined ? "is no data URL" : mediaFault(mediaType, base64, taken);
}

export const webImages = ["image/png", "image/jpeg", "image/webp", "image/gif"];
