/** The numbers of a report as tables. On a phone each row is a name with its numbers below it. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { count, money, percent, plural } from "../parts/numbers.ts";
import type { Sum } from "./sums.ts";

export function dollars(sum: Sum): string {
  if (sum.dollars === 0 && sum.isAtLeast) return "price not known";
  return `${sum.isAtLeast ? "at least " : ""}${money(sum.dollars)}`;
}

/** Returns a count of tokens in words. Null: it is not known, which is not 0. */
export function tokenCount(tokens: number, { isPartial }: Sum): string | null {
  if (tokens === 0 && isPartial) return null;
  return `${isPartial ? "at least " : ""}${count(tokens)}`;
}

const shownAtFirst = 10;
const columns = ["Turns", "Input", "Cached", "Output", "Cost"] as const;

interface SumsTableProps {
  title: string;
  /** What a row is about. */
  first: string;
  sums: readonly Sum[];
  label(key: string): ComponentChildren;
}

export function SumsTable({ title, first, sums, label }: SumsTableProps) {
  const limit = useSignal(shownAtFirst);
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <table class="plain-table numbers sums" role="table">
        <thead role="rowgroup">
          <tr role="row">
            {[first, ...columns].map((one, at) => (
              <th key={one} scope="col" role="columnheader" class={at === 0 ? "" : "right"}>
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {sums.slice(0, limit.value).map((sum) => (
            <tr key={sum.key} role="row">
              <th scope="row" role="rowheader">
                {label(sum.key)}
              </th>
              {valuesOf(sum).map((value, at) => (
                <td key={at} role="cell" class="right" data-column={columns[at]}>
                  {value}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {sums.length > limit.value && (
        <button type="button" class="quiet small" onClick={() => (limit.value += 200)}>
          {plural(sums.length - limit.value, "more row")}
        </button>
      )}
    </section>
  );
}

function valuesOf(sum: Sum): string[] {
  const cached = sum.input > 0 ? percent(sum.cached / sum.input) : "";
  const [input, output] = [sum.input, sum.output].map((tokens) => tokenCount(tokens, sum) ?? "unknown");
  return [count(sum.turns), input ?? "", cached, output ?? "", dollars(sum)];
}
