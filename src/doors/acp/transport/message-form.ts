/**
 * Checks a message before it is parsed. A message of few bytes with millions of values or levels would block the only thread
 * of the process for seconds.
 */
import { limits } from "../../../domain/limits.ts";

const [quote, backslash, comma, openList, closeList, openObject, closeObject] = [...'"\\,[]{}'].map((sign) =>
  sign.charCodeAt(0),
);

/** Returns why the text must not be parsed, or null if it may be. It does not check whether the text is JSON. */
export function formFault(text: string): string | null {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at);
    if (sign === quote) {
      at = stringEnd(text, at + 1);
      if (at === -1) return null;
    } else if (sign === openList || sign === openObject) {
      depth += 1;
      values += 1;
      if (depth > limits.jsonDepthMax) return `the message is nested deeper than ${limits.jsonDepthMax} levels`;
    } else if (sign === closeList || sign === closeObject) {
      depth -= 1;
    } else if (sign === comma) {
      values += 1;
    }
    if (values > limits.acpMessageValuesMax) return `the message has more than ${limits.acpMessageValuesMax} values`;
  }
  return null;
}

/** Returns the position of the quote that ends a string, or -1. */
function stringEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (before > from && text.charCodeAt(before - 1) === backslash) before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
  return -1;
}
