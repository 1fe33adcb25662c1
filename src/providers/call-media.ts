/** The media of a message or of a tool's result with its content in base64, the form that every wire takes (I1). */
import { AptoveError } from "../domain/errors.ts";
import { mediaOf, type HistoryItem } from "../domain/history.ts";
import type { PartRef } from "../domain/input-part.ts";
import type { ModelCall } from "./provider.ts";

export interface LoadedMedia extends PartRef {
  base64: string;
  /** The content as a `data:` URL with its type. */
  dataUrl: string;
}

/** Returns the media of an item with its content. The caller must have put that content into `media` of the call. */
export function loadedMediaOf(item: HistoryItem, { media }: Pick<ModelCall, "media">): LoadedMedia[] {
  return mediaOf(item).map((ref) => {
    const base64 = media?.get(ref.blob);
    if (base64 === undefined) throw new AptoveError("blob_missing", `the content of ${ref.blob} was not read`);
    return { ...ref, base64, dataUrl: `data:${ref.mediaType};base64,${base64}` };
  });
}

export function isImage({ mediaType }: PartRef): boolean {
  return mediaType.startsWith("image/");
}
