/**
 * Ends open connections when their key is revoked, replaced or expired, or when its user is disabled or gets another
 * role (P3, H4).
 */
import { roleOf, type Role } from "../../domain/caller.ts";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { wakeTopics } from "../../live/wake-ups.ts";
import type { KeyHolder } from "../../records/record-store.ts";
import { identifiedCaller } from "./identified-caller.ts";
import type { EngineDependencies } from "../dependencies.ts";

/** Returns true if the key may be used now: the key, its user and their org are valid (H4). */
export function isValid({ key, user, org }: KeyHolder, now: number): boolean {
  const { revokedAt, expiresAt } = key;
  if (revokedAt !== null || (expiresAt !== null && expiresAt <= now)) return false;
  return user.disabledAt === null && org !== null && org.suspendedAt === null;
}

/** A connection, and the role of its caller when it was opened. */
interface Watcher {
  role: Role;
  onEnd(): void;
}

export class KeyWatch {
  readonly #deps: EngineDependencies;
  /** The watched connections, by secret. */
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

  /**
   * Calls `onEnd` once, when the key ends or its user gets another role. Never calls it for a secret that is no key.
   * Returns a function that ends the watch.
   */
  add(secret: string, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(secret) ?? new Set();
    this.#watchers.set(secret, watchers.add(watcher));
    // One check at a time: with a slow store they would pile up.
    this.#timer ??= setInterval(() => this.#looks === 0 && void this.look(), limits.keyPollMs).unref();
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(secret) === watchers) this.#forget(secret);
    };
  }

  /** Checks the keys at once, in every process, after this process has changed one. Never rejects. */
  changed(): Promise<void> {
    this.#deps.wakeUps?.send(wakeTopics.keys);
    return this.look();
  }

  /** Checks the watched keys. Never rejects. */
  look(): Promise<void> {
    // A check that has not begun yet will see this change too.
    if (this.#looks > 1) return this.#last;
    this.#looks += 1;
    return (this.#last = this.#last.then(() => this.#look()).finally(() => (this.#looks -= 1)));
  }

  async #look(): Promise<void> {
    const byHash = new Map([...this.#watchers.keys()].map((secret) => [sha256(secret), secret]));
    if (byHash.size === 0) return;
    const { records, now } = this.#deps;
    try {
      // One query for all connections.
      for (const holder of await records.keys.find([...byHash.keys()])) {
        const secret = byHash.get(holder.key.hash) ?? "";
        byHash.delete(holder.key.hash);
        this.#endAllBut(secret, isValid(holder, now()) ? roleOf(holder) : null);
      }
    } catch (error) {
      return this.#report(error);
    }
    const looks = await Promise.all([...byHash.values()].map((secret) => this.#lookAtToken(secret)));
    if (looks.every(Boolean)) this.#isFailing = false;
  }

  /**
   * Checks a token of the identity provider. A secret that is neither a key nor such a token never ends. Returns false
   * if the check failed.
   */
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

  /**
   * Reports a failure once, until a check succeeds again. An unreachable store would otherwise cause thousands of
   * reports in an hour.
   */
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
