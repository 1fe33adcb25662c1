/** What turns have cost (U9): bars by day, stacked by model, and the same numbers as tables. */
import { useComputed, useSignal, type Signal } from "@preact/signals";
import type { WireCosts } from "../../src/client/client.ts";
import { serverNow } from "../api/clock.ts";
import { client } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import { count, money, percent, plural } from "../parts/numbers.ts";
import { saveFile } from "../parts/save-file.ts";
import { shownText } from "../parts/shown-text.ts";
import { Empty, FailedState, Loading } from "../parts/states.tsx";
import { pathTo } from "../routes.ts";
import { Bars } from "./bars.tsx";
import { csvOf, daysOf, sumsBy, tokensOf, total, type Sum } from "./sums.ts";

const periods = [7, 30, 90] as const;

interface Read extends WireCosts {
  names: Map<string, string>;
  days: string[];
}

async function read(days: number): Promise<Read> {
  const today = new Date(serverNow()).toISOString().slice(0, 10);
  const first = new Date(Date.parse(today) - (days - 1) * 86_400_000).toISOString();
  const [costs, { users }] = await Promise.all([client.costs({ from: first }), client.people.list({ limit: 200 })]);
  return { ...costs, names: new Map(users.map(({ id, name }) => [id, name])), days: daysOf(first.slice(0, 10), today) };
}

export function Costs() {
  const days = useSignal<number>(7);
  const { value, failed, load } = useLoaded(String(days.value), () => read(days.value));
  return (
    <main class="view costs" id="view" tabIndex={-1}>
      <h1>Costs</h1>
      <p class="row-of" role="group" aria-label="Period">
        {periods.map((one) => (
          <button
            key={one}
            type="button"
            class={one === days.value ? "primary" : ""}
            aria-pressed={one === days.value}
            onClick={() => (days.value = one)}
          >
            {one} days
          </button>
        ))}
      </p>
      {value.value === null && failed.value === null && <Loading lines={8} />}
      {value.value === null && failed.value !== null && <FailedState failed={failed.value} retry={() => void load()} />}
      {value.value !== null && <Report key={days.value} read={value.value} />}
    </main>
  );
}

function Report({ read: all }: { read: Read }) {
  const day = useSignal<string | null>(null);
  const shown = useComputed(() => all.cells.filter((cell) => day.value === null || cell.day === day.value));
  const session = new Map(all.sessions.map(({ id, name }) => [id, name]));
  const user = (id: string): string => all.names.get(id) ?? id;
  if (all.cells.length === 0) return <Empty>No turn ended in this period.</Empty>;
  return (
    <>
      <Totals sum={total(shown.value)} day={day} />
      <Bars cells={all.cells} days={all.days} chosen={day} />
      {all.isPartial && (
        <p class="notice wait">There are more sessions than one report reads; the oldest are left out.</p>
      )}
      <Sums title="By model" sums={sumsBy(shown.value, ({ model }) => model)} label={(key) => key} />
      <Sums title="By person" sums={sumsBy(shown.value, ({ userId }) => userId)} label={user} />
      <Sums
        title="By session, the dearest first"
        sums={sumsBy(shown.value, ({ sessionId }) => sessionId)}
        label={(key) => <a href={pathTo("session", { session: key })}>{shownText(session.get(key) ?? key)}</a>}
      />
      <p>
        <button
          type="button"
          onClick={() => saveFile("costs.csv", csvOf(shown.value, { session: (id) => session.get(id) ?? id, user }))}
        >
          Save as CSV
        </button>
      </p>
    </>
  );
}

function Totals({ sum, day }: { sum: Sum; day: Signal<string | null> }) {
  return (
    <p class="totals numbers">
      <b>{dollars(sum)}</b>
      <span>{plural(sum.turns, "turn")}</span>
      <span>{count(tokensOf(sum))} tokens</span>
      <span>{sum.input > 0 ? percent(sum.cached / sum.input) : "0 %"} of the input was cached</span>
      {day.value !== null && (
        <button type="button" class="small" onClick={() => (day.value = null)}>
          Only {day.value}; show all days
        </button>
      )}
    </p>
  );
}

function dollars(sum: Sum): string {
  if (sum.dollars === 0 && sum.isAtLeast) return "price not known";
  return `${sum.isAtLeast ? "at least " : ""}${money(sum.dollars)}`;
}

const shownAtFirst = 10;

function Sums({
  title,
  sums,
  label,
}: {
  title: string;
  sums: readonly Sum[];
  label: (key: string) => preact.ComponentChildren;
}) {
  const limit = useSignal(shownAtFirst);
  return (
    <section>
      <h2>{title}</h2>
      <div class="scroll-x" tabIndex={0} role="region" aria-label={title}>
        <table class="plain-table numbers">
          <thead>
            <tr>
              <th scope="col">{title.split(",")[0]?.replace("By ", "")}</th>
              {["Turns", "Input", "Cached", "Output", "Cost"].map((one) => (
                <th key={one} scope="col" class="right">
                  {one}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sums.slice(0, limit.value).map((sum) => (
              <tr key={sum.key}>
                <td>{label(sum.key)}</td>
                <td class="right">{count(sum.turns)}</td>
                <td class="right">{count(sum.input)}</td>
                <td class="right">{sum.input > 0 ? percent(sum.cached / sum.input) : ""}</td>
                <td class="right">{count(sum.output)}</td>
                <td class="right">{dollars(sum)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {sums.length > limit.value && (
        <button type="button" class="quiet small" onClick={() => (limit.value += 200)}>
          {plural(sums.length - limit.value, "more row")}
        </button>
      )}
    </section>
  );
}
