/** Which texts are too long to be sent whole (M8). */
import { decodeText } from "../../../domain/active-file.ts";
import { isMedia } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";

/** Our estimate of a token is four characters, whatever the model. */
const bytesPerToken = 4;

/** Returns how many bytes of a text are sent whole, with a model of this window. Null: the window is unknown. */
export function wholeTextBytesMax(window: number | null): number {
  const ofWindow = window === null ? Infinity : window * limits.documentWindowShareMax * bytesPerToken;
  return Math.min(limits.activeFileBytesMax, ofWindow);
}

/** Returns true for a text that is too long to be sent whole. */
export function isLongText(part: { mediaType: string; content: Uint8Array }, window: number | null): boolean {
  const { mediaType, content } = part;
  return content.byteLength > wholeTextBytesMax(window) && !isMedia(mediaType) && decodeText(content) !== null;
}

/** Returns true for a text that would be a part of the instruction, and is too long for that. */
export function isLongForInstruction(text: string, window: number | null): boolean {
  const ofWindow = window === null ? Infinity : window * limits.documentWindowShareMax * bytesPerToken;
  return Buffer.byteLength(text) > Math.min(limits.instructionBytesMax, ofWindow);
}
