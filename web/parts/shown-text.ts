/**
 * Text of others as it is safe to show in one line: characters that turn the direction of text, and other invisible ones, become
 * visible, so that a name or a command cannot look like another one.
 */
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** The joiner between two emoji makes them one, for example a family. */
const emojiJoiner = /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})/gu;

export function shownText(text: string): string {
  if (!text.includes("\u200d")) return withoutInvisible(text);
  return text.split(emojiJoiner).map(withoutInvisible).join("\u200d");
}

function withoutInvisible(text: string): string {
  return text.replaceAll(invisible, (letter) => `\u27e8U+${letter.charCodeAt(0).toString(16).padStart(4, "0")}\u27e9`);
}

/** Commands are shown whole. A long run of blanks, which could push the end of the line out of sight, is counted instead. */
export function shownCommand(text: string): string {
  return text
    .split("\n")
    .map((line) => shownText(line).replaceAll(/ {5,}/g, (blanks) => `\u00b7\u00d7${blanks.length}`))
    .join("\n");
}
