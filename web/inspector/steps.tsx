/** The steps of a turn: each model call with its time, tokens and cost, as equal blocks or on a scale of time. */
import { useSignal } from "@preact/signals";
import type { WireTurn } from "../../src/client/client.ts";
import { bytes, count, duration, money } from "../parts/numbers.ts";
import { Empty } from "../parts/states.tsx";

export function Steps({ turn: { steps } }: { turn: WireTurn }) {
  const byTime = useSignal(false);
  const first = Date.parse(steps[0]?.startedAt ?? "");
  const whole = Math.max(1, Date.parse(steps.at(-1)?.endedAt ?? "") - first);
  if (steps.length === 0) return <Empty>The model was not called.</Empty>;
  return (
    <>
      <label class="check">
        <input type="checkbox" checked={byTime.value} onChange={() => (byTime.value = !byTime.value)} />
        On a scale of time
      </label>
      <ol class="steps">
        {steps.map(({ index, model, startedAt, endedAt, usage, status, failure, requestBytes, previousResponseId }) => {
          const from = (Date.parse(startedAt) - first) / whole;
          const took = Date.parse(endedAt) - Date.parse(startedAt);
          const style = byTime.value
            ? { marginInlineStart: `${from * 100}%`, width: `${Math.max(1, (took / whole) * 100)}%` }
            : {};
          return (
            <li key={index} class={status}>
              <div class="step-bar" style={style} />
              <div class="step-facts numbers">
                <b>Step {index}</b>
                <span>{model}</span>
                <span>{duration(took)}</span>
                <span>
                  {usage.inputTokens === null ? "?" : count(usage.inputTokens)} in
                  {(usage.cachedTokens ?? 0) > 0 && ` (${count(usage.cachedTokens ?? 0)} cached)`}
                </span>
                <span>{usage.outputTokens === null ? "?" : count(usage.outputTokens)} out</span>
                {usage.costUsd !== undefined && <span>{money(usage.costUsd)}</span>}
                <span>{bytes(requestBytes)} sent</span>
                <span>{previousResponseId === null ? "whole history" : "continues the provider's own"}</span>
              </div>
              {failure !== null && (
                <p class="notice fail">
                  {failure.message} <code>{failure.code}</code>
                </p>
              )}
            </li>
          );
        })}
      </ol>
    </>
  );
}
