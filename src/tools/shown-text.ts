/** Makes untrusted text (file names, commands, messages of servers) safe to show to people, with nothing hidden. */

import { join } from "node:path";

/** Characters that move the cursor, end the line, or change the direction of the letters after them. */
const deceiving = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
/**
 * Characters that take no room or show nothing: they could hide in a command, or make two texts look the same. U+2800 looks
 * like a blank, but is none.
 */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** More marks on one letter than any writing has. They could cover the text around them. */
const manyMarks = /\p{M}{5,}/gu;
/** More blanks than any layout of a command needs. They could push the rest out of sight. */
const manyBlanks = /[^\S\n]{16,}/g;
const manyLines = /\n(?:[^\S\n]*\n){5,}/g;

/** Returns the path. A path with deceiving characters is quoted as in JSON. */
export function shownPath(path: string): string {
  return path.search(deceiving) === -1 ? path : shownText(JSON.stringify(path));
}

/** Returns the path of something in a folder, both as they are shown. The top folder of a repository is its name and a colon. */
export function shownBelow(folder: string, path: string): string {
  if (folder === ".") return path;
  return folder.endsWith(":") ? `${folder}${path}` : join(folder, path);
}

/** Returns the text, on one line, with each deceiving character as its code, such as `\u202e`. */
export function shownText(text: string): string {
  return text.replace(deceiving, code);
}

/** Returns the text with each deceiving character as its code. Line feeds and tabs stay. */
export function shownLines(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(deceiving, (letter) => (letter === "\n" || letter === "\t" ? letter : code(letter)));
}

/**
 * Returns a text about which a person decides, with everything visible: characters that deceive or take no room as their
 * codes, and the number of blanks or empty lines in place of a long run of them. Line feeds and tabs stay.
 */
export function visibleText(text: string): string {
  return shownLines(text)
    .replace(invisible, code)
    .replace(manyMarks, (marks) => [...marks].map(code).join(""))
    .replace(manyLines, (lines) => `\n⟨${lines.split("\n").length - 2} empty lines⟩\n`)
    .replace(manyBlanks, (blanks) => `⟨${blanks.length} blanks⟩`);
}

function code(letter: string): string {
  const number = letter.codePointAt(0) ?? 0;
  return number > 0xffff ? `\\u{${number.toString(16)}}` : `\\u${number.toString(16).padStart(4, "0")}`;
}
