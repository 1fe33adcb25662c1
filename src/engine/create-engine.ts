/** Puts the engine together and keeps its house: leases, recovery, an orderly end (R1, R2, R4). */
import type { Retriever } from "../retrieval/retriever.ts";
import { AptoveError } from "../domain/errors.ts";
import { engineCore, type EngineCore } from "./core.ts";
import { noReader } from "./access.ts";
import { resolveContexts } from "./accept.ts";
import type { Engine, Indexes } from "./engine.ts";
import { contexts } from "./contexts.ts";
import { auditLog } from "./audit.ts";
import { devices } from "./devices.ts";
import { healthWatch } from "./health.ts";
import { keyRing } from "./key-ring.ts";
import { KeyWatch } from "./key-watch.ts";
import type { EngineParts } from "./parts.ts";
import { keepHouse, recoverOrReport, type House } from "./house.ts";
import { dropLeftLogs, recoverLostTurns } from "./recover.ts";
import { runTurn } from "./busy.ts";
import { interrupt, steer } from "./control.ts";
import { createSession, listSessions, listTurns, readMailbox, visibleSession, visibleTurn } from "./sessions.ts";
import { operator, people } from "./people.ts";
import { sharing, updateOrShare } from "./sharing.ts";
import { transfer } from "./transfer/transfer.ts";
import { tree } from "./tree.ts";
import { subagentTools } from "./subagents/subagent-tools.ts";
import { checkEnd, checkPlace, eventsOf } from "./turn-events.ts";
import { lineage } from "./turn-order.ts";
import { turnReader } from "./turn-reader.ts";
import { workspaceSessions } from "./workspace-sessions.ts";

/** Starts: recovers what an earlier process left running, then takes turns. */
export async function createEngine(parts: EngineParts): Promise<Engine> {
  const core = engineCore(parts, subagentTools);
  await parts.records.insertRunner(parts.runner);
  await recoverLostTurns(core);
  await dropLeftLogs(core);
  const house = keepHouse(core);
  const watch = new KeyWatch(parts);
  return {
    runTurn: (caller, request) => runTurn(core, caller, request),
    turnEvents: async (caller, turnId, { afterSeq, signal }) => {
      await checkPlace(core, await visibleTurn(parts, caller, turnId), afterSeq);
      await checkEnd(core, turnId, afterSeq);
      return eventsOf(core, turnId, { afterSeq, signal });
    },
    interrupt: (caller, target) => interrupt(core, caller, target),
    steer: (caller, target) => steer(core, caller, target),
    createSession: (caller, start) => createSession(parts, caller, start),
    getSession: (caller, id) => visibleSession(parts, caller, id),
    updateSession: (caller, id, patch) => updateOrShare(parts, caller, { id, patch }),
    listSessions: (caller, page) => listSessions(parts, caller, page),
    getTurn: (caller, id) => visibleTurn(parts, caller, id),
    listTurns: (caller, sessionId, page) => listTurns(parts, caller, { ...page, sessionId }),
    mailbox: (caller, sessionId, page) => readMailbox(parts, caller, { ...page, sessionId }),
    readTurn: async (caller, id) => turnReader(core, await visibleTurn(parts, caller, id)),
    keys: keyRing(parts, watch),
    devices: devices(parts, watch),
    people: people(parts, watch),
    operator: operator(parts, watch),
    sharing: sharing(parts),
    audit: auditLog(parts),
    indexes: indexes(parts),
    contexts: contexts(parts),
    tree: tree(core),
    explain: {
      // Loaded when they are called, so that a command that does not call them starts quickly.
      diff: async (caller, turns) => (await import("./turn-diff.ts")).diffTurns(core, caller, turns),
      verify: async (caller, sessionId, onTurn) =>
        (await import("./verify.ts")).verifySession(core, caller, { sessionId, onTurn }),
    },
    transfer: transfer(core),
    workspaceSessions: workspaceSessions(core),
    lineage: async (caller, turnId) => {
      const { id } = await visibleTurn(parts, caller, turnId);
      return await Array.fromAsync(lineage(parts.records, id));
    },
    version: parts.version,
    health: healthWatch(core),
    recordsAbout: () => parts.records.about(),
    takeRequest: (caller) => core.quotas.takeRequest(caller),
    close: async (options) => {
      await close(core, house, options?.graceMs ?? parts.limits.shutdownGraceMs);
      watch.close();
    },
  };
}

function indexes(parts: EngineParts): Indexes {
  const retriever = (): Retriever | undefined =>
    parts.retrievers.get(resolveContexts(parts, {}, null).agentContext.index);
  return {
    index: async (caller, job) => {
      noReader(caller, "index");
      const found = retriever();
      if (found === undefined) throw new AptoveError("index_missing", "no index is configured");
      return await found.index({ ...job, orgId: caller.orgId });
    },
    list: async ({ orgId }) => (await retriever()?.list(orgId)) ?? [],
  };
}

/** R4: no new turns, a time of grace for the running ones, then an interrupt; nothing is left pending. */
async function close(core: EngineCore, house: House, graceMs: number): Promise<void> {
  if (core.isShuttingDown) return;
  core.isShuttingDown = true;
  core.closing.abort();
  const { parts } = core;
  const over = (): Promise<unknown> => Promise.all(core.live.all().map((live) => live.ended));
  const grace = new AbortController();
  await Promise.race([over().then(() => grace.abort()), parts.sleep(graceMs, grace.signal)]);
  for (const live of core.live.all()) live.controller.abort();
  await over();
  await house.stop();
  await closeParts(core);
}

/** Whatever one of them says, all are closed; the first fault is the one to tell. */
async function closeParts(core: EngineCore): Promise<void> {
  const { parts } = core;
  const closings = [
    () => core.transcriber.writtenAll(),
    // A turn whose end could not be written when it came.
    () => recoverOrReport(core),
    () => parts.records.deleteRunner(parts.runner.id),
    () => parts.log.close(),
    ...[...parts.retrievers.values()].map((retriever) => () => retriever.close()),
    () => parts.records.close(),
  ];
  const faults: unknown[] = [];
  for (const closing of closings) {
    try {
      await closing();
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
}
