/** The media of a message with its content in base64, the form that every wire takes (I1). */
import type { UserItem } from "../domain/history.ts";
import { AptoveError } from "../domain/errors.ts";
import type { PartRef } from "../domain/input-part.ts";
import type { ModelCall } from "./provider.ts";

export interface LoadedMedia extends PartRef {
  base64: string;
  /** The content as a `data:` URL with its type. */
  dataUrl: string;
}

/** Returns the media of a message with its content. The caller must have put that content into `media` of the call. */
export function loadedMediaOf({ media: refs = [] }: UserItem, { media }: Pick<ModelCall, "media">): LoadedMedia[] {
  return refs.map((ref) => {
    const base64 = media?.get(ref.blob);
    if (base64 === undefined) throw new AptoveError("blob_missing", `the content of ${ref.blob} was not read`);
    return { ...ref, base64, dataUrl: `data:${ref.mediaType};base64,${base64}` };
  });
}

export function isImage({ mediaType }: PartRef): boolean {
  return mediaType.startsWith("image/");
}
