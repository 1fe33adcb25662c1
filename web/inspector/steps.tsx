/** The steps of a turn: each model call with its time, tokens and cost, as equal blocks or on a scale of time. */
import { useSignal } from "@preact/signals";
import type { WireStep, WireTurn } from "../../src/client/client.ts";
import { bytes, count, duration, money, plural } from "../parts/numbers.ts";
import { Empty } from "../parts/states.tsx";

const scales = [
  ["sequence", "Sequence"],
  ["time", "Time"],
] as const;

export function Steps({ turn: { steps } }: { turn: WireTurn }) {
  const scale = useSignal<(typeof scales)[number][0]>("sequence");
  const first = Date.parse(steps[0]?.startedAt ?? "");
  const whole = Math.max(1, Date.parse(steps.at(-1)?.endedAt ?? "") - first);
  if (steps.length === 0) return <Empty>The model was not called.</Empty>;
  const inModel = steps.reduce((sum, step) => sum + tookOf(step), 0);
  return (
    <>
      <p class="row-of" role="group" aria-label="Scale">
        {scales.map(([id, label]) => (
          <button
            key={id}
            type="button"
            class="small"
            aria-pressed={scale.value === id}
            onClick={() => (scale.value = id)}
          >
            {label}
          </button>
        ))}
      </p>
      <p class="dim numbers small-text">
        {plural(steps.length, "step")} in {duration(whole)}: {duration(inModel)} in the model,{" "}
        {duration(Math.max(0, whole - inModel))} between
      </p>
      <ol class="steps">
        {steps.map((step, at) => (
          <Step
            key={step.index}
            step={step}
            after={steps[at - 1]}
            style={scale.value === "time" ? placeOf(step, { first, whole }) : {}}
          />
        ))}
      </ol>
    </>
  );
}

function tookOf({ startedAt, endedAt }: WireStep): number {
  return Math.max(0, Date.parse(endedAt) - Date.parse(startedAt));
}

function placeOf(step: WireStep, { first, whole }: { first: number; whole: number }): Record<string, string> {
  const from = Math.max(0, (Date.parse(step.startedAt) - first) / whole);
  const share = Math.min(1 - from, Math.max(0.01, tookOf(step) / whole));
  return { marginInlineStart: `${Math.min(0.99, from) * 100}%`, width: `${Math.max(0.01, share) * 100}%` };
}

/** The tools run between two calls. A shorter time is our own work. */
const shownPauseMs = 20;

interface StepProps {
  step: WireStep;
  after: WireStep | undefined;
  style: Record<string, string>;
}

function Step({ step, after, style }: StepProps) {
  const { index, model, startedAt, usage, status, failure, requestBytes, previousResponseId, stopReason } = step;
  const pause = after === undefined ? 0 : Date.parse(startedAt) - Date.parse(after.endedAt);
  const facts = [
    model,
    duration(tookOf(step)),
    `${usage.inputTokens === null ? "?" : count(usage.inputTokens)} in${cachedWords(usage.cachedTokens)}`,
    `${usage.outputTokens === null ? "?" : count(usage.outputTokens)} out`,
    usage.costUsd === undefined ? "price not known" : money(usage.costUsd),
    `${bytes(requestBytes)} sent`,
    previousResponseId === null ? "whole history" : "continues the provider's own",
    stopReason?.replaceAll("_", " ") ?? "",
  ].filter((one) => one !== "");
  return (
    <li class={status}>
      {pause > shownPauseMs && <p class="dim numbers small-text">{duration(pause)} of tools</p>}
      <div class="step-bar" style={style} />
      <div class="step-facts numbers">
        <b>Step {index}</b>
        {facts.map((one, at) => (
          <span key={at}>{one}</span>
        ))}
      </div>
      {failure !== null && (
        <p class="notice fail">
          {failure.message} <code>{failure.code}</code>
        </p>
      )}
    </li>
  );
}

function cachedWords(cached: number | null): string {
  return cached === null || cached === 0 ? "" : ` (${count(cached)} cached)`;
}
