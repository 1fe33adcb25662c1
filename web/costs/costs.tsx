/** What turns have cost (U9): bars by day, stacked by model, and the same numbers as tables. */
import { useComputed, useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { WireBudget, WireCosts } from "../../src/client/client.ts";
import { serverNow } from "../api/clock.ts";
import { client } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import { percent, plural } from "../parts/numbers.ts";
import { saveFile } from "../parts/save-file.ts";
import { shownText } from "../parts/shown-text.ts";
import { Empty, FailedState, Loading } from "../parts/states.tsx";
import { pathTo } from "../routes.ts";
import { Bars } from "./bars.tsx";
import { Budgets } from "./budgets.tsx";
import { dollars, SumsTable, tokenCount } from "./cost-tables.tsx";
import { csvOf, daysOf, sumsBy, tokensOf, total, type Sum } from "./sums.ts";

const periods = [7, 30, 90] as const;

interface Read extends WireCosts {
  names: Map<string, string>;
  budgets: WireBudget[];
  days: string[];
}

async function read(days: number): Promise<Read> {
  const today = new Date(serverNow()).toISOString().slice(0, 10);
  const first = new Date(Date.parse(today) - (days - 1) * 86_400_000).toISOString();
  const [costs, { users }, budgets] = await Promise.all([
    client.costs({ from: first }),
    client.people.list({ limit: 200 }),
    client.budgets.list(),
  ]);
  const names = new Map([...users, ...costs.sessions].map(({ id, name }) => [id, name]));
  return { ...costs, names, budgets, days: daysOf(first.slice(0, 10), today) };
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
  const nameOf = (id: string): string => all.names.get(id) ?? id;
  const linkTo = (id: string) => <a href={pathTo("session", { session: id })}>{shownText(nameOf(id))}</a>;
  const sessions = sumsBy(shown.value, ({ sessionId }) => sessionId);
  const budgets = <Budgets budgets={all.budgets} nameOf={nameOf} />;
  if (all.cells.length === 0) {
    return (
      <>
        <Empty>No turn ended in this period.</Empty>
        {budgets}
      </>
    );
  }
  return (
    <>
      <Totals sum={total(shown.value)} day={day} />
      <Dearest sum={sessions[0]} all={total(shown.value)} link={linkTo} />
      <Bars cells={all.cells} days={all.days} chosen={day} />
      {all.isPartial && (
        <p class="notice wait">There are more sessions than one report reads; the oldest are left out.</p>
      )}
      <SumsTable title="By session, the dearest first" first="Session" sums={sessions} label={linkTo} />
      <SumsTable title="By model" first="Model" sums={sumsBy(shown.value, ({ model }) => model)} label={shownText} />
      <SumsTable title="By person" first="Person" sums={sumsBy(shown.value, ({ userId }) => userId)} label={nameOf} />
      {budgets}
      <p>
        <button
          type="button"
          onClick={() => saveFile("costs.csv", csvOf(shown.value, { session: nameOf, user: nameOf }))}
        >
          Save as CSV
        </button>
      </p>
    </>
  );
}

interface DearestProps {
  sum: Sum | undefined;
  all: Sum;
  link(id: string): ComponentChildren;
}

/** Which session was the dearest, in one sentence. Without any known price: which one has the most tokens. */
function Dearest({ sum, all, link }: DearestProps) {
  if (sum === undefined) return null;
  const share = all.dollars > 0 ? sum.dollars / all.dollars : tokensOf(sum) / Math.max(1, tokensOf(all));
  return (
    <p class="numbers">
      {all.dollars > 0 ? (
        <>
          The dearest session: {link(sum.key)}, {dollars(sum)} ({percent(share)} of it all).
        </>
      ) : (
        <>
          The session with the most tokens: {link(sum.key)} ({percent(share)} of them all).
        </>
      )}
    </p>
  );
}

function Totals({ sum, day }: { sum: Sum; day: Signal<string | null> }) {
  const tokens = tokenCount(tokensOf(sum), sum);
  return (
    <p class="totals numbers">
      <b>{dollars(sum)}</b>
      <span>{plural(sum.turns, "turn")}</span>
      <span>{tokens === null ? "tokens unknown" : `${tokens} tokens`}</span>
      <span>{sum.input > 0 ? percent(sum.cached / sum.input) : "0 %"} of the input was cached</span>
      {day.value !== null && (
        <button type="button" class="small" onClick={() => (day.value = null)}>
          Only {day.value}; show all days
        </button>
      )}
    </p>
  );
}
