/** Checks whether a text has nothing but white space: the API refuses such a block. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}
