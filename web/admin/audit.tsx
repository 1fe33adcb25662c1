/** Who did what, and what was refused (U10). */
import { useSignal } from "@preact/signals";
import type { WireAuditEntry } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import { exactTime } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { pathTo } from "../routes.ts";
import { AuditFilters, filtersInAddress, queryOf } from "./audit-filters.tsx";
import { PartFrame, Table, usePart } from "./part.tsx";

const perPage = 100;

export function Audit() {
  const query = queryOf(filtersInAddress());
  const key = `audit ${JSON.stringify(query)}`;
  const people = useLoaded("people", async () => (await client.people.list({ limit: 200 })).users);
  const { list, fault, act } = usePart(key, () => client.audit({ ...query, limit: perPage }));
  const earlier = useSignal<{ key: string; entries: readonly WireAuditEntry[]; next: string | null } | null>(null);
  const loadMore = async (cursor: string): Promise<void> => {
    const page = await client.audit({ ...query, limit: perPage, cursor });
    const before = earlier.value?.key === key ? earlier.value.entries : [];
    earlier.value = { key, entries: [...before, ...page.entries], next: page.nextCursor };
  };
  const users = people.value.value ?? [];
  return (
    <>
      <AuditFilters users={users} />
      <PartFrame list={list} fault={fault}>
        {({ entries, nextCursor }) => {
          const more = earlier.value?.key === key ? earlier.value : { entries: [], next: nextCursor };
          const { next } = more;
          return (
            <>
              <Entries
                entries={[...entries, ...more.entries]}
                names={new Map(users.map(({ id, name }) => [id, name]))}
              />
              {next !== null && (
                <button
                  type="button"
                  onClick={() => void loadMore(next).catch((error: unknown) => act(() => Promise.reject(error)))}
                >
                  Show earlier entries
                </button>
              )}
            </>
          );
        }}
      </PartFrame>
    </>
  );
}

interface EntriesProps {
  entries: readonly WireAuditEntry[];
  names: ReadonlyMap<string, string>;
}

function Entries({ entries, names }: EntriesProps) {
  if (entries.length === 0) return <p class="dim">No entry of the log matches.</p>;
  return (
    <Table caption="Audit log, newest first" head={["When", "Who", "What", "Outcome", "Target"]}>
      {entries.map((entry) => (
        <tr key={entry.id}>
          <td class="numbers">{exactTime(entry.at)}</td>
          <td>{entry.userId === null ? "the operator" : (names.get(entry.userId) ?? entry.userId)}</td>
          <td>{entry.action}</td>
          <td>{entry.outcome === "done" ? "done" : <span class="tag bad">{entry.outcome}</span>}</td>
          <td class="digest">
            <Target entry={entry} names={names} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** What the action was about: a link if the reader may open it, a name if there is one, and the small facts. */
function Target({
  entry: { sessionId, targetId, action, facts },
  names,
}: { entry: WireAuditEntry } & Omit<EntriesProps, "entries">) {
  const kind = facts["kind"];
  const shown = Object.entries(facts).map(([name, value]) => `${name} ${names.get(String(value)) ?? String(value)}`);
  return (
    <>
      {sessionId !== null ? (
        <a href={pathTo("session", { session: sessionId })}>session {sessionId.slice(-8)}</a>
      ) : action.startsWith("context.") && targetId !== null && kind !== undefined ? (
        <a href={pathTo("context", { kind: String(kind), name: targetId })}>{targetId}</a>
      ) : (
        targetId !== null && (names.get(targetId) ?? targetId)
      )}
      {shown.length > 0 && <span class="dim"> {shownText(shown.join(", "))}</span>}
    </>
  );
}
