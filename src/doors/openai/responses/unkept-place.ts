/**
 * The responses of one connection that are not stored (O3). They can be continued on it as long as it lives. A continuation that
 * fails takes the response that it named with it.
 */
import type { Engine, Turns, UnkeptTurns } from "../../../engine/engine.ts";

export class UnkeptPlace {
  readonly #engine: Engine;
  readonly #evicted = new Set<string>();
  #place: Promise<UnkeptTurns> | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async turns(): Promise<Turns> {
    this.#place ??= this.#engine.unkept();
    return (await this.#place).turns;
  }

  evict(responseId: string): void {
    this.#evicted.add(responseId);
  }

  isEvicted(responseId: string): boolean {
    return this.#evicted.has(responseId);
  }

  close(): void {
    void this.#place?.then((place) => place.forget()).catch(() => undefined);
  }
}
