/** A part of the input that was checked, and can be stored and sent to the model (I1). */
import type { TurnPart } from "../../../domain/input-part.ts";

/** A part that was checked, and can be stored and sent to the model. */
export interface AcceptedPart extends Omit<TurnPart, "content"> {
  /** The content. Null for a file that was only named. */
  content: Uint8Array | null;
  sha256: string;
  /**
   * How the part appears in the message: its whole text, the image or document itself, or its name and how to read it. A text that
   * is too long for the model is split, and excerpts of it are sent (M8).
   */
  shown: { as: "text"; text: string } | { as: "media" } | { as: "name" } | { as: "excerpts" };
}

/** Returns true if the model reads the part with a tool. */
export function isReadable({ mode, content, shown }: AcceptedPart): boolean {
  return content !== null && (mode === "file" || shown.as === "excerpts");
}
