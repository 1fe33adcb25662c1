/** Text in the form that this API takes. */

/** Checks whether a text has nothing but white space: the API refuses such a block. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** Replaces halves of characters, which the API refuses even as escapes in JSON. */
export function sendableText(text: string): string {
  return text.toWellFormed();
}
