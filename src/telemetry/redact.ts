/**
 * Takes secrets out of what is written for the operator (E8): the one place that every line of the log goes through. Hidden
 * are the secrets that are known by value, and whatever has the form of one: a bearer's token, our own keys, those of the
 * usual providers, and the password in an address.
 */

import { hideSecretForms } from "../system/secret-forms.ts";

/** Shorter ones ("ollama", "none") stand in any text, and are no secrets. */
const secretCharactersMin = 8;

export type Redact = (text: string) => string;

/** `known`: secrets by value; what is too short to be one does not count. */
export function redactor(known: readonly string[]): Redact {
  const secrets = [...new Set(known)]
    .filter((value) => value.length >= secretCharactersMin)
    // A longer one may hold a shorter one.
    .toSorted((one, other) => other.length - one.length);
  return (text) => {
    const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
    return hideSecretForms(hidden);
  };
}
