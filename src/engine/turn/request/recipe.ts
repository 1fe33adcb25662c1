/**
 * How the exact bytes of a request are kept without storing its history again (K3). A recipe says how the
 * body is put together: from the front and the end of an earlier request, from texts that are stored anyway,
 * and from what is new. It is data only, so a request can be given back whatever becomes of the code that
 * built it; the digest proves that it was given back right.
 *
 * The earlier request is that of the base turn (see domain/lineage.ts), so that a request is rebuilt from at
 * most log2(n) + 1 recipes.
 */
import { AptoveError } from "../../../domain/errors.ts";
import { sha256 } from "../../../domain/ids.ts";

/** A text that the recipe may name instead of holding it; `name` finds it again. */
export interface KnownText {
  name: string;
  text: string;
}

/** New text, or the name of a known text that stands here as the inside of a JSON string. */
export type RecipePiece = string | { known: string };

export interface RequestRecipe {
  /** Whether the front and the end come from the base turn's request. Lengths are in UTF-16 code units. */
  hasBase: boolean;
  front: number;
  end: number;
  pieces: RecipePiece[];
  bytes: number;
  sha256: string;
}

/** The parts of a turn's message: they are stored with it anyway. */
export function messageTexts(message: readonly string[]): KnownText[] {
  return message.map((text, index) => ({ name: `message/${index}`, text }));
}

/** Shorter texts are cheaper to hold than to name. */
const knownTextCharactersMin = 64;

export function makeRecipe(body: string, base: string | null, known: readonly KnownText[]): RequestRecipe {
  const front = base === null ? 0 : commonFront(base, body);
  const end = base === null ? 0 : commonEnd(base, body, front);
  return {
    hasBase: base !== null,
    front,
    end,
    pieces: namePieces(body.slice(front, body.length - end), known),
    bytes: Buffer.byteLength(body),
    sha256: sha256(body),
  };
}

/** Throws `blob_damaged` when what comes out is not what went in. */
export function applyRecipe(recipe: RequestRecipe, base: string | null, known: ReadonlyMap<string, string>): string {
  const middle = recipe.pieces.map((piece) => {
    if (typeof piece === "string") return piece;
    const text = known.get(piece.known);
    if (text === undefined)
      throw new AptoveError("blob_damaged", `the request names a text that is not there: ${piece.known}`);
    return insideOfJson(text);
  });
  const from = base ?? "";
  const body = from.slice(0, recipe.front) + middle.join("") + from.slice(from.length - recipe.end);
  if (sha256(body) !== recipe.sha256) {
    throw new AptoveError("blob_damaged", "the rebuilt request does not have the digest of the one that was sent");
  }
  return body;
}

function insideOfJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function namePieces(text: string, known: readonly KnownText[]): RecipePiece[] {
  let pieces: RecipePiece[] = text === "" ? [] : [text];
  for (const { name, text: knownText } of known) {
    if (knownText.length < knownTextCharactersMin) continue;
    const written = insideOfJson(knownText);
    pieces = pieces.flatMap((piece) => (typeof piece === "string" ? cutOut(piece, written, name) : [piece]));
  }
  return pieces;
}

function cutOut(text: string, written: string, name: string): RecipePiece[] {
  const at = text.indexOf(written);
  if (at === -1) return [text];
  const before = text.slice(0, at);
  const after = text.slice(at + written.length);
  return [...(before === "" ? [] : [before]), { known: name }, ...(after === "" ? [] : cutOut(after, written, name))];
}

function commonFront(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  // Whole blocks first: histories share megabytes, and comparing slices is far quicker than characters.
  const block = 4096;
  let at = 0;
  while (at + block <= most && a.slice(at, at + block) === b.slice(at, at + block)) at += block;
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at;
}

function commonEnd(a: string, b: string, front: number): number {
  const most = Math.min(a.length, b.length) - front;
  let length = 0;
  while (length < most && a.charCodeAt(a.length - 1 - length) === b.charCodeAt(b.length - 1 - length)) length += 1;
  return length;
}
