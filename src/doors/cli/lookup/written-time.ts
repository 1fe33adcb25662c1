/** Reads the times that options name. */
import { UsageError } from "../failure.ts";

/**
 * Returns a day or a time that a person wrote as an ISO time. Throws a UsageError that names the option, and shows the
 * example in its fix.
 */
export function writtenTime(option: string, text: string, example = "2026-11-23"): string {
  const time = isRealDay(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new UsageError(`${option} ${text} is no date`, `write it like ${example}`);
  return new Date(time).toISOString();
}

/** `Date.parse` takes the 30th of February for a day of March, and finds a date in nearly every text with a number. */
function isRealDay(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}\S*)?$/.exec(text) ?? [];
  const found = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return found.getUTCMonth() + 1 === Number(month) && found.getUTCDate() === Number(day);
}
