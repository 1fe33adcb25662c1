/**
 * Reports whether the stores work (`/readyz`). Any client may request it, any number of times: each store is queried at
 * most once per interval, one query at a time. A store that has not answered is not queried again. Now and then the query
 * writes something and deletes it again, because a full disk and a folder without write permission can still be read.
 */
import { limits } from "../../domain/limits.ts";
import { newId } from "../../domain/ids.ts";
import { unlessAborted } from "../../system/abort.ts";
import { RepeatedFault } from "../../system/repeated-fault.ts";
import type { RecordStore } from "../../records/record-store.ts";
import type { StoreName } from "../../telemetry/observer.ts";
import { healthProbes } from "../turn/kept/turn-blobs.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { HealthReport, StoreState } from "../engine.ts";

type Stores = Pick<HealthReport, "records" | "blobs" | "log">;

export function healthWatch(core: EngineCore): () => Promise<HealthReport> {
  const { records, blobs, log, version, runner, now } = core.deps;
  // No turn has this id.
  const none = newId();
  const writing = writesOf(core);
  const questions: Record<keyof Stores, () => Promise<StoreState>> = {
    records: bounded(
      core,
      { store: "records", fault: "the records do not work" },
      writing.records(() => readPlaced(records, runner.id)),
    ),
    blobs: bounded(
      core,
      { store: "blobs", fault: "the blobs do not work" },
      writing.blobs(() => blobs.get("turns/none")),
    ),
    log: bounded(
      core,
      { store: "live", fault: "the live log does not work" },
      writing.log(() => log.read(none, 0)),
    ),
  };
  let known: { at: number; stores: Promise<Stores> } | null = null;
  const ask = async (): Promise<Stores> => {
    const [one, two, three] = await Promise.all([questions.records(), questions.blobs(), questions.log()]);
    return { records: one, blobs: two, log: three };
  };
  return async () => {
    const at = now();
    // A clock that was set back must not keep an old answer alive.
    if (known === null || Math.abs(at - known.at) >= limits.healthKeptMs) known = { at, stores: ask() };
    const stores = await known.stores;
    return {
      version,
      runnerId: runner.id,
      ...stores,
      runningTurns: core.live.count,
      isShuttingDown: core.closing.signal.aborted,
    };
  };
}

type Question = () => Promise<unknown>;

/** Reads a row. Data that was moved away can still be read, so the store is asked for its place too. */
function readPlaced({ storage, runners }: RecordStore, runnerId: string): Promise<unknown> {
  const { checkPlace } = storage;
  return checkPlace === undefined ? runners.get(runnerId) : checkPlace().then(() => runners.get(runnerId));
}

/** Returns, for each store, a function that makes a query of it write now and then. After a failed write every query writes. */
function writesOf({ deps }: EngineCore): Record<keyof Stores, (read: Question) => Question> {
  const { records, blobs, log, monotonic } = deps;
  const alternating = (write: Question) => (read: Question) => {
    let writtenAt = -Infinity;
    return async () => {
      if (monotonic() - writtenAt >= limits.healthWriteMs) {
        await write();
        writtenAt = monotonic();
      }
      await read();
    };
  };
  return {
    records: alternating(() => records.storage.probe()),
    blobs: alternating(async () => {
      const key = `${healthProbes}${newId()}`;
      await blobs.put(key, Buffer.from(incompressibleText()));
      await blobs.delete(key);
    }),
    log: alternating(async () => {
      const turnId = newId();
      await log.append(turnId, [{ type: "text_delta", messageId: turnId, delta: incompressibleText() }]);
      await log.drop(turnId);
    }),
  };
}

/** Returns text that no store can make much shorter, so that it needs room. */
function incompressibleText(): string {
  let text = "";
  while (text.length < limits.healthCharacters) text += newId();
  return text;
}

/**
 * Returns a query that never rejects and answers in time. The operator receives the reason of a failure once, and learns when the
 * store works again.
 */
function bounded(
  { deps }: EngineCore,
  { store, fault }: { store: StoreName; fault: string },
  question: () => Promise<unknown>,
): () => Promise<StoreState> {
  let asked: Promise<StoreState> | null = null;
  const reported = new RepeatedFault(deps.report, fault);
  const answer = async (): Promise<StoreState> => {
    try {
      await question();
      reported.succeeded();
      return "ok";
    } catch (error) {
      reported.failed(error);
      return "failed";
    }
  };
  return async () => {
    asked ??= answer().finally(() => (asked = null));
    // The query never rejects, so only the deadline does.
    const state = await unlessAborted(asked, deps.deadline(limits.healthAnswerMs)).catch((): StoreState => "failed");
    deps.observer.note({ type: "store_checked", store, isReady: state === "ok" });
    return state;
  };
}
