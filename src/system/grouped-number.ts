/** Writes numbers for people, as English does. */

/** Returns a whole number with commas between its thousands: 1,234. `toLocaleString` would load the rules of all languages first, which takes 10 ms. */
export function groupedNumber(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

/** Returns the number with its noun: "1 file", "1,234 files". */
export function plural(count: number, noun: string): string {
  return `${groupedNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}
