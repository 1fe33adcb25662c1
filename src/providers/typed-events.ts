/** Parsing of streams whose events are distinguished by their field `type`. */
import * as z from "zod";

/**
 * Makes a parser for the data of server-sent events from the schemas of the events that are read. It returns null for
 * an event of another type. It throws if the data is not JSON or if the event lacks a required field.
 */
export function typedEventParser<Event>(
  schemas: Readonly<Record<string, z.ZodType<Event>>>,
): (data: string) => Event | null {
  const byType = new Map(Object.entries(schemas));
  const typed = z.object({ type: z.string() });
  return (data) => {
    const value: unknown = JSON.parse(data);
    // The schema only says what is wrong: it would take longer than the rest of most events.
    return byType.get(typeIn(value) ?? typed.parse(value).type)?.parse(value) ?? null;
  };
}

function typeIn(value: unknown): string | null {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
    ? value.type
    : null;
}

/** Makes the schema for objects of any type that is not in the list. Of such an object only this fact is kept. */
export function otherType(known: readonly string[]) {
  return z
    .object({ type: z.string().refine((type) => !known.includes(type)) })
    .transform(() => ({ type: "other" as const }));
}
