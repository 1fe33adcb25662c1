/** Reads the query of a request. Each name may occur once, except for lists, and the encoding must be valid. */
import { AptoveError } from "../../../domain/errors.ts";

/** Returns the parameters. Those named in `lists` may be repeated, and are lists. Throws `request_invalid`. */
export function readQuery(request: Request, lists: readonly string[]): Record<string, string | string[]> {
  const { search, searchParams } = new URL(request.url);
  try {
    decodeURIComponent(search);
  } catch {
    throw new AptoveError("request_invalid", "the percent-encoding of the query is not valid");
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
