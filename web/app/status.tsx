/** The one line that screen readers speak: what started, waits, or has ended. Text that streams is never spoken piece by piece. */
import { signal } from "@preact/signals";

export const spoken = signal("");

export function Status() {
  return (
    <p class="spoken" role="status" aria-live="polite">
      {spoken.value}
    </p>
  );
}
