/**
 * The live log in files. So every process on a data folder can follow every turn (B4), and a crash of the runner loses nothing
 * that any listener saw (R2). The file is `<folder>/<turn id>.ndjson`, one per running turn. Appends are not synced: after power
 * loss the turn has failed anyway, and its finished steps are in the records.
 *
 * Readers in the runner's process are woken by the append itself. Those in other processes poll every `livePollMs`, and read
 * only what was added.
 */
import { constants, mkdirSync, unlinkSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";
import { isId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { noFollowFlag } from "../../system/read-files.ts";
import { systemCode } from "../../system/system-error.ts";
import { checkMayWrite, checkTurnId, type EventLog, type MayWrite } from "../event-log.ts";
import { TurnWaiters } from "../turn-waiters.ts";
import { readEventLines } from "./event-lines.ts";
import { OwnTurnFile } from "./own-turn-file.ts";

/** The maximum number of other processes' logs whose ends are remembered. A forgotten one is read from its beginning. */
const endsMax = 1_024;

/** Opens the live logs of a folder. Creates the folder if it does not exist. Throws `storage_full` or `storage_failed`. */
export function fileEventLog({ folder }: { folder: string }): EventLog {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw storageFault(`the live logs in ${folder} could not be opened`, error);
  }
  return new FileEventLog(folder);
}

class FileEventLog implements EventLog {
  readonly #folder: string;
  /** The turns that this process appends to, until they are dropped. They bound the memory. */
  readonly #own = new Map<string, OwnTurnFile>();
  /** How far other processes' logs were read: the number of the last event, and the length in bytes up to its end. */
  readonly #ends = new Map<string, { seq: number; length: number }>();
  readonly #waiters = new TurnWaiters();
  #isClosed = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async append(turnId: string, events: readonly TurnEvent[], mayWrite?: MayWrite): Promise<void> {
    checkMayWrite(turnId, mayWrite);
    try {
      this.#ownLog(turnId).append(events);
    } catch (error) {
      throw storageFault(`events of the turn ${turnId} could not be appended`, error);
    } finally {
      this.#waiters.wake(turnId);
    }
  }

  #ownLog(turnId: string): OwnTurnFile {
    const log = this.#own.get(turnId) ?? new OwnTurnFile(this.#pathOf(turnId));
    this.#own.set(turnId, log);
    return log;
  }

  async read(turnId: string, afterSeq: number): Promise<SequencedEvent[] | null> {
    const own = this.#own.get(turnId);
    if (own === undefined) return this.#readFile(turnId, afterSeq);
    return own.events.slice(Math.max(0, afterSeq));
  }

  /** Reads from the end that was reached before, if the caller has the events up to there. */
  async #readFile(turnId: string, afterSeq: number): Promise<SequencedEvent[] | null> {
    const known = this.#ends.get(turnId);
    const start = known !== undefined && known.seq <= afterSeq ? known : { seq: 0, length: 0 };
    try {
      const bytes = await bytesFrom(this.#pathOf(turnId), start.length);
      const found = readEventLines(bytes, start.seq);
      this.#rememberEnd(turnId, { seq: start.seq + found.events.length, length: start.length + found.length });
      return found.events.filter(({ seq }) => seq > afterSeq);
    } catch (error) {
      this.#ends.delete(turnId);
      if (systemCode(error) === "ENOENT") return null;
      throw storageFault(`events of the turn ${turnId} could not be read`, error);
    }
  }

  #rememberEnd(turnId: string, end: { seq: number; length: number }): void {
    this.#ends.delete(turnId);
    this.#ends.set(turnId, end);
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > endsMax && oldest !== undefined) this.#ends.delete(oldest);
  }

  async wait(turnId: string, afterSeq: number, signal: AbortSignal): Promise<void> {
    checkTurnId(turnId);
    const own = this.#own.get(turnId);
    if (own === undefined) return this.#waitForOthers(turnId, afterSeq, signal);
    // Nothing runs between this check and the wait, so no append is missed.
    if (own.events.length > afterSeq) return;
    // The time is limited because another process ends the turn if this one lost it.
    await this.#waiters.wait(turnId, signal, limits.livePollWithWakeUpsMs);
  }

  /** Polls until another process has appended or dropped, for a limited time, because that process may have failed to drop. Polls once if there is no log. */
  async #waitForOthers(turnId: string, afterSeq: number, signal: AbortSignal): Promise<void> {
    const end = performance.now() + limits.livePollWithWakeUpsMs;
    let events: SequencedEvent[] | null;
    do {
      events = await this.#readFile(turnId, afterSeq);
      if (events !== null && events.length > 0) return;
      await this.#waiters.wait(turnId, signal, limits.livePollMs);
      if (performance.now() > end) return;
    } while (events !== null && !signal.aborted && !this.#isClosed && !this.#own.has(turnId));
  }

  async list(): Promise<string[]> {
    try {
      const names = await readdir(this.#folder);
      const found = names.flatMap((name) => (name.endsWith(".ndjson") ? [name.slice(0, -".ndjson".length)] : []));
      // The own turns are listed too, even if another process has deleted the file: they are kept until they are dropped here.
      return [...new Set([...found.filter(isId), ...this.#own.keys()])];
    } catch (error) {
      throw storageFault(`the live logs in ${this.#folder} could not be listed`, error);
    }
  }

  async drop(turnId: string): Promise<void> {
    const path = this.#pathOf(turnId);
    const own = this.#own.get(turnId);
    this.#own.delete(turnId);
    this.#ends.delete(turnId);
    try {
      own?.close();
      unlinkSync(path);
    } catch (error) {
      if (systemCode(error) === "ENOENT") return;
      throw storageFault(`the live log of the turn ${turnId} could not be deleted`, error);
    } finally {
      this.#waiters.wake(turnId);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const logs = [...this.#own.values()];
    this.#own.clear();
    this.#waiters.wakeAll();
    try {
      for (const log of logs) log.close();
    } catch (error) {
      throw storageFault(`the live logs in ${this.#folder} could not be closed`, error);
    }
  }

  #pathOf(turnId: string): string {
    checkTurnId(turnId);
    return join(this.#folder, `${turnId}.ndjson`);
  }
}

/** Returns the content of a file from `start` to its current end. Throws ENOENT if there is no file. */
async function bytesFrom(path: string, start: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | noFollowFlag);
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(Math.max(0, size - start));
    let read = 0;
    while (read < bytes.length) {
      const { bytesRead } = await file.read(bytes, read, bytes.length - read, start + read);
      // Another process has cut off a torn line in the meantime.
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return bytes.subarray(0, read);
  } finally {
    await file.close();
  }
}
