/**
 * Stores the exact bytes of a request without storing its history again (K3). A recipe describes the parts of the body:
 * the front and the end of an earlier request, texts that are stored anyway, and new text. It is only data, so a
 * request can be rebuilt whatever happens to the code that made it. The digest proves that the result is exact.
 *
 * The earlier request is that of the base turn (see domain/lineage.ts), so that a request is rebuilt from at most
 * log2(n) + 1 recipes.
 */
import { AptoveError } from "../../../domain/errors.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import { sha256 } from "../../../domain/ids.ts";
import { sharedEnd, sharedStart } from "../../../system/shared-ends.ts";

/** A text that a recipe can refer to instead of containing it, by its name. */
export interface KnownText {
  name: string;
  text: string;
}

/** New text, or the name of a known text, which is inserted as the inside of a JSON string. */
export type RecipePiece = string | { known: string };

export interface RequestRecipe {
  /** True if the front and the end come from the request of the base turn. Lengths are in UTF-16 code units. */
  hasBase: boolean;
  front: number;
  end: number;
  pieces: RecipePiece[];
  bytes: number;
  sha256: string;
}

/** Returns the parts of a turn's message, which are stored with it anyway. */
export function messageTexts(message: readonly string[]): KnownText[] {
  return message.map((text, index) => ({ name: `message/${index}`, text }));
}

/** Returns the texts of the earlier items, which are stored with the turn anyway, in their order (O5). */
export function earlierTexts(items: readonly HistoryItem[]): KnownText[] {
  return items.flatMap((item, index) => {
    const text = textOf(item);
    return text === null ? [] : [{ name: `earlier/${index}`, text }];
  });
}

function textOf(item: HistoryItem): string | null {
  switch (item.type) {
    case "user":
      return item.parts[0] ?? null;
    case "assistant":
    case "reasoning":
      return item.text;
    case "tool_call":
      return item.arguments;
    case "tool_result":
      return item.output;
  }
}

/** The texts that a recipe can refer to. Those in `inOrder` stand in the body in this order, so that each is searched once. */
export interface KnownTexts {
  known: readonly KnownText[];
  inOrder?: readonly KnownText[];
}

/** Shorter texts are cheaper to contain than to refer to. */
const knownTextCharactersMin = 64;

export function makeRecipe(body: string, base: string | null, { known, inOrder = [] }: KnownTexts): RequestRecipe {
  const front = base === null ? 0 : sharedStart(base, body);
  const end = base === null ? 0 : sharedEnd(base, body, Math.min(base.length, body.length) - front);
  return {
    hasBase: base !== null,
    front,
    end,
    pieces: namePieces(cutInOrder(body.slice(front, body.length - end), inOrder), known),
    bytes: Buffer.byteLength(body),
    sha256: sha256(body),
  };
}

/** Rebuilds the body. Throws `blob_damaged` if the result does not have the digest of the original. */
export function applyRecipe(recipe: RequestRecipe, base: string | null, known: ReadonlyMap<string, string>): string {
  const middle = recipe.pieces.map((piece) => {
    if (typeof piece === "string") return piece;
    const text = known.get(piece.known);
    if (text === undefined)
      throw new AptoveError("blob_damaged", `the request refers to a text that does not exist: ${piece.known}`);
    return insideOfJson(text);
  });
  const from = base ?? "";
  const body = from.slice(0, recipe.front) + middle.join("") + from.slice(from.length - recipe.end);
  if (sha256(body) !== recipe.sha256) {
    throw new AptoveError("blob_damaged", "the rebuilt request does not have the digest of the request that was sent");
  }
  return body;
}

function insideOfJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** How many texts in order may be missing from a body before the rest is not searched any more. */
const missingMax = 8;

/** Names the texts that stand in this order. Each search begins where the one before ended, whatever the size of the body. */
function cutInOrder(text: string, inOrder: readonly KnownText[]): RecipePiece[] {
  const pieces: RecipePiece[] = [];
  let from = 0;
  let missing = 0;
  for (const { name, text: knownText } of inOrder) {
    if (knownText.length < knownTextCharactersMin) continue;
    const written = insideOfJson(knownText);
    const at = text.indexOf(written, from);
    if (at === -1) {
      missing += 1;
      if (missing > missingMax) break;
      continue;
    }
    if (at > from) pieces.push(text.slice(from, at));
    pieces.push({ known: name });
    from = at + written.length;
  }
  return from < text.length ? [...pieces, text.slice(from)] : pieces;
}

function namePieces(cut: RecipePiece[], known: readonly KnownText[]): RecipePiece[] {
  let pieces = cut;
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
