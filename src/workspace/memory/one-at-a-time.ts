/** Runs bodies with the same name one after the other, in the order of the calls. The drivers in memory use it as their lock. */
export class OneAtATime {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(name: string, body: () => T | Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const mine = before.then(body, body);
    this.#last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === mine) this.#last.delete(name);
    }
  }
}
