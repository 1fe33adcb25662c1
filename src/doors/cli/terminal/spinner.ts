/** The sign of something that goes on: it moves by the clock, whoever looks. */
const signs = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

export const spinnerMs = 100;

export function spinner(): string {
  return signs.charAt(Math.floor(Date.now() / spinnerMs) % signs.length);
}
