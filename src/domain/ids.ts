/**
 * Ids and hashes. Every id is a UUID of version 7, so ids sort by the time they were made.
 */
import { createHash, randomUUIDv7 } from "node:crypto";

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns a new id, in lower case with hyphens. Ids sort by the time at which they were made. */
export function newId(): string {
  return randomUUIDv7();
}

/** Returns the id of a text, always the same for the same text: a UUID of version 8, made from its SHA-256. */
export function idOf(text: string): string {
  const hex = sha256(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/**
 * Returns the time at which an id was made. The first 48 bits of a UUID of version 7 are milliseconds since the epoch.
 */
export function timeOfId(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}

/** Returns true for a lower-case UUID of any version. Only such a text may become part of a path. */
export function isId(text: string): boolean {
  return uuidPattern.test(text);
}

/** Returns the SHA-256 of raw bytes, or of the UTF-8 bytes of a string, in lower-case hexadecimal (X3, Q1). */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Milliseconds since the epoch, in UTC. Rows and domain values use this form; the wire uses ISO 8601. */
export type Millis = number;

/** The last millisecond of the year 9999. A later time has another form in ISO 8601, or none at all. */
export const timeMax: Millis = 253_402_300_799_999;
/** The first millisecond of the year 0. */
const timeMin: Millis = -62_167_219_200_000;

/**
 * Returns a time in ISO 8601, in UTC with milliseconds and `Z`. This is the only form of a time on the wire. A time that does
 * not have this form is written as the nearest one that has it: otherwise one damaged row would hide all others of a list.
 */
export function isoTime(time: Millis): string {
  return new Date(Math.min(Math.max(time, timeMin), timeMax)).toISOString();
}
