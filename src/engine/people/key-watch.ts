/**
 * Ends open connections when their key is revoked, replaced or expired, when its user is disabled, and when the caller gets other
 * rights: another role, org or workspace (P3, H4). A connection that names a device by a key also ends when the device is revoked.
 * The client connects again, and gets the new rights.
 */
import type { Caller } from "../../domain/caller.ts";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { wakeTopics } from "../../live/wake-ups.ts";
import type { KeyHolder } from "../../records/record-store.ts";
import { apart } from "../../system/apart.ts";
import { RepeatedFault } from "../../system/repeated-fault.ts";
import { rightsOf, scopedToBinding } from "../access/access.ts";
import { identifiedCaller } from "./identified-caller.ts";
import { keyCaller } from "./key-caller.ts";
import type { EngineDependencies } from "../dependencies.ts";

/** A connection, and its caller when it was opened. */
interface Watcher {
  caller: Caller;
  /** The device that the connection names, if its key is not the device's own. */
  deviceId?: string;
  onEnd(): void;
}

interface Watched extends Watcher {
  /** The token that the named device had when the connection was opened. Null: none. */
  token: Promise<string | null>;
}

export class KeyWatch {
  readonly #deps: EngineDependencies;
  /** The watched connections, by secret. */
  readonly #watchers = new Map<string, Set<Watched>>();
  #timer: NodeJS.Timeout | null = null;
  #looks = 0;
  readonly #fault: RepeatedFault;
  #last: Promise<void> = Promise.resolve();
  readonly #sleep: (() => void) | undefined;

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
    this.#fault = new RepeatedFault(deps.report, "whether keys of open connections are still valid could not be read");
    this.#sleep = deps.wakeUps?.on(wakeTopics.keys, () => void this.look());
  }

  /**
   * Calls `onEnd` once, when the key ends or the caller gets other rights. Never calls it for a secret that is no key.
   * Returns a function that ends the watch.
   */
  add(secret: string, watcher: Watcher): () => void {
    const watched = { ...watcher, token: this.#tokenOf(watcher) };
    const watchers = this.#watchers.get(secret) ?? new Set();
    this.#watchers.set(secret, watchers.add(watched));
    // One check at a time: with a slow store they would pile up.
    this.#timer ??= apart(() => setInterval(() => this.#looks === 0 && void this.look(), limits.keyPollMs)).unref();
    return () => {
      watchers.delete(watched);
      this.#forgetIfEmpty(secret, watchers);
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
    return (this.#last = this.#last.then(() => apart(() => this.#look())).finally(() => (this.#looks -= 1)));
  }

  async #look(): Promise<void> {
    const secrets = [...this.#watchers.keys()];
    if (secrets.length === 0) return;
    try {
      // One query for all connections.
      const holders = await this.#deps.records.keys.find(secrets.map(sha256));
      const byHash = new Map(holders.map((holder) => [holder.key.hash, holder]));
      const looks = await Promise.all(secrets.map((secret) => this.#lookAt(secret, byHash.get(sha256(secret)))));
      if (looks.every(Boolean)) this.#fault.succeeded();
    } catch (error) {
      this.#fault.failed(error);
    }
  }

  /**
   * Checks the caller of a key, or of a token of the identity provider. A secret that is neither never ends. Returns false if the
   * check failed, which ends nothing.
   */
  async #lookAt(secret: string, holder: KeyHolder | undefined): Promise<boolean> {
    const mayBeToken = this.#deps.identities !== undefined && secret.includes(".");
    if (holder === undefined && !mayBeToken) return true;
    try {
      const caller = await (holder === undefined
        ? identifiedCaller(this.#deps, secret)
        : keyCaller(this.#deps, holder, scopedToBinding));
      await this.#endAllBut(secret, caller);
      return true;
    } catch (error) {
      this.#fault.failed(error);
      return false;
    }
  }

  close(): void {
    this.#sleep?.();
    for (const secret of this.#watchers.keys()) this.#forget(secret);
  }

  /** Ends the connections whose caller had other rights than this one. Null: all. */
  async #endAllBut(secret: string, caller: Caller | null): Promise<void> {
    const watchers = this.#watchers.get(secret) ?? new Set();
    const ended: Watched[] = [];
    for (const watcher of [...watchers]) {
      if (caller === null || !(await this.#mayStay(watcher, caller))) ended.push(watcher);
    }
    // Some may have left while the store answered.
    const open = ended.filter((watcher) => watchers.delete(watcher));
    this.#forgetIfEmpty(secret, watchers);
    for (const { onEnd } of open) onEnd();
  }

  async #mayStay({ caller: opened, deviceId, token }: Watched, caller: Caller): Promise<boolean> {
    if (deviceId === undefined) return rightsOf(opened) === rightsOf(caller);
    if (rightsOf(opened) !== rightsOf(await scopedToBinding(this.#deps, caller, deviceId))) return false;
    const id = await token;
    return id === null || (await this.#deps.records.keys.get(id))?.revokedAt === null;
  }

  async #tokenOf({ caller, deviceId }: Watcher): Promise<string | null> {
    if (deviceId === undefined) return null;
    const { orgId, userId } = caller;
    try {
      const query = { orgId, userId, ofDevices: true, unrevoked: true, limit: limits.devicesListedMax };
      const tokens = await this.#deps.records.keys.list(query);
      return tokens.find((token) => token.deviceId === deviceId)?.id ?? null;
    } catch (error) {
      this.#fault.failed(error);
      return null;
    }
  }

  /** Forgets the secret, unless others came after the last of these connections had left. */
  #forgetIfEmpty(secret: string, watchers: ReadonlySet<Watched>): void {
    if (watchers.size === 0 && this.#watchers.get(secret) === watchers) this.#forget(secret);
  }

  #forget(secret: string): void {
    this.#watchers.delete(secret);
    if (this.#watchers.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
