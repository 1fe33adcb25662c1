/** Returns a body as JSON. Halves of characters become U+FFFD, because many servers refuse them even as escapes. */
export function wellFormedJson(body: object): string {
  return JSON.stringify(body, (_name, value: unknown) => (typeof value === "string" ? value.toWellFormed() : value));
}
