/** What is opened when it is first needed, and from then on is the same for all. If it cannot be opened, the next caller tries again. */
export class OpenedOnce<T> {
  readonly #make: () => Promise<T>;
  #opened: Promise<T> | null = null;

  constructor(make: () => Promise<T>) {
    this.#make = make;
  }

  /** Opens it, unless it is open or being opened. Rejects as `make` does. */
  open(): Promise<T> {
    return (this.#opened ??= this.#make().catch((error: unknown) => {
      this.#opened = null;
      throw error;
    }));
  }

  /** Returns it if it is open, or will be in a moment. Null: it was never opened, or could not be. Never rejects. */
  async ifOpen(): Promise<T | null> {
    return (await this.#opened?.catch(() => null)) ?? null;
  }
}
