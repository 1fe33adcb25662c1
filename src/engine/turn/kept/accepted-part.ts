/** A part of the input that is fit to be kept and given to the model (I1). */
import type { TurnPart } from "../../../domain/input-part.ts";

/** A part that is fit to be kept and given to the model. */
export interface AcceptedPart extends Omit<TurnPart, "content"> {
  /** Null: a file that was only named. */
  content: Uint8Array | null;
  sha256: string;
  /** What stands in the message: all of it as text, itself as an image or document, or how to read it. */
  shown: { as: "text"; text: string } | { as: "media" } | { as: "name" };
}

/** Whether it is read with a tool. */
export function isReadable({ mode, content }: AcceptedPart): boolean {
  return mode === "file" && content !== null;
}
