/**
 * Returns the words on one line: control characters and line breaks, which would corrupt terminals and lists, become a space. Marks that
 * turn the direction of writing stay, because some languages need them; who shows the text isolates it.
 */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
}

/** Returns a text of at most `max` Unicode characters. A longer text ends with `…`. */
export function cutText(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}
