/** The live log in PostgreSQL, for several servers without Redis, and behind Redis if there is one. */
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";
import { limits } from "../../domain/limits.ts";
import { AptoveError } from "../../domain/errors.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { pause } from "../../system/abort.ts";
import { systemCode } from "../../system/system-error.ts";
import { Batcher } from "../batcher.ts";
import { checkMayWrite, checkTurnId, type EventLog, type MayWrite } from "../event-log.ts";
import type { TurnProgressTracker } from "../turn-progress.ts";
import { TurnWaiters } from "../turn-waiters.ts";
import type { LiveRow, LiveTable, EventPosition } from "./live-table.ts";
import { OwnTurnRows } from "./own-turn-rows.ts";

const batchMax = { countMax: 1_000, weightMax: 8_388_608 };

export interface PostgresEventLogParts {
  table: LiveTable;
  progress: TurnProgressTracker;
  /** The listener that wakes waiting readers. It is started for the first one. */
  listener: { readonly isConnected: boolean; start(): void };
  /** Closes the connections. */
  close(): Promise<void>;
}

interface OwnedRow {
  row: LiveRow;
  mayWrite: MayWrite | undefined;
}

export class PostgresEventLog implements EventLog {
  readonly #parts: PostgresEventLogParts;
  /** The turns that this process appends to, until they are dropped. They bound the memory. */
  readonly #own = new Map<string, OwnTurnRows>();
  /** The running append of each turn: one at a time. */
  readonly #appending = new Map<string, Promise<void>>();
  readonly #waiters = new TurnWaiters();
  readonly #inserts: Batcher<OwnedRow, void>;
  readonly #reads: Batcher<EventPosition, SequencedEvent[] | null>;
  readonly #drops: Batcher<string, void>;
  readonly #closing = new AbortController();
  #closed: Promise<void> | null = null;

  constructor(parts: PostgresEventLogParts) {
    const { table } = parts;
    this.#parts = parts;
    // A row may wait for the batch before it. Meanwhile its turn may be lost.
    this.#inserts = new Batcher(async (rows) => {
      const owned = rows.filter(({ mayWrite }) => mayWrite?.() !== false);
      if (owned.length > 0) await table.insert(owned.map(({ row }) => row));
      return [];
    }, batchMax);
    this.#reads = new Batcher((positions) => table.read(positions), batchMax);
    this.#drops = new Batcher(async (turnIds) => (await table.drop(turnIds), []), batchMax);
  }

  async append(turnId: string, events: readonly TurnEvent[], mayWrite?: MayWrite): Promise<void> {
    checkTurnId(turnId);
    const own = this.#own.get(turnId) ?? new OwnTurnRows(turnId);
    this.#own.set(turnId, own);
    own.add(events);
    const before = this.#appending.get(turnId);
    const write = (): Promise<void> => this.#write(turnId, own, mayWrite);
    const mine = before === undefined ? write() : before.then(write);
    const settled = mine.catch(() => undefined);
    this.#appending.set(turnId, settled);
    try {
      await mine;
    } catch (error) {
      throw fault(`events of the turn ${turnId} could not be appended`, error);
    } finally {
      if (this.#appending.get(turnId) === settled) this.#appending.delete(turnId);
      this.#waiters.wake(turnId);
    }
  }

  async #write(turnId: string, own: OwnTurnRows, mayWrite: MayWrite | undefined): Promise<void> {
    await this.#patiently(async () => {
      if (own.events === null) own.load(await this.#reads.add({ turnId, afterSeq: 0 }));
      for (let row = own.next(); row !== null; row = own.next()) {
        checkMayWrite(turnId, mayWrite);
        await this.#inserts.add({ row, mayWrite }, row.events.length);
        checkMayWrite(turnId, mayWrite);
        own.written();
      }
    });
  }

  /** Retries while the server is unreachable, for a limited time: turns continue to run, and listeners are not cut off (R5). */
  async #patiently<T>(action: () => Promise<T>): Promise<T> {
    const { signal } = this.#closing;
    const end = performance.now() + limits.liveAwayMsMax;
    for (let pauseMs: number = limits.liveReconnectMs; ; pauseMs = Math.min(pauseMs * 2, limits.liveReconnectMsMax)) {
      try {
        return await action();
      } catch (error) {
        if (
          error instanceof AptoveError ||
          !isUnreachable(error) ||
          signal.aborted ||
          performance.now() + pauseMs > end
        )
          throw error;
        await pause(pauseMs, signal);
      }
    }
  }

  async read(turnId: string, afterSeq: number): Promise<SequencedEvent[] | null> {
    checkTurnId(turnId);
    const own = this.#own.get(turnId)?.events ?? null;
    if (own !== null) return own.slice(Math.max(0, afterSeq));
    try {
      return await this.#patiently(() => this.#reads.add({ turnId, afterSeq }));
    } catch (error) {
      throw fault(`events of the turn ${turnId} could not be read`, error);
    }
  }

  async wait(turnId: string, afterSeq: number, signal: AbortSignal): Promise<void> {
    checkTurnId(turnId);
    const { progress, listener } = this.#parts;
    const own = this.#own.get(turnId);
    if (own !== undefined) {
      // Nothing runs between this check and the wait, so no append is missed.
      if ((own.events?.length ?? 0) <= afterSeq) await this.#waiters.wait(turnId, signal, limits.livePollWithWakeUpsMs);
      return;
    }
    if (this.#closing.signal.aborted) return;
    listener.start();
    const ms = listener.isConnected ? limits.livePollWithWakeUpsMs : limits.livePollWithoutWakeUpsMs;
    await progress.wait(turnId, afterSeq, { signal, ms });
  }

  async list(): Promise<string[]> {
    try {
      // The own turns are listed too, even if another process has dropped the rows: they are kept until they are dropped here.
      return [...new Set([...(await this.#parts.table.list()), ...this.#own.keys()])];
    } catch (error) {
      throw fault("the live logs could not be listed", error);
    }
  }

  async drop(turnId: string): Promise<void> {
    checkTurnId(turnId);
    // A first row that is written after the drop would start a new log.
    await this.#appending.get(turnId);
    this.#own.delete(turnId);
    try {
      await this.#patiently(() => this.#drops.add(turnId));
    } catch (error) {
      throw fault(`the live log of the turn ${turnId} could not be deleted`, error);
    } finally {
      this.#waiters.wake(turnId);
      this.#parts.progress.reportDropped(turnId);
    }
  }

  async close(): Promise<void> {
    await (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.#own.clear();
    this.#waiters.wakeAll();
    this.#parts.progress.reportMissed();
    await Promise.all([...this.#appending.values(), this.#reads.idle(), this.#drops.idle()]);
    await this.#parts.close();
  }
}

/** Returns the error as `storage_full`, by SQL's code for it, or as `storage_failed`. */
function fault(what: string, cause: unknown): AptoveError {
  if (systemCode(cause) !== "53100") return storageFault(what, cause);
  return new AptoveError("storage_full", `${what}: ${(cause as Error).message}`, { cause });
}

/** Returns whether the server is unreachable, starting or refusing connections. Errors of the statement itself have other codes. */
function isUnreachable(error: unknown): boolean {
  const code = systemCode(error);
  return !/^[0-9A-Z]{5}$/.test(code) || /^(08|57P|53300|40|25006)/.test(code) || code === "EPIPE";
}
