/** Makes untrusted text (file names, commands, messages of servers) safe to show to people: on one line, with nothing hidden. */

/** Characters that move the cursor, end the line, or change the direction of the letters after them. */
const deceiving = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Returns the path. A path with deceiving characters is quoted as in JSON. */
export function shownPath(path: string): string {
  return path.search(deceiving) === -1 ? path : shownText(JSON.stringify(path));
}

/** Returns the text with each deceiving character as its code, such as `\u202e`. */
export function shownText(text: string): string {
  return text.replace(deceiving, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
