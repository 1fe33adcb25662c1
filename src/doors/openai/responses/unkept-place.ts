/** The places of responses that are not stored (O3). */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { Engine, Turns, UnkeptTurns } from "../../../engine/engine.ts";
import { badParameter } from "../wire-error.ts";

/** Returns a new place. Null: the caller's org keeps the content of every turn. Throws `request_invalid` if it refuses such turns. */
export async function unkeptTurns(engine: Engine, caller: Caller): Promise<UnkeptTurns | null> {
  try {
    return await engine.unkept(caller);
  } catch (error) {
    if (!(error instanceof AptoveError) || error.code !== "forbidden") throw error;
    throw badParameter("store", "Your organization requires 'store' to be true.", "unsupported_value");
  }
}

/**
 * The responses of one connection that are not stored (O3). They can be continued on it as long as it lives. A continuation that
 * fails takes the response that it named with it.
 */
export class UnkeptPlace {
  readonly #engine: Engine;
  readonly #evicted = new Set<string>();
  #place: Promise<UnkeptTurns | null> | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Returns null if the caller's org keeps the content of all turns. Throws `request_invalid` if it refuses such turns. */
  async turns(caller: Caller): Promise<Turns | null> {
    this.#place ??= unkeptTurns(this.#engine, caller);
    return (await this.#place)?.turns ?? null;
  }

  evict(responseId: string): void {
    this.#evicted.add(responseId);
  }

  isEvicted(responseId: string): boolean {
    return this.#evicted.has(responseId);
  }

  close(): void {
    void this.#place?.then((place) => place?.forget()).catch(() => undefined);
  }
}
