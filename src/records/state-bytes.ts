/** The bytes of a state as they are stored, and the place of each entry in them (K2, K6). */
import type { StateFile } from "../domain/lineage.ts";

/** The place of a turn's entry in the bytes of a state. */
export interface EntryPlace {
  turnId: string;
  start: number;
  end: number;
}

/** Returns a state as JSON in UTF-8, and where each of its entries stands. */
export function stateBytes(file: StateFile): { bytes: Uint8Array; entries: EntryPlace[] } {
  const [before = "", after = ""] = JSON.stringify({ ...file, entries: [""] }).split('""');
  const encoder = new TextEncoder();
  const pieces = [encoder.encode(before)];
  const entries: EntryPlace[] = [];
  let at = pieces[0]?.length ?? 0;
  const add = (text: string): number => {
    const piece = encoder.encode(text);
    pieces.push(piece);
    at += piece.length;
    return at;
  };
  for (const entry of file.entries) {
    const start = entries.length === 0 ? at : add(",");
    entries.push({ turnId: entry.turnId, start, end: add(JSON.stringify(entry)) });
  }
  const bytes = new Uint8Array(add(after));
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return { bytes, entries };
}

/** Returns where the entries of a stored state stand. Null: another program wrote it in another form. */
export function stateEntries(bytes: Uint8Array): EntryPlace[] | null {
  const file = parseState(bytes);
  if (file === null) return null;
  const again = stateBytes(file);
  const isSame = again.bytes.length === bytes.length && again.bytes.every((byte, index) => byte === bytes[index]);
  return isSame ? again.entries : null;
}

function parseState(bytes: Uint8Array): StateFile | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    const isState = typeof value === "object" && value !== null && "entries" in value && Array.isArray(value.entries);
    return isState ? (value as StateFile) : null;
  } catch {
    return null;
  }
}
