/** The spinner of running work. Its frame depends on the clock alone. */
const signs = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

export const spinnerMs = 100;

export function spinner(): string {
  return signs.charAt(Math.floor(Date.now() / spinnerMs) % signs.length);
}
