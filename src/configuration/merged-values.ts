/** The merged keys of all layers. Each key has the value of the highest layer that has it. */

/** Values by key path. A name that a person chose without any key has an empty table as its value. */
export type LayerValues = Map<string, unknown>;

/** Reads merged keys. Each layer was checked before, so every value has the type of its key. */
export class MergedValues {
  readonly #values: LayerValues;
  constructor(values: LayerValues) {
    this.#values = values;
  }
  get<T>(key: string): T | undefined {
    return this.#values.get(key) as T | undefined;
  }
  text(key: string): string | null {
    return this.get<string>(key) ?? null;
  }
  /** Returns the names that a person chose below a key, after those of `always`. */
  names(key: string, always: readonly string[]): string[] {
    return [...new Set([...always, ...chosenNames(this.#values.keys(), key)])];
  }
}

/** Returns the names below `key` in these key paths. */
export function chosenNames(paths: Iterable<string>, key: string): string[] {
  const below = [...paths].filter((path) => path.startsWith(`${key}.`));
  return below.map((path) => path.slice(key.length + 1).split(".")[0] as string);
}
