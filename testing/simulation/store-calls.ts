/**
 * Every call of an engine to a store waits here until the simulation lets it through, one at a time. So the order of
 * all reads and writes is the simulation's choice, a call can fail, and a process can die between any two of them.
 */
import { setImmediate } from "node:timers/promises";
import { AptoveError } from "../../src/domain/errors.ts";
import { currentAsked, type Asked, type Living } from "./asked.ts";
import type { Random } from "./random.ts";

/** A process as its stores see it. */
export interface StoreUser extends Living {
  /** Asleep: its calls wait, and the clock goes on. */
  isAsleep: boolean;
  trouble: Trouble | null;
}

/** The next calls of a process that fail. */
export interface Trouble {
  /** The number of calls that still succeed. */
  skips: number;
  left: number;
  code: "storage_full" | "storage_failed";
  /** True if the call takes effect and only its answer is lost. */
  isAfterwards: boolean;
  /** True if only calls that write fail. */
  isOfWrites: boolean;
}

interface StoreCall {
  user: StoreUser;
  name: string;
  asked: Asked | undefined;
  perform(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Names of methods that only read; a method of the records has its part in front. */
const reads = /^(?:\w+\.)?(?:get|list|find|size|read|isParticipant|sharedTurnIds|existingTurnIds|blobKeysOf)/;

export class StoreCalls {
  readonly #waiting: StoreCall[] = [];
  readonly #sleepers = new Set<() => void>();
  /** The number of executed calls, for the report. */
  performed = 0;

  /** Returns the store with every call held back, in its parts too. `close` does nothing: the store belongs to the world. */
  held<T extends object>(store: T, user: StoreUser, part = ""): T {
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof name !== "string") return member;
        if (typeof member === "object" && member !== null) return this.held(member, user, `${name}.`);
        if (typeof member !== "function") return member;
        if (name === "close") return () => Promise.resolve();
        if (name === "wait") return (_turn: string, _seq: number, signal: AbortSignal) => this.#untilChange(signal);
        return (...args: unknown[]) => this.#hold(user, `${part}${name}`, () => Reflect.apply(member, target, args));
      },
    });
  }

  #hold(user: StoreUser, name: string, perform: () => Promise<unknown>): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    // A dead process waits for ever.
    if (!user.isDead) this.#waiting.push({ user, name, asked: currentAsked(), perform, resolve, reject });
    return promise;
  }

  /** Waits for events, for a listener of a live log. It sometimes resolves too early, as the contract allows. */
  async #untilChange(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#sleepers.add(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    this.#sleepers.delete(resolve);
  }

  wakeFollowers(): void {
    for (const wake of this.#sleepers) wake();
  }

  /** Executes one call of a process that is awake. Returns false if there is none. */
  async letOneThrough(random: Random): Promise<boolean> {
    const call = random.pick(this.#waiting.filter(({ user }) => !user.isAsleep));
    if (call === undefined) return false;
    this.#waiting.splice(this.#waiting.indexOf(call), 1);
    this.performed += 1;
    const fault = troubleOf(call);
    if (fault === null) await call.perform().then(call.resolve, call.reject);
    else {
      if (call.asked !== undefined) call.asked.faults += 1;
      // The process is dead, so no caller gets the result.
      if (fault.isAfterwards) await Promise.allSettled([call.perform()]);
      call.reject(new AptoveError(fault.code, `the simulation lets ${call.name} fail`));
    }
    if (call.name === "append" || call.name === "drop") this.wakeFollowers();
    await settled();
    return true;
  }

  /** The process dies. Of the calls that it was waiting for, some were done, and it never gets a result. */
  async kill(user: StoreUser, random: Random): Promise<void> {
    user.isDead = true;
    const last = this.#waiting.filter((call) => call.user === user);
    for (const call of last) {
      this.#waiting.splice(this.#waiting.indexOf(call), 1);
      if (random.chance(0.5)) await Promise.allSettled([call.perform()]);
    }
    this.wakeFollowers();
    await settled();
  }
}

function troubleOf({ user, name }: StoreCall): Trouble | null {
  const { trouble } = user;
  if (trouble === null || (trouble.isOfWrites && reads.test(name))) return null;
  if (trouble.skips > 0) {
    trouble.skips -= 1;
    return null;
  }
  trouble.left -= 1;
  if (trouble.left <= 0) user.trouble = null;
  return trouble;
}

/** Resolves when everything has run as far as it can without another call or an opened gate. */
export async function settled(): Promise<void> {
  await setImmediate();
}
