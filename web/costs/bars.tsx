/** Bars by day, stacked by model. Without any known price they show tokens. A click on a day filters the tables. */
import type { Signal } from "@preact/signals";
import { money, short } from "../parts/numbers.ts";
import { sumsBy, tokensOf, total, type CostCell, type Sum } from "./sums.ts";

const [width, height] = [800, 180];
/** The hues are given in the order of the dearest models. The rest share the last one. */
const huesMax = 6;

export function Bars({
  cells,
  days,
  chosen,
}: {
  cells: readonly CostCell[];
  days: readonly string[];
  chosen: Signal<string | null>;
}) {
  const models = sumsBy(cells, ({ model }) => model).map(({ key }) => key);
  const hasPrice = cells.some(({ usage }) => (usage.costUsd ?? 0) > 0);
  const valueOf = (sum: Sum): number => (hasPrice ? sum.dollars : tokensOf(sum));
  const byDay = Map.groupBy(cells, ({ day }) => day);
  const totals = days.map((day) => valueOf(total(byDay.get(day) ?? [])));
  const most = Math.max(...totals, 1e-9);
  const step = width / days.length;
  const words = (value: number): string => (hasPrice ? money(value) : `${short(value)} tokens`);
  return (
    <figure class="bars">
      <svg viewBox={`0 0 ${width} ${height + 24}`} aria-hidden="true">
        <text x={0} y={12}>
          {words(most)}
        </text>
        <line x1={0} x2={width} y1={height} y2={height} />
        {days.map((day, at) => (
          <DayBar
            key={day}
            day={day}
            sums={sumsBy(byDay.get(day) ?? [], ({ model }) => model)}
            at={{ x: at * step, step, scale: (height - 20) / most, isLabelled: at % Math.ceil(days.length / 8) === 0 }}
            valueOf={valueOf}
            hueOf={(model) => Math.min(models.indexOf(model), huesMax - 1)}
          />
        ))}
      </svg>
      <figcaption>
        <span class="row-of">
          {models.slice(0, huesMax).map((model, at) => (
            <span key={model} class="row-of">
              <i class={`swatch fill-${at}`} /> {model}
            </span>
          ))}
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

interface DayBarProps {
  day: string;
  sums: readonly Sum[];
  at: { x: number; step: number; scale: number; isLabelled: boolean };
  valueOf: (sum: Sum) => number;
  hueOf: (model: string) => number;
}

function DayBar({ day, sums, at: { x, step, scale, isLabelled }, valueOf, hueOf }: DayBarProps) {
  let top = height;
  return (
    <g>
      {sums.map((sum) => {
        const size = valueOf(sum) * scale;
        top -= size;
        const cached = sum.input + sum.output === 0 ? 0 : (sum.cached / (sum.input + sum.output)) * size;
        return (
          <g key={sum.key} class={`fill-${hueOf(sum.key)}`}>
            <rect x={x + step * 0.15} y={top} width={step * 0.7} height={size} />
            <rect class="cached" x={x + step * 0.15} y={top} width={step * 0.7} height={cached} />
          </g>
        );
      })}
      {isLabelled && (
        <text x={x + step / 2} y={height + 16} text-anchor="middle">
          {day.slice(5)}
        </text>
      )}
    </g>
  );
}
