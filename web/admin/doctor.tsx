/** What the server finds about itself (U10, L1): each check appears at once, and its answer when it is done. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { WireCheck } from "../../src/client/client.ts";
import { client, wordsOf } from "../api/connection.ts";
import { shownText } from "../parts/shown-text.ts";

const shown: Record<WireCheck["state"], { words: string; look: string }> = {
  running: { words: "is checked", look: "" },
  ok: { words: "works", look: "ok" },
  note: { words: "to know", look: "" },
  failed: { words: "failed", look: "bad" },
};

export function Doctor() {
  const checks = useSignal<readonly WireCheck[]>([]);
  const fault = useSignal("");
  const isRunning = useSignal(true);
  const running = useRef<AbortController | null>(null);
  const run = async (): Promise<void> => {
    running.current?.abort();
    const own = (running.current = new AbortController());
    fault.value = "";
    isRunning.value = true;
    try {
      for await (const check of client.inspect({ signal: own.signal })) {
        const isKnown = checks.value.some(({ name }) => name === check.name);
        checks.value = isKnown
          ? checks.value.map((one) => (one.name === check.name ? check : one))
          : [...checks.value, check];
      }
    } catch (error) {
      if (!own.signal.aborted) fault.value = wordsOf(error);
    }
    if (running.current === own) isRunning.value = false;
  };
  useEffect(() => {
    void run();
    return () => running.current?.abort();
  }, []);
  return (
    <section aria-label="Checks">
      <h2>Checks</h2>
      {fault.value !== "" && (
        <p class="notice fail" role="alert">
          {fault.value}
        </p>
      )}
      <ul class="checks">
        {checks.value.map((check) => (
          <CheckLine key={check.name} check={check} />
        ))}
      </ul>
      <p class="row-of">
        <button type="button" disabled={isRunning.value} onClick={() => void run()}>
          Run again
        </button>
        <span role="status" class="dim">
          {isRunning.value ? "The parts are checked." : summaryOf(checks.value)}
        </span>
      </p>
    </section>
  );
}

function CheckLine({ check: { name, state, detail, fix } }: { check: WireCheck }) {
  return (
    <li>
      <b>{name}</b> <span class={`tag ${shown[state].look}`}>{shown[state].words}</span>
      <div>{shownText(detail)}</div>
      {fix !== null && <div class="dim">What to do: {shownText(fix)}</div>}
    </li>
  );
}

function summaryOf(checks: readonly WireCheck[]): string {
  const failed = checks.filter(({ state }) => state === "failed").length;
  if (checks.length === 0) return "";
  return failed === 0 ? "Every part works." : `${failed} of ${checks.length} parts failed.`;
}
