/** The arguments that a model wrote for a call, as a person sees them. */

/** Returns the arguments as an object. The model may write some that are no JSON; they are shown as they are. */
export function parsedArguments(given: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(given);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : { arguments: given };
  } catch {
    return { arguments: given };
  }
}
