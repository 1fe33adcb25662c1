/**
 * The live log in Redis, with another log behind it. Redis gets each event first and notifies every server. A moment later the
 * log behind gets it too, many events at a time. So Redis may be flushed, hang, or be unreachable at any time: readers continue
 * from their position in the other log, and the turn is not affected (R5).
 */
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";
import { limits } from "../../domain/limits.ts";
import { apart } from "../../system/apart.ts";
import { checkTurnId, readAll, type EventLog, type MayWrite, type Patience } from "../event-log.ts";
import type { TurnProgressTracker } from "../turn-progress.ts";
import { TurnWaiters } from "../turn-waiters.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { OwnTurnStream, type EarlierEvents } from "./own-turn-stream.ts";
import type { TurnStreams } from "./turn-streams.ts";

export interface RedisEventLogParts {
  connection: RedisConnection;
  streams: TurnStreams;
  progress: TurnProgressTracker;
  behind: EventLog;
  report(message: string, error?: unknown): void;
}

export class RedisEventLog implements EventLog {
  readonly #parts: RedisEventLogParts;
  /** The turns that this process appends to, until they are dropped. They bound the memory. */
  readonly #own = new Map<string, OwnTurnStream>();
  readonly #waiters = new TurnWaiters();
  /** Turns with events that the log behind does not have yet. */
  readonly #unwritten = new Set<OwnTurnStream>();
  #timer: NodeJS.Timeout | null = null;
  #closed: Promise<void> | null = null;

  constructor(parts: RedisEventLogParts) {
    this.#parts = parts;
  }

  async append(turnId: string, events: readonly TurnEvent[], mayWrite?: MayWrite): Promise<void> {
    checkTurnId(turnId);
    const turn = this.#own.get(turnId) ?? new OwnTurnStream(turnId, { ...this.#parts, left: (id) => this.#left(id) });
    this.#own.set(turnId, turn);
    try {
      await turn.append(events, mayWrite);
    } finally {
      this.#waiters.wake(turnId);
      if (this.#isDue(turn)) this.#writeSoon(turn);
    }
  }

  async #left(turnId: string): Promise<EarlierEvents> {
    const [kept, all] = await Promise.all([readAll(this.#parts.behind, turnId), readAll(this, turnId)]);
    const isMore = (all?.length ?? 0) > (kept?.length ?? 0);
    return { events: (isMore ? all : kept) ?? [], given: kept?.length ?? null };
  }

  #isDue(turn: OwnTurnStream): boolean {
    return !turn.isWritten && turn.mayWrite && turn.readable !== null && this.#own.get(turn.turnId) === turn;
  }

  #writeSoon(turn: OwnTurnStream): void {
    this.#unwritten.add(turn);
    this.#timer ??= apart(() => setTimeout(() => void this.#writeAll(), limits.redisLagMs));
  }

  /** Writes all turns at once, so that the log behind combines them into one write. */
  async #writeAll(): Promise<void> {
    const turns = [...this.#unwritten];
    this.#unwritten.clear();
    const faults: unknown[] = [];
    const write = async (turn: OwnTurnStream): Promise<void> => {
      try {
        await turn.write();
      } catch (error) {
        // What a lost turn still had belongs nowhere (R1).
        if (turn.mayWrite) faults.push(error);
      }
    };
    await Promise.all(turns.map(write));
    if (faults.length > 0) this.#parts.report("events could not be written to the log behind Redis", faults[0]);
    this.#timer = null;
    // Events that arrived in the meantime are written next.
    for (const turn of [...turns, ...this.#unwritten]) if (this.#isDue(turn)) this.#writeSoon(turn);
  }

  async read(turnId: string, afterSeq: number, patience?: Patience): Promise<SequencedEvent[] | null> {
    checkTurnId(turnId);
    const own = this.#own.get(turnId);
    if (own !== undefined && own.readable !== null) return own.read(afterSeq);
    const { streams, behind, connection } = this.#parts;
    const ask = (): Promise<SequencedEvent[] | null> => streams.read(turnId, afterSeq);
    const found = await (patience === undefined ? ask() : connection.patiently(ask)).catch(() => null);
    if (found !== null && found.length > 0) return found;
    // Redis has nothing new, or lacks it.
    return (await behind.read(turnId, afterSeq)) ?? found;
  }

  async wait(turnId: string, afterSeq: number, signal: AbortSignal): Promise<void> {
    checkTurnId(turnId);
    if (this.#closed !== null) return;
    const own = this.#own.get(turnId);
    if (own !== undefined) {
      // Nothing runs between this check and the wait, so no append is missed.
      if ((own.readable ?? 0) <= afterSeq) await this.#waiters.wait(turnId, signal, limits.livePollWithWakeUpsMs);
      return;
    }
    const { progress, behind, connection } = this.#parts;
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const ms = connection.isConnected ? limits.livePollWithWakeUpsMs : limits.livePollWithoutWakeUpsMs;
    const waits = [progress.wait(turnId, afterSeq, { signal: either, ms }), behind.wait(turnId, afterSeq, either)];
    await Promise.race(waits);
    over.abort();
    await Promise.all(waits);
  }

  async list(): Promise<string[]> {
    return [...new Set([...(await this.#parts.behind.list()), ...this.#own.keys()])];
  }

  async drop(turnId: string): Promise<void> {
    checkTurnId(turnId);
    const own = this.#own.get(turnId);
    const { streams, behind, progress } = this.#parts;
    // An event that is written after the drop would start a new log.
    await own?.idle();
    this.#own.delete(turnId);
    if (own !== undefined) this.#unwritten.delete(own);
    try {
      await Promise.all([streams.drop(turnId), behind.drop(turnId)]);
    } finally {
      this.#waiters.wake(turnId);
      progress.reportDropped(turnId);
    }
  }

  async close(): Promise<void> {
    await (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    const { connection, behind, progress, report } = this.#parts;
    const turns = [...this.#own.values()].filter((turn) => turn.readable !== null && turn.mayWrite);
    this.#own.clear();
    this.#unwritten.clear();
    clearTimeout(this.#timer ?? undefined);
    this.#waiters.wakeAll();
    progress.reportMissed();
    const keep = (error: unknown): void => report("events could not be written to the log behind Redis", error);
    await Promise.all(turns.map((turn) => turn.write().catch(keep)));
    await connection.close();
    await behind.close();
  }
}
