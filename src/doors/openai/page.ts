/** Pages of lists in OpenAI's form: by the id of the last item, in either order. */
import { badParameter } from "./wire-error.ts";

export interface WirePage<T> {
  object: "list";
  data: T[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

/**
 * Returns a page of the items, which are given oldest first. Only the items of the page are read. Throws `request_invalid` for an id that is not
 * among them.
 */
export async function itemPage<T>(
  items: readonly { id: string; wire: () => Promise<T> }[],
  query: URLSearchParams,
): Promise<WirePage<T>> {
  const limit = limitOf(query);
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw badParameter("order", "Supported values are: 'asc' and 'desc'.");
  const ordered = order === "asc" ? [...items] : items.toReversed();
  const after = query.get("after");
  const at = after === null ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== null && at === -1) throw badParameter("after", `Item with id '${after}' not found.`);
  const page = ordered.slice(at + 1, at + 1 + limit);
  const data = await Promise.all(page.map(({ wire }) => wire()));
  const has_more = at + 1 + limit < ordered.length;
  return { object: "list", data, first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null, has_more };
}

function limitOf(query: URLSearchParams): number {
  const given = query.get("limit") ?? "20";
  const limit = /^\d{1,4}$/.test(given) ? Number(given) : 0;
  if (limit < 1 || limit > 100) throw badParameter("limit", "Invalid value for 'limit': expected 1 to 100.");
  return limit;
}
