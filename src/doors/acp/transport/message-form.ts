/**
 * Looks at a message before it is parsed: one that is small in bytes and made of millions of values, or nested in
 * millions of levels, would keep the process's only thread for seconds.
 */
import { limits } from "../../../domain/limits.ts";

const [quote, backslash, comma, openList, closeList, openObject, closeObject] = [...'"\\,[]{}'].map((sign) =>
  sign.charCodeAt(0),
);

/** Why the text is not to be parsed; null: it may be. Whether it is JSON at all, the parser says. */
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

/** Where the quote is that ends a string; -1: nowhere. */
function stringEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (before > from && text.charCodeAt(before - 1) === backslash) before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
  return -1;
}
