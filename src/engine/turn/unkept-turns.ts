/**
 * Turns whose content is not kept (O3). They run as any other turn does, on stores that are only in memory. The durable records get
 * a row without any text, before the turn begins and at its end. The provider is asked to keep nothing.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Caller } from "../../domain/caller.ts";
import { targetIdsOf } from "../../domain/budget.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { FinishedTurn } from "../../domain/turn.ts";
import type { TurnRecords } from "../../records/turns.ts";
import type { UnkeptEnd } from "../../records/unkept.ts";
import type { EngineDependencies, EngineStores, UnkeptStores } from "../dependencies.ts";
import type { AccessWatch } from "../access/access-watch.ts";
import type { Engine, RunningTurn, TurnRequest } from "../engine.ts";
import { mayWrite } from "../access/visible.ts";
import { runTurn } from "./if-busy.ts";
import { engineCore, type EngineCore } from "./live/engine-core.ts";
import { shuttingDown } from "./live/turn-events.ts";
import { requestHash } from "./prepare/request-hash.ts";
import { turns } from "./turns.ts";

/** The key of the hashes of requests. It is never written, so no one can find a request by its hash later. */
const hashKey = randomBytes(32);

/** Returns what makes places for such turns (`Engine.unkept`). */
export function unkeptPlaces(kept: EngineCore, access: AccessWatch): Engine["unkept"] {
  return async ({ orgId }) => {
    if (isKeptAnyway(kept.deps, orgId)) return null;
    const core = coreInMemory(kept, await storesInMemory(kept.deps));
    kept.unkeptLive.add(core.live);
    return {
      turns: {
        ...turns(core, access),
        run: async (caller, request) => await runUnkept(kept, core, { caller, request }),
      },
      list: ({ userId }, page) => kept.deps.records.unkept.list(userId, page),
      forget: () => void core.live.untilAllEnded().then(() => kept.unkeptLive.delete(core.live)),
    };
  };
}

/**
 * Returns true if the org keeps the content of a turn although its caller wants it forgotten. Throws `forbidden` if the org refuses
 * such turns.
 */
function isKeptAnyway({ unkeptPolicy }: Pick<EngineDependencies, "unkeptPolicy">, orgId: string): boolean {
  const policy = unkeptPolicy?.(orgId) ?? "forget";
  if (policy === "refuse") throw new AptoveError("forbidden", "your org keeps the content of every turn");
  return policy === "keep";
}

async function storesInMemory({ unkeptStores }: EngineDependencies): Promise<UnkeptStores> {
  if (unkeptStores !== undefined) return await unkeptStores();
  throw new AptoveError("request_invalid", "this server cannot run a turn without keeping it");
}

/** Contexts, people and limits are those of the durable records. Sessions and turns, and all that belongs to them, are not. */
function coreInMemory(kept: EngineCore, { records, blobs, log, documents }: UnkeptStores): EngineCore {
  const { sessions, attachments, subagents, runners, search, imports, purges } = records;
  // Budgets are those of the durable records, so the rows in memory cannot tell whether a turn has one.
  const turnRecords: TurnRecords = {
    ...records.turns,
    open: async (opening) => {
      const result = await records.turns.open(opening);
      if (result.outcome !== "opened" || opening.budgets === undefined) return result;
      const found = await kept.deps.records.budgets.withBudget(targetIdsOf(opening.budgets));
      return { ...result, hasBudget: found.length > 0 };
    },
  };
  const inMemory = { sessions, attachments, turns: turnRecords, subagents, runners, search, imports, purges };
  const { workspaces: _workspaces, ...rest } = kept.deps;
  // Every store is named here, so that none is forgotten: a durable one would keep the content.
  const stores = {
    records: { ...rest.records, ...inMemory },
    blobs,
    log,
    isReplayOnly: true,
    turnStore: undefined,
    unkeptStores: undefined,
    wakeUps: undefined,
    // A key in a shared cache follows from the words of the question.
    cache: undefined,
  } satisfies Record<keyof EngineStores, unknown>;
  return engineCore({
    ...rest,
    ...stores,
    // What was split of a document is forgotten with the turns that brought it.
    documents,
    // A lease that no other process can take needs no clock.
    monotonic: () => 0,
  });
}

interface UnkeptRequest {
  caller: Caller;
  request: TurnRequest;
}

async function runUnkept(kept: EngineCore, core: EngineCore, { caller, request }: UnkeptRequest): Promise<RunningTurn> {
  const { records, runner, now } = kept.deps;
  if (kept.closing.signal.aborted) throw shuttingDown();
  mayWrite(caller);
  await kept.quotas.refuseEarly(caller);
  const id = newId();
  const hash = createHmac("sha256", hashKey).update(requestHash(request)).digest("hex");
  const { orgId, userId } = caller;
  const begun = { id, orgId, userId, runnerId: runner.id, startedAt: now(), requestHash: hash, end: null };
  await records.unkept.insert(begun);
  try {
    const running = await runTurn(core, caller, request);
    const ended = running.finished.then(async (turn) => {
      await records.unkept.finish(id, endOf(turn, now()));
      return turn;
    });
    return { ...running, finished: ended };
  } catch (error) {
    const code = error instanceof AptoveError ? error.code : "internal";
    await records.unkept.finish(id, { ...nothingUsed, at: now(), code });
    throw error;
  }
}

const nothingUsed = {
  status: "failed" as const,
  provider: "",
  model: "",
  modelRequests: 0,
  usage: { input: 0, output: 0, cached: 0, reasoning: 0, total: 0 },
};

/** Returns the counts of a turn. A message of a failure may have words of the turn, so only its code counts. */
function endOf({ status, provider, model, run, ...turn }: FinishedTurn, at: number): UnkeptEnd {
  const failed = "failures" in turn ? turn.failures[0].code : null;
  const { modelRequests, usage } = run;
  return {
    at,
    status: status === "failed" ? "failed" : "completed",
    code: failed,
    provider,
    model,
    modelRequests,
    usage,
  };
}
