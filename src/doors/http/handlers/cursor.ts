/** The cursor of a list: the position of the last row of the previous page, opaque to clients (S7). */
import { AptoveError } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import type { RouteName } from "../../../protocol/routes/paths.ts";

/** The position of a row in a list. */
export interface CursorPosition {
  /** The time by which the list is ordered, in milliseconds. Rows with the same time are ordered by id. */
  at: number;
  id: string;
}

/** The cursor has the name of its list, because the rows of another list have other positions. */
export function formatCursor(list: RouteName, { at, id }: CursorPosition): string {
  return Buffer.from(`${list}.${at}.${id}`).toString("base64url");
}

/** Reads a cursor of `formatCursor` for the same list. Throws `request_invalid` for any other text. */
export function parseCursor(list: RouteName, text: string): CursorPosition {
  const match = /^(\w+)\.(\d{1,15})\.(.{36})$/.exec(Buffer.from(text, "base64url").toString());
  const id = match?.[3] ?? "";
  if (match?.[1] !== list || !isId(id)) {
    throw new AptoveError("request_invalid", `${JSON.stringify(text)} is not a cursor of this list`);
  }
  return { at: Number(match[2]), id };
}
