/** The arguments of our tools. Their names have the form of aptove's API, as have the facts of the answers: `sessionId`. */
import { closest } from "fastest-levenshtein";
import * as z from "zod";
import { cutText, oneLine } from "../../domain/one-line.ts";

/** A model corrects itself by a few faults. Whatever else it wrote would only fill its context. */
const faultsMax = 10;
const shownCharactersMax = 100;

/** Returns a schema that refuses other arguments and names the nearest one: a model that wrote `session_id` corrects itself. */
export function toolArguments<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => (issue.code === "unrecognized_keys" ? unknownArguments(issue.keys, names) : undefined),
  });
}

function unknownArguments(keys: readonly string[], names: readonly string[]): string {
  const faults = keys.slice(0, faultsMax).map((key) => {
    const shown = cutText(oneLine(key), shownCharactersMax);
    return `${shown} is not known; the nearest argument is ${closest(shown, names)}`;
  });
  return [...faults, ...(keys.length > faultsMax ? [`and ${keys.length - faultsMax} more`] : [])].join("; ");
}
