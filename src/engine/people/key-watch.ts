/**
 * Tells open connections that the key they came with is not what it was: revoked, replaced or expired, or its user disabled
 * or of another role (P3, H4).
 */
import type { Role } from "../../domain/caller.ts";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { wakeTopics } from "../../live/wake-ups.ts";
import type { KeyHolder } from "../../records/record-store.ts";
import { identifiedCaller } from "./identified-caller.ts";
import type { EngineDependencies } from "../dependencies.ts";

/** Whether the key may be used now: it, whose it is, and their org (H4). */
export function isValid({ key, user, org }: KeyHolder, now: number): boolean {
  const { revokedAt, expiresAt } = key;
  if (revokedAt !== null || (expiresAt !== null && expiresAt <= now)) return false;
  return user.disabledAt === null && org !== null && org.suspendedAt === null;
}

/** A connection, and what its caller could do when it was opened. */
interface Watcher {
  role: Role;
  onEnd(): void;
}

export class KeyWatch {
  readonly #deps: EngineDependencies;
  /** Who wants to know, by the secret. */
  readonly #watchers = new Map<string, Set<Watcher>>();
  #timer: NodeJS.Timeout | null = null;
  #looks = 0;
  #isFailing = false;
  #last: Promise<void> = Promise.resolve();
  readonly #sleep: (() => void) | undefined;

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
    this.#sleep = deps.wakeUps?.on(wakeTopics.keys, () => void this.look());
  }

  /** Calls once when the key ends, or its caller's role is another; for a secret that is no key, never. Gives what ends the watch. */
  add(secret: string, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(secret) ?? new Set();
    this.#watchers.set(secret, watchers.add(watcher));
    // One look at a time: behind a slow store they would pile up.
    this.#timer ??= setInterval(() => this.#looks === 0 && void this.look(), limits.keyPollMs).unref();
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(secret) === watchers) this.#forget(secret);
    };
  }

  /** After a change that this process made: every process looks now, and not only when it is time. Never rejects. */
  changed(): Promise<void> {
    this.#deps.wakeUps?.send(wakeTopics.keys);
    return this.look();
  }

  /** Never rejects. */
  look(): Promise<void> {
    // One that has not begun yet will see whatever there is to see.
    if (this.#looks > 1) return this.#last;
    this.#looks += 1;
    return (this.#last = this.#last.then(() => this.#look()).finally(() => (this.#looks -= 1)));
  }

  async #look(): Promise<void> {
    const byHash = new Map([...this.#watchers.keys()].map((secret) => [sha256(secret), secret]));
    if (byHash.size === 0) return;
    const { records, now } = this.#deps;
    try {
      // One question for all, however many connections there are.
      for (const holder of await records.keys.find([...byHash.keys()])) {
        const secret = byHash.get(holder.key.hash) ?? "";
        byHash.delete(holder.key.hash);
        this.#endAllBut(secret, isValid(holder, now()) ? holder.user.role : null);
      }
    } catch (error) {
      return this.#report(error);
    }
    const looks = await Promise.all([...byHash.values()].map((secret) => this.#lookAtToken(secret)));
    if (looks.every(Boolean)) this.#isFailing = false;
  }

  /** What is neither a key nor a token of the identity provider never ends. False where it could not be looked at. */
  async #lookAtToken(token: string): Promise<boolean> {
    if (this.#deps.identities === undefined || !token.includes(".")) return true;
    try {
      this.#endAllBut(token, (await identifiedCaller(this.#deps, token))?.role ?? null);
      return true;
    } catch (error) {
      this.#report(error);
      return false;
    }
  }

  /** Once, until a look goes well again: a store that is away for an hour is not told of seven thousand times. */
  #report(error: unknown): void {
    if (!this.#isFailing)
      this.#deps.report("whether keys of open connections are still valid could not be read", error);
    this.#isFailing = true;
  }

  close(): void {
    this.#sleep?.();
    for (const secret of this.#watchers.keys()) this.#forget(secret);
  }

  #endAllBut(secret: string, role: Role | null): void {
    const watchers = this.#watchers.get(secret) ?? new Set();
    const ended = [...watchers].filter((watcher) => watcher.role !== role);
    for (const watcher of ended) watchers.delete(watcher);
    if (watchers.size === 0) this.#forget(secret);
    for (const { onEnd } of ended) onEnd();
  }

  #forget(secret: string): void {
    this.#watchers.delete(secret);
    if (this.#watchers.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
