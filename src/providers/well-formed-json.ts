/** Returns a body as JSON. Halves of characters become U+FFFD, because many servers refuse them even as escapes. */
export function wellFormedJson(body: object): string {
  return JSON.stringify(body, (_name, value: unknown) => {
    if (typeof value === "string") return value.toWellFormed();
    const isTable = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!isTable || Object.keys(value).every((name) => name.isWellFormed())) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name.toWellFormed(), inner]));
  });
}
