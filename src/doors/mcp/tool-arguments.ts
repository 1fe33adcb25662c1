/** The arguments of our tools. Their names have the form of aptove's API, as have the facts of the answers: `sessionId`. */
import { closest } from "fastest-levenshtein";
import * as z from "zod";

/** Returns a schema that refuses other arguments and names the nearest one: a model that wrote `session_id` corrects itself. */
export function toolArguments<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => `${key} is not known; the nearest argument is ${closest(key, names)}`).join("; ")
        : undefined,
  });
}
