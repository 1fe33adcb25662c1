/** A clock that all processes of one machine share. */

/** Returns microseconds of the machine's steady clock. */
export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
