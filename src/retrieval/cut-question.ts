import { limits } from "../domain/limits.ts";

/** Returns the beginning and the end of a long question. The middle is usually a pasted log. */
export function cutQuestion(text: string): string {
  if (text.length <= limits.questionCharactersMax) return text;
  const half = limits.questionCharactersMax / 2;
  return `${text.slice(0, half)}\n${text.slice(-half)}`;
}
