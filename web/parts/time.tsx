/** A time relative to now, with the exact one as its title. */
import { signal } from "@preact/signals";
import { serverNow } from "../api/clock.ts";
import { ago, exactTime } from "./numbers.ts";

/** Counts up, so that the times are drawn again. */
const beat = signal(0);
setInterval(() => (beat.value += 1), 20_000);

/** A day, also one to come. */
export function Day({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {exactTime(at).slice(0, 10)}
    </time>
  );
}

export function Time({ at }: { at: string }) {
  void beat.value;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ago(Date.parse(at), serverNow())}
    </time>
  );
}
