/** Bars by day, stacked by model, cached input lighter. Without any known price they show tokens. A click on a day filters the tables. */
import type { Signal } from "@preact/signals";
import { money, percent, short } from "../parts/numbers.ts";
import { sumsBy, tokensOf, total, type CostCell, type Sum } from "./sums.ts";

/** The hues are given in the order of the dearest models. The rest share the last one. */
const huesMax = 6;

interface BarsProps {
  cells: readonly CostCell[];
  days: readonly string[];
  chosen: Signal<string | null>;
}

export function Bars({ cells, days, chosen }: BarsProps) {
  const models = sumsBy(cells, ({ model }) => model).map(({ key }) => key);
  const hasPrice = cells.some(({ usage }) => (usage.costUsd ?? 0) > 0);
  const valueOf = (sum: Sum): number => (hasPrice ? sum.dollars : tokensOf(sum));
  const words = (value: number): string => (hasPrice ? money(value) : `${short(value)} tokens`);
  const byDay = Map.groupBy(cells, ({ day }) => day);
  const totals = days.map((day) => valueOf(total(byDay.get(day) ?? [])));
  const most = Math.max(...totals, 1e-9);
  return (
    <figure class="bars">
      <p class="bars-most dim numbers">{words(most)}</p>
      <div class="bars-plot" aria-hidden="true">
        {days.map((day, at) => (
          <div
            key={day}
            class={chosen.value === day ? "bars-day chosen" : "bars-day"}
            title={`${day}: ${words(totals[at] ?? 0)}`}
            onClick={() => (chosen.value = chosen.value === day ? null : day)}
          >
            {sumsBy(byDay.get(day) ?? [], ({ model }) => model).map((sum) => (
              <Segment
                key={sum.key}
                sum={sum}
                share={valueOf(sum) / most}
                hue={Math.min(models.indexOf(sum.key), huesMax - 1)}
                words={words(valueOf(sum))}
              />
            ))}
          </div>
        ))}
      </div>
      <p class="bars-axis dim numbers" aria-hidden="true">
        <span>{days[0]}</span>
        <span>{days.at(-1)}</span>
      </p>
      <figcaption>
        <span class="row-of">
          {models.slice(0, huesMax).map((model, at) => (
            <span key={model} class="row-of">
              <i class={`swatch fill-${at}`} /> {model}
              {at === huesMax - 1 && models.length > huesMax && " and others"}
            </span>
          ))}
          <span class="dim small-text">The lighter part was cached.</span>
        </span>
        <label>
          Day
          <select
            value={chosen.value ?? ""}
            onChange={({ currentTarget }) => (chosen.value = currentTarget.value || null)}
          >
            <option value="">all days</option>
            {days.map((day, at) => (
              <option key={day} value={day}>
                {day}: {words(totals[at] ?? 0)}
              </option>
            ))}
          </select>
        </label>
      </figcaption>
    </figure>
  );
}

interface SegmentProps {
  sum: Sum;
  /** Its part of the highest day. */
  share: number;
  hue: number;
  words: string;
}

function Segment({ sum, share, hue, words }: SegmentProps) {
  const cached = tokensOf(sum) === 0 ? 0 : sum.cached / tokensOf(sum);
  return (
    <div
      class={`bars-part fill-${hue}`}
      style={{ height: `${share * 100}%` }}
      title={`${sum.key}: ${words}, ${percent(cached)} of its tokens cached`}
    >
      <div class="cached" style={{ height: `${cached * 100}%` }} />
    </div>
  );
}
