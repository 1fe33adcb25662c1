/**
 * Finds the call that a streamed piece belongs to. OpenAI numbers the calls of an answer and sends an id with the first
 * piece of each. Other servers leave out the numbers, the ids, or both, number every call 0, repeat id and name in
 * every piece, or send whole calls.
 */
import { ObjectPieces } from "../call-arguments.ts";
import type { CompatibleCallPiece } from "./wire.ts";

export interface StreamedCall {
  /** The id from the server; empty until it sends one. */
  wireId: string;
  /** The name from the server; empty until it sends one. */
  name: string;
  /** All pieces so far. */
  arguments: ObjectPieces;
  /** Our id; null until the call has been shown. */
  callId: string | null;
}

export class StreamedCalls {
  readonly #all: StreamedCall[] = [];
  readonly #byIndex = new Map<number, StreamedCall>();

  get all(): readonly StreamedCall[] {
    return this.#all;
  }

  /** Adds the piece to the call that it belongs to, and returns that call. */
  add(piece: CompatibleCallPiece): StreamedCall {
    const id = piece.id ?? "";
    const name = piece.function?.name ?? "";
    const known = typeof piece.index === "number" ? this.#byIndex.get(piece.index) : this.#all.at(-1);
    const call = known === undefined || isAnother(known, id, name) ? this.#begin(piece.index) : known;
    call.wireId ||= id;
    call.name ||= name;
    call.arguments.add(piece.function?.arguments ?? "");
    return call;
  }

  #begin(index: number | null | undefined): StreamedCall {
    const call: StreamedCall = { wireId: "", name: "", arguments: new ObjectPieces(), callId: null };
    this.#all.push(call);
    if (typeof index === "number") this.#byIndex.set(index, call);
    return call;
  }
}

/** Checks whether a piece with this id and name begins another call than the last one with its number. */
function isAnother(call: StreamedCall, id: string, name: string): boolean {
  if (id !== "") return call.wireId !== "" && call.wireId !== id;
  return name !== "" && call.name !== "" && (name !== call.name || call.arguments.isWhole);
}
