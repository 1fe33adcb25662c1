/**
 * Removes known keys from the output of a command (E8). Any command of the same user can read the environment of this
 * process or its files, and its output goes to a model and is stored.
 */

/** The shortest value that is hidden. Shorter ones ("ollama", "none") occur in any text and are not secrets. */
const secretCharactersMin = 16;

export interface ValueHider {
  /** Returns the text with each key replaced. */
  hide(text: string): string;
  /** Hides keys in a text that arrives in pieces. The end of a piece that may be the beginning of a key is held until the next piece. */
  stream(onText: (text: string) => void): { add(piece: string): void; end(): void };
}

export function valueHider(values: readonly string[]): ValueHider {
  const secrets = [...new Set(values)]
    .filter((value) => value.length >= secretCharactersMin)
    // A longer value may contain a shorter one.
    .toSorted((one, other) => other.length - one.length);
  const hide = (text: string): string => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, "***"), text);
  return {
    hide,
    stream: (onText) => {
      let held = "";
      const emit = (text: string): void => {
        if (text !== "") onText(text);
      };
      return {
        add: (piece) => {
          const text = hide(held + piece);
          const from = text.length - beginningAtEnd(text, secrets);
          held = text.slice(from);
          emit(text.slice(0, from));
        },
        end: () => {
          emit(held);
          held = "";
        },
      };
    },
  };
}

/** Returns the number of characters at the end of the text that may be the beginning of a secret. */
function beginningAtEnd(text: string, secrets: readonly string[]): number {
  const lengths = secrets.map((secret) => {
    let length = Math.min(secret.length - 1, text.length);
    while (length > 0 && !text.endsWith(secret.slice(0, length))) length--;
    return length;
  });
  return Math.max(0, ...lengths);
}
