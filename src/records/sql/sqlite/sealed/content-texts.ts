/** The texts that reader and writer of a content have beside it, in the forms in which they stand in its parts (K6). */
import type { ContentText } from "./content-row.ts";

/** A shorter text of a state is not worth looking for. */
const stateTextBytesMin = 100;
const stateTextsMax = 32;

/** Texts in which each byte of UTF-8 is one character. */
export interface ContentTexts {
  /** The form in which they stand in JSON. */
  once: string[];
  /** The form in which they stand in JSON that is itself a text in JSON, like a request in a recipe. */
  twice: string[];
}

/** Returns the words of a turn. */
export function wordsOf({ instruction, answer }: ContentText): ContentTexts {
  return inBothForms([instruction, answer].map((text) => inJson(Buffer.from(text).toString("latin1"))));
}

/** Returns the words and the longer texts of a state, in the order in which they stand in it. */
export function withTextsOf(words: ContentTexts, state: Buffer): ContentTexts {
  const found = inBothForms(textsInJson(state.toString("latin1")));
  return { once: [...words.once, ...found.once], twice: [...words.twice, ...found.twice] };
}

/** Returns the words in a form as bytes. They stand before the frames, because a part may have a piece of them. */
export function asBytes(texts: readonly string[]): Buffer {
  return Buffer.from(texts.join(""), "latin1");
}

/** Returns both forms, each text after the other. */
export function allForms({ once, twice }: ContentTexts): string[] {
  return once.flatMap((text, index) => [text, twice[index] ?? ""]);
}

function inBothForms(once: string[]): ContentTexts {
  return { once, twice: once.map(inJson) };
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Returns the longer texts of a JSON value. It may have gaps, but not in a text. */
function textsInJson(json: string): string[] {
  const found: string[] = [];
  for (let start = json.indexOf('"'); start !== -1 && found.length < stateTextsMax;) {
    const end = endOfText(json, start + 1);
    if (end - start > stateTextBytesMin) found.push(json.slice(start + 1, end));
    start = json.indexOf('"', end + 1);
  }
  return found;
}

/** Returns the place of the quotation mark that ends a text. */
function endOfText(json: string, from: number): number {
  for (let at = json.indexOf('"', from); at !== -1; at = json.indexOf('"', at + 1)) {
    let escapes = at;
    while (escapes > from && json[escapes - 1] === "\\") escapes -= 1;
    if ((at - escapes) % 2 === 0) return at;
  }
  return json.length;
}
