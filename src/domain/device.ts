/** Devices, each with a token of its own, and the codes by which they get one (P3). */
import type { Millis } from "./ids.ts";
import { limits } from "./limits.ts";

/** A device as it is listed: its token is an API key that carries the device's id. */
export interface Device {
  /** Of the token. */
  id: string;
  /** What the device is called in the protocols, and what its workspace is bound to (P2, W2). */
  deviceId: string;
  userId: string;
  name: string;
  createdAt: Millis;
  lastUsedAt: Millis | null;
}

/** A code as it is stored: one use, a short life, and a few wrong guesses; only the hash of it is kept. */
export interface PairingCode {
  id: string;
  orgId: string;
  userId: string;
  /** SHA-256 of the code as `pairingCodeText` gives it. */
  hash: string;
  createdAt: Millis;
  expiresAt: Millis;
  /** Wrong guesses, of any code of the store, until this one is worthless. */
  triesLeft: number;
  claimedAt: Millis | null;
  /** The API key that the device got for it. */
  keyId: string | null;
  /** The workspace that the device is to share; null: it gets one of its own (W2). */
  workspaceId: string | null;
}

/** What became of a code, as its maker may know. */
export interface Pairing {
  id: string;
  /** `ended`: it expired, or there were too many wrong guesses. */
  state: "open" | "claimed" | "ended";
  expiresAt: Millis;
  /** Of a claimed one. */
  device: Device | null;
}

/** Crockford's 32 signs: none is taken for another one. */
export const pairingAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
export const pairingCodeLength = 8;

/** A code as it is hashed, from what somebody typed: case, dashes and spaces do not count, O is 0, I and L are 1. */
export function pairingCodeText(typed: string): string {
  return typed.toUpperCase().replace(/[-\s]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1");
}

/** A code as it is shown: `XXXX-XXXX`. */
export function shownPairingCode(text: string): string {
  return `${text.slice(0, pairingCodeLength / 2)}-${text.slice(pairingCodeLength / 2)}`;
}

/** A device chooses its id, so it is never a path; it stands in rows, files and headers. */
export function isDeviceId(text: string): boolean {
  const isShort = text !== "" && text.length <= limits.deviceIdCharactersMax;
  return isShort && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

export const deviceIdForm = `1 to ${limits.deviceIdCharactersMax} characters of text, without control characters`;
