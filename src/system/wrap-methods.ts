/** Puts the same code around every method of a store, for drivers that copy values, translate errors or retry. */

export type StoreMethod = (...args: unknown[]) => Promise<unknown>;

/** Returns the same store with each method replaced. `name` includes the part, for example `turns.open`. */
export function wrapMethods<T extends object>(store: T, wrap: (method: StoreMethod, name: string) => StoreMethod): T {
  const wrapAll = (members: object, prefix: string): object =>
    Object.fromEntries(
      Object.entries(members).map(([key, member]: [string, StoreMethod | object]) => {
        const name = `${prefix}${key}`;
        return [key, typeof member === "function" ? wrap(member as StoreMethod, name) : wrapAll(member, `${name}.`)];
      }),
    );
  return wrapAll(store, "") as T;
}
