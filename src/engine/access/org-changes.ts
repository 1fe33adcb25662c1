/**
 * Says in every process that sessions of an org have changed, or what waits in them. It says only where to look: the records tell
 * what changed. So a hint may come twice, and one that is lost only makes a listener later (V2).
 */
import type { Caller } from "../../domain/caller.ts";
import { wakeTopics, type WakeUps } from "../../live/wake-ups.ts";
import { endOfRound } from "../../system/rounds.ts";

export class OrgChanges {
  readonly #wakeUps: WakeUps | undefined;
  readonly #listeners = new Map<string, Set<() => void>>();
  /** The orgs whose change the other processes do not know yet. */
  readonly #unsent = new Set<string>();

  constructor(wakeUps: WakeUps | undefined) {
    this.#wakeUps = wakeUps;
  }

  /** Returns at once and never throws. Many changes at about the same time are one wake-up. */
  changed(orgId: string): void {
    for (const wake of this.#listeners.get(orgId) ?? []) wake();
    if (this.#wakeUps === undefined) return;
    if (this.#unsent.size === 0) void endOfRound().then(() => this.#send());
    this.#unsent.add(orgId);
  }

  /** Calls `wake` at each change of the org. `wake` must neither throw nor take long. Returns a function that ends it. */
  on(orgId: string, wake: () => void): () => void {
    const listeners = this.#listeners.get(orgId) ?? new Set();
    this.#listeners.set(orgId, listeners.add(wake));
    const sleep = this.#wakeUps?.on(wakeTopics.sessions(orgId), wake);
    return () => {
      sleep?.();
      listeners.delete(wake);
      if (listeners.size === 0) this.#listeners.delete(orgId);
    };
  }

  #send(): void {
    for (const orgId of this.#unsent) this.#wakeUps?.send(wakeTopics.sessions(orgId));
    this.#unsent.clear();
  }
}

/** Returns the verbs, of which the named ones say afterwards that something changed in the caller's org. */
export function announcing<T extends object>(changes: OrgChanges, verbs: T, names: readonly (keyof T)[]): T {
  const speaking = names.map((name) => {
    const verb = verbs[name] as (caller: Caller, ...rest: unknown[]) => Promise<unknown>;
    const announce = async (caller: Caller, ...rest: unknown[]): Promise<unknown> => {
      try {
        return await verb(caller, ...rest);
      } finally {
        changes.changed(caller.orgId);
      }
    };
    return [name, announce];
  });
  return { ...verbs, ...(Object.fromEntries(speaking) as Partial<T>) };
}
