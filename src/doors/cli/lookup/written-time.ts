/** Reads the times that options name. */
import { UsageError } from "../failure.ts";

/** Returns a day or a time that a person wrote as an ISO time. Throws a UsageError that names the option. */
export function writtenTime(option: string, text: string): string {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError(`${option} ${text} is no date`, "write it like 2026-11-23");
  return new Date(time).toISOString();
}
