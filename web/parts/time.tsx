/** A time relative to now, with the exact one as its title. */
import { signal } from "@preact/signals";
import { ago, exactTime } from "./numbers.ts";

const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 20_000);

export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ago(Date.parse(at), now.value)}
    </time>
  );
}
