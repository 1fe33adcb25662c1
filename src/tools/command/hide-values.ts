/**
 * Takes the keys that are known out of what a command wrote (E8). The environment of this process, or its files, can be
 * read by any command of the same user; what comes of it goes to a model, and is kept.
 */

/** Shorter ones ("ollama", "none") stand in any text, and are no secrets. */
const secretCharactersMin = 16;

export interface ValueHider {
  /** A whole text. */
  hide(text: string): string;
  /** A text that comes in pieces, none of which says half of a secret: what may go on in the next piece is held back. */
  stream(onText: (text: string) => void): { add(piece: string): void; end(): void };
}

export function valueHider(values: readonly string[]): ValueHider {
  const secrets = [...new Set(values)]
    .filter((value) => value.length >= secretCharactersMin)
    // A longer one may hold a shorter one.
    .toSorted((one, other) => other.length - one.length);
  const hide = (text: string): string => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, "***"), text);
  return {
    hide,
    stream: (onText) => {
      let held = "";
      const say = (text: string): void => {
        if (text !== "") onText(text);
      };
      return {
        add: (piece) => {
          const text = hide(held + piece);
          const from = text.length - beginningAtEnd(text, secrets);
          held = text.slice(from);
          say(text.slice(0, from));
        },
        end: () => {
          say(held);
          held = "";
        },
      };
    },
  };
}

/** How many characters at the end of the text may be the beginning of a secret. */
function beginningAtEnd(text: string, secrets: readonly string[]): number {
  const lengths = secrets.map((secret) => {
    let length = Math.min(secret.length - 1, text.length);
    while (length > 0 && !text.endsWith(secret.slice(0, length))) length--;
    return length;
  });
  return Math.max(0, ...lengths);
}
