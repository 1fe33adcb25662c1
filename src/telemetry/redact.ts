/**
 * Removes secrets from what the operator reads (E8). Every line of the log passes through here. It hides the secrets whose
 * values are known, and every text that looks like a secret: bearer tokens, keys of aptove and of the usual providers, and
 * passwords in addresses.
 */

import { hideSecretForms } from "../system/secret-forms.ts";

/** Shorter values ("ollama", "none") occur in any text and are not secrets. */
const secretCharactersMin = 8;

export type Redact = (text: string) => string;

/** Returns a function that hides secrets. `known` are the secrets by value; values that are too short are ignored. */
export function redactor(known: readonly string[]): Redact {
  const secrets = [...new Set(known)]
    .filter((value) => value.length >= secretCharactersMin)
    // A longer secret may contain a shorter one.
    .toSorted((one, other) => other.length - one.length);
  return (text) => {
    const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
    return hideSecretForms(hidden);
  };
}
