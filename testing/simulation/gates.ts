/**
 * The waits of the engines outside of their stores: a silent model, a working tool, a running
 * timeout, a pause. Each is a gate, and the simulation decides when it opens.
 */
import type { Living } from "./asked.ts";
import type { Random } from "./random.ts";

interface Gate {
  owner: Living | undefined;
  open(): void;
}

export class Gates {
  readonly #shut = new Set<Gate>();

  /** Resolves when the gate is opened. */
  wait(owner: Living | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.add(owner, resolve);
    return promise;
  }

  /** Adds a gate that calls `open` when the simulation opens it. Returns a function that removes the gate. */
  add(owner: Living | undefined, open: () => void): () => void {
    const gate = { owner, open };
    this.#shut.add(gate);
    return () => this.#shut.delete(gate);
  }

  /** Opens a random gate. Returns false if none is shut. */
  openOne(random: Random): boolean {
    const gate = random.pick([...this.#shut]);
    if (gate === undefined) return false;
    this.#shut.delete(gate);
    gate.open();
    return true;
  }

  /** Removes the gates of a dead process: they never open. */
  forget(owner: Living): void {
    for (const gate of this.#shut) if (gate.owner === owner) this.#shut.delete(gate);
  }
}
