/** The fields of the filters. */
import type { SessionListOptions } from "../../src/client/client.ts";
import { filters } from "./filters.ts";

const texts = [
  ["repo", "Repository"],
  ["label", "Label"],
  ["metadata", "Metadata (key or key=value)"],
  ["workspaceId", "Workspace"],
  ["conversationContextId", "Context"],
] as const;

const statuses = [
  ["", "any"],
  ["pending", "running"],
  ["awaiting_tool_results", "waiting"],
  ["completed", "done"],
  ["failed", "failed"],
] as const;

export function SessionFilters() {
  const set = (change: SessionListOptions): void => {
    const all = Object.entries({ ...filters.value, ...change });
    filters.value = Object.fromEntries(all.filter(([, value]) => value !== "" && value !== undefined));
  };
  return (
    <details class="filters">
      <summary>Filter</summary>
      <div class="filters-box">
        <label>
          Newest turn
          <select
            value={filters.value.status ?? ""}
            onChange={({ currentTarget }) =>
              set({ status: (currentTarget.value || undefined) as SessionListOptions["status"] })
            }
          >
            {statuses.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {texts.map(([name, label]) => (
          <label key={name}>
            {label}
            <input
              value={filters.value[name] ?? ""}
              onChange={({ currentTarget }) => set({ [name]: currentTarget.value.trim() })}
            />
          </label>
        ))}
        <label>
          Active since
          <input
            type="date"
            onChange={({ currentTarget: { value } }) =>
              set({ activeFrom: value === "" ? undefined : new Date(value).toISOString() })
            }
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={filters.value.archived === true}
            onChange={({ currentTarget }) => set({ archived: currentTarget.checked })}
          />
          Archived sessions
        </label>
      </div>
    </details>
  );
}
