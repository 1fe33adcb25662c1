/** Which entries of the audit log are shown: by person, action and time. The address has them. */
import { auditActions } from "../../src/protocol/audit-actions.ts";
import type { WireUser } from "../../src/client/client.ts";
import { navigate, pathTo, route } from "../routes.ts";

/** The filters as the address has them: days in the time zone of the browser. */
export function filtersInAddress() {
  const { query } = route.value;
  const of = (name: string): string => query.get(name) ?? "";
  return { user: of("user"), action: of("action"), from: of("from"), until: of("until") };
}

type Filters = ReturnType<typeof filtersInAddress>;

/** Returns the query that the filters stand for. What is no day or no action is left out. `until` includes its day. */
export function queryOf({ user, action, from, until }: Filters) {
  const known = auditActions.find((one) => one === action);
  const [first, last] = [startOf(from, 0), startOf(until, 1)];
  return {
    ...(user !== "" && { userId: user }),
    ...(known !== undefined && { action: known }),
    ...(first !== null && { from: first }),
    ...(last !== null && { until: last }),
  };
}

/** Returns when a day begins, so many days later, as an ISO time. */
function startOf(day: string, daysLater: number): string | null {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day) ?? [];
  if (year === undefined) return null;
  const time = new Date(Number(year), Number(month) - 1, Number(date) + daysLater);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

export function AuditFilters({ users }: { users: readonly Pick<WireUser, "id" | "name">[] }) {
  const filters = filtersInAddress();
  const set = (change: Partial<Filters>): void => {
    const given = Object.entries({ ...filters, ...change }).filter(([, value]) => value !== "");
    navigate(pathTo("adminPart", { part: "audit" }, Object.fromEntries(given)), { replace: true });
  };
  return (
    <form class="row-of" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        Person
        <select value={filters.user} onChange={({ currentTarget: { value } }) => set({ user: value })}>
          <option value="">all</option>
          {users.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Action
        <select value={filters.action} onChange={({ currentTarget: { value } }) => set({ action: value })}>
          <option value="">all</option>
          {auditActions.toSorted().map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <label>
        From
        <input type="date" value={filters.from} onChange={({ currentTarget: { value } }) => set({ from: value })} />
      </label>
      <label>
        Until
        <input type="date" value={filters.until} onChange={({ currentTarget: { value } }) => set({ until: value })} />
      </label>
    </form>
  );
}
