/** Makes untrusted text (file names, commands, messages of servers) safe to show to people, with nothing hidden. */

import { join } from "node:path";

/** Characters that move the cursor, end the line, or change the direction of the letters after them. */
const deceiving = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
/**
 * Characters that take no room or show nothing: they could hide in a command, or make two texts look the same. U+2800 looks
 * like a blank, but is none.
 */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Characters that show nothing, and what must stand before those that a script or a picture needs. */
const unseen = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;
const needed: readonly [what: RegExp, after: RegExp][] = [
  // Joiners: within Persian and Indic words, and between the parts of one picture.
  [
    /^[\u200c\u200d]/,
    /(?:[[\p{L}\p{M}]--[\p{Script=Latin}\p{Script=Inherited}]]|\p{Emoji_Modifier}|\p{Extended_Pictographic}\ufe0f?)$/v,
  ],
  // Selectors of the form of a picture or a character.
  [/^[\ufe0e\ufe0f]/, /\p{Emoji}$/u],
  [/^[\ufe00-\ufe02\u{e0100}-\u{e01ef}]/u, /\p{Script=Han}$/u],
  [/^[\u180b-\u180f]/, /\p{Script=Mongolian}$/u],
  // The letters of the flag of a country's part.
  [/^[\u{e0061}-\u{e007a}\u{e007f}]/u, /\u{1f3f4}[\u{e0061}-\u{e007a}]*$/u],
];
/** The longest of what must stand before, in code units. */
const neededBeforeMax = 12;
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
export function shownLines(text: string, as: (letter: string) => string = code): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(deceiving, (letter) => (letter === "\n" || letter === "\t" ? letter : as(letter)));
}

/**
 * Returns a text with each character as its code that moves the cursor, changes the direction of the letters after it, or shows
 * nothing. Line feeds and tabs stay, and what a script or a picture needs. `as` gives the code of a character.
 */
export function harmlessText(text: string, as: (letter: string) => string = code): string {
  return shownLines(text, as).replace(unseen, (letter, at: number, whole: string) => {
    const before = whole.slice(Math.max(0, at - neededBeforeMax), at);
    return needed.some(([what, after]) => what.test(letter) && after.test(before)) ? letter : as(letter);
  });
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

/** The code of a character, such as `\u202e`. */
function code(letter: string): string {
  const number = letter.codePointAt(0) ?? 0;
  return number > 0xffff ? `\\u{${number.toString(16)}}` : `\\u${number.toString(16).padStart(4, "0")}`;
}
