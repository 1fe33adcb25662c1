/** The server's clock, by which the page shows every time. That of the browser's machine may be hours off. */
import { signal } from "@preact/signals";

/** The header of an answer has whole seconds, and answers take some time. */
const jitterMs = 3_000;

const aheadMs = signal(0);

/** Takes over the time of an answer, from its header `Date`. */
export function sawTime(date: string | null): void {
  const at = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(at)) return;
  const ahead = at - Date.now();
  if (Math.abs(ahead - aheadMs.value) > jitterMs) aheadMs.value = Math.abs(ahead) > jitterMs ? ahead : 0;
}

/** The server's time in epoch milliseconds. A component that reads it is drawn again when the clock is corrected. */
export function serverNow(): number {
  return Date.now() + aheadMs.value;
}
