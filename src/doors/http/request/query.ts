/** Reading a query: every name once, except for lists, and nothing that is not encoded as it should be. */
import { AptoveError } from "../../../domain/errors.ts";

/** `lists` names the parameters that may be repeated; they come as lists. */
export function readQuery(request: Request, lists: readonly string[]): Record<string, string | string[]> {
  const { search, searchParams } = new URL(request.url);
  try {
    decodeURIComponent(search);
  } catch {
    throw new AptoveError("request_invalid", "the query is not percent-encoded as it should be");
  }
  const query: Record<string, string | string[]> = {};
  for (const name of new Set(searchParams.keys())) {
    const values = searchParams.getAll(name);
    if (lists.includes(name)) query[name] = values;
    else if (values.length === 1) query[name] = values[0] ?? "";
    else throw new AptoveError("request_invalid", `the query names ${JSON.stringify(name)} ${values.length} times`);
  }
  return query;
}
