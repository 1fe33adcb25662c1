/** The text of a source file, whatever its encoding (Q1): UTF-8, UTF-16, or the usual one of old files in Latin letters. */
import { decodeText } from "../domain/active-file.ts";

/** Returns the text, or null if the bytes are not text. */
export function readableText(content: Uint8Array): string | null {
  return decodeText(content) ?? utf16Text(content) ?? latinText(content);
}

/** Returns the text of UTF-16 with a mark at its beginning. Without one, it is known by the zeros beside letters. */
function utf16Text(content: Uint8Array): string | null {
  if (content.byteLength < 2 || content.byteLength % 2 === 1) return null;
  const [first, second] = content;
  const isMarked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const encoding = isMarked ? (first === 0xff ? "utf-16le" : "utf-16be") : unmarkedEncoding(content);
  if (encoding === null) return null;
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(content);
    return isPlain(text) ? text : null;
  } catch {
    return null;
  }
}

const sampleBytes = 1_024;
const zerosMin = 0.7;

function unmarkedEncoding(content: Uint8Array): "utf-16le" | "utf-16be" | null {
  const sample = content.subarray(0, sampleBytes);
  const zeros = [0, 0];
  sample.forEach((byte, at) => {
    if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  });
  const [even = 0, odd = 0] = zeros.map((count) => count / (sample.byteLength / 2));
  if (odd >= zerosMin && even === 0) return "utf-16le";
  return even >= zerosMin && odd === 0 ? "utf-16be" : null;
}

function latinText(content: Uint8Array): string | null {
  const text = new TextDecoder("windows-1252").decode(content);
  return isPlain(text) ? text : null;
}

/** Text has no control characters but those that end lines, indent, or colour a terminal. */
function isPlain(text: string): boolean {
  return !/[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f-\u009f]/.test(text);
}
