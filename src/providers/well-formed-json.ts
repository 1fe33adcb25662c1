/** A request as JSON text. Halves of characters, which many servers refuse also as escapes, become U+FFFD. */
export function wellFormedJson(body: object): string {
  return JSON.stringify(body, (_name, value: unknown) => (typeof value === "string" ? value.toWellFormed() : value));
}
