/** Who did what, and what was refused (U10). */
import { useSignal } from "@preact/signals";
import type { WireAuditEntry } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";
import { exactTime } from "../parts/numbers.ts";
import { PartFrame, Table, usePart } from "./part.tsx";

export function Audit() {
  const more = useSignal<readonly WireAuditEntry[]>([]);
  const next = useSignal<string | null>(null);
  const { list, fault, act } = usePart("audit", async () => {
    const [page, { users }] = await Promise.all([client.audit({ limit: 100 }), client.people.list({ limit: 200 })]);
    next.value = page.nextCursor;
    more.value = [];
    return { entries: page.entries, names: new Map(users.map(({ id, name }) => [id, name])) };
  });
  const loadMore = async (cursor: string): Promise<void> => {
    const page = await client.audit({ limit: 100, cursor });
    more.value = [...more.value, ...page.entries];
    next.value = page.nextCursor;
  };
  return (
    <PartFrame list={list} fault={fault}>
      {({ entries, names }) => (
        <>
          <Table caption="Audit log, newest first" head={["When", "Who", "What", "Outcome", "Target"]}>
            {[...entries, ...more.value].map(({ id, at, userId, action, outcome, targetId }) => (
              <tr key={id}>
                <td class="numbers">{exactTime(at)}</td>
                <td>{userId === null ? "the operator" : (names.get(userId) ?? userId)}</td>
                <td>{action}</td>
                <td>{outcome === "done" ? "done" : <span class="tag bad">{outcome}</span>}</td>
                <td class="digest">{targetId}</td>
              </tr>
            ))}
          </Table>
          {next.value !== null && (
            <button
              type="button"
              onClick={() =>
                void loadMore(next.value ?? "").catch((error: unknown) => act(() => Promise.reject(error)))
              }
            >
              Show earlier entries
            </button>
          )}
        </>
      )}
    </PartFrame>
  );
}
