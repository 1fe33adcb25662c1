/** The keys of all layers, merged: each with the value of the highest layer that has it. */

/** Key path to value. A name that a person chose and gave no key at all is there with an empty table. */
export type LayerValues = Map<string, unknown>;

/** Reads merged keys. Their form was checked per layer, so a value here has its type. */
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
  /** The names that a person chose under a key, `always` first. */
  names(key: string, always: readonly string[]): string[] {
    return [...new Set([...always, ...chosenNames(this.#values.keys(), key)])];
  }
}

/** The names that stand below `key` in these key paths. */
export function chosenNames(paths: Iterable<string>, key: string): string[] {
  const below = [...paths].filter((path) => path.startsWith(`${key}.`));
  return below.map((path) => path.slice(key.length + 1).split(".")[0] as string);
}
