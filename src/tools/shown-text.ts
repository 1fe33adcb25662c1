/** Texts of strangers (names of files, commands, what servers say) as people are shown them: on one line, and as they are. */

/** Moves the cursor, ends the line, or turns the order of the letters after it around. */
const deceiving = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** One with letters that deceive the eye is quoted as in JSON. */
export function shownPath(path: string): string {
  return path.search(deceiving) === -1 ? path : shownText(JSON.stringify(path));
}

/** Letters that deceive the eye are written as their numbers. */
export function shownText(text: string): string {
  return text.replace(deceiving, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
