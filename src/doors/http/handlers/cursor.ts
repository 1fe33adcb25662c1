/** The cursor of a list: the position of the last row of the previous page, opaque to clients (S7). */
import { AptoveError } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";

/** The position of a row in a list. */
export interface CursorPosition {
  /** The time by which the list is ordered, in milliseconds. Rows with the same time are ordered by id. */
  at: number;
  id: string;
}

export function formatCursor({ at, id }: CursorPosition): string {
  return Buffer.from(`${at}.${id}`).toString("base64url");
}

/** Reads a cursor of `formatCursor`. Throws `request_invalid` for any other text. */
export function parseCursor(text: string): CursorPosition {
  const match = /^(\d{1,15})\.(.{36})$/.exec(Buffer.from(text, "base64url").toString());
  const id = match?.[2] ?? "";
  if (!isId(id)) throw new AptoveError("request_invalid", `${JSON.stringify(text)} is not a cursor of this list`);
  return { at: Number(match?.[1]), id };
}
