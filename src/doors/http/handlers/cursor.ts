/** The cursor of a list: the last row of the page before, opaque to whoever carries it (S7). */
import { AptoveError } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";

export interface Place {
  /** Milliseconds: what the list is ordered by, before the id. */
  at: number;
  id: string;
}

export function formatCursor({ at, id }: Place): string {
  return Buffer.from(`${at}.${id}`).toString("base64url");
}

/** Throws `request_invalid` for anything that `formatCursor` does not give. */
export function parseCursor(text: string): Place {
  const match = /^(\d{1,15})\.(.{36})$/.exec(Buffer.from(text, "base64url").toString());
  const id = match?.[2] ?? "";
  if (!isId(id)) throw new AptoveError("request_invalid", `${JSON.stringify(text)} is not a cursor of this list`);
  return { at: Number(match?.[1]), id };
}
