/** Devices, each of which has its own token, and the codes by which a device gets its token (P3). */
import type { Role } from "./caller.ts";
import type { Millis } from "./ids.ts";
import { limits } from "./limits.ts";

/** A device. Its token is an API key that carries the id of the device. */
export interface Device {
  /** The id of the token. */
  id: string;
  /** The id of the device in the protocols. The workspace of the device is bound to it (P2, W2). */
  deviceId: string;
  userId: string;
  name: string;
  createdAt: Millis;
  lastUsedAt: Millis | null;
}

/** A pairing code as it is stored. It can be used once, for a short time, and only its hash is kept. */
export interface PairingCode {
  id: string;
  orgId: string;
  userId: string;
  /** The role of the user when the code was made. The device never has more rights (H4). */
  roleMax: Role | null;
  /**
   * The first characters of the code. A guess counts only for the codes that begin like it, so that no stranger can end
   * the codes of others. Null for a code of a version without labels.
   */
  label: string | null;
  /** SHA-256 of the code in the form that `pairingCodeText` returns. */
  hash: string;
  createdAt: Millis;
  expiresAt: Millis;
  /** The number of wrong guesses with its label that remain until the code ends. */
  triesLeft: number;
  claimedAt: Millis | null;
  /** The id of the API key that the device received for the code. Null until then. */
  keyId: string | null;
  /** The workspace that the device will share. Null: it gets its own workspace (W2). */
  workspaceId: string | null;
}

/** The state of a pairing code, as the user who made it sees it. */
export interface Pairing {
  id: string;
  /** `claimed`: a device used the code. `ended`: the code expired, or there were too many wrong guesses. */
  state: "open" | "claimed" | "ended";
  expiresAt: Millis;
  /** The device that used the code. Null unless the state is `claimed`. */
  device: Device | null;
}

/** The 32 characters of Crockford's alphabet, which leaves out those that look like another one. */
export const pairingAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** The length of a code: its label, and then 40 random bits, too many to be guessed in five attempts. */
export const pairingCodeLength = 12;
const pairingLabelLength = 4;

/**
 * Returns the code that a person typed, in the form that is hashed: case, dashes and spaces are ignored, O becomes 0, I
 * and L become 1.
 */
export function pairingCodeText(typed: string): string {
  return typed.toUpperCase().replace(/[-\s]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1");
}

/** Returns the label of a code in the form of `pairingCodeText`. Empty if the text cannot be a code. */
export function pairingLabel(text: string): string {
  const isCode = text.length === pairingCodeLength && [...text].every((letter) => pairingAlphabet.includes(letter));
  return isCode ? text.slice(0, pairingLabelLength) : "";
}

/** Returns the code in the form that a person sees: `XXXX-XXXX-XXXX`. */
export function shownPairingCode(text: string): string {
  return (text.match(/.{1,4}/g) ?? []).join("-");
}

/**
 * Returns true if the text can be the id of a device. The device chooses its id, so it is never part of a path, but it
 * is part of rows, files and headers.
 */
export function isDeviceId(text: string): boolean {
  const isShort = text !== "" && text.length <= limits.deviceIdCharactersMax;
  return isShort && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

export const deviceIdForm = `1 to ${limits.deviceIdCharactersMax} characters of text, without control characters`;
