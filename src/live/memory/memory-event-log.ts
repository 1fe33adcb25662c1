/** The live log in memory: for tests, and for a process that shares its turns with no other. It is lost when the process ends. */
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";
import { limits } from "../../domain/limits.ts";
import { checkMayWrite, checkTurnId, type EventLog, type MayWrite } from "../event-log.ts";
import { TurnWaiters } from "../turn-waiters.ts";

export function memoryEventLog(): EventLog {
  return new MemoryEventLog();
}

class MemoryEventLog implements EventLog {
  readonly #logs = new Map<string, SequencedEvent[]>();
  readonly #waiters = new TurnWaiters();

  async append(turnId: string, events: readonly TurnEvent[], mayWrite?: MayWrite): Promise<void> {
    checkTurnId(turnId);
    checkMayWrite(turnId, mayWrite);
    const log = this.#logs.get(turnId) ?? [];
    this.#logs.set(turnId, log);
    for (const event of events) log.push({ seq: log.length + 1, event });
    this.#waiters.wake(turnId);
  }

  async read(turnId: string, afterSeq: number): Promise<SequencedEvent[] | null> {
    checkTurnId(turnId);
    return this.#logs.get(turnId)?.slice(Math.max(0, afterSeq)) ?? null;
  }

  async wait(turnId: string, afterSeq: number, signal: AbortSignal): Promise<void> {
    checkTurnId(turnId);
    const log = this.#logs.get(turnId);
    if (log === undefined) await this.#waiters.wait(turnId, signal, limits.livePollMs);
    else if (log.length <= afterSeq) await this.#waiters.wait(turnId, signal);
  }

  async list(): Promise<string[]> {
    return [...this.#logs.keys()];
  }

  async drop(turnId: string): Promise<void> {
    checkTurnId(turnId);
    this.#logs.delete(turnId);
    this.#waiters.wake(turnId);
  }

  async close(): Promise<void> {
    this.#waiters.wakeAll();
  }
}
