/** Puts the engine together, and runs its start and its orderly end (R1, R2, R4). */
import { countWaiting } from "./turn/live/budgeted-turns.ts";
import { engineCore, type EngineCore } from "./turn/live/engine-core.ts";
import { pageLimit } from "./access/access.ts";
import { isKeptAnyway, unkeptCore } from "./turn/unkept-turns.ts";
import type { CloseOptions, Engine, Sessions, SessionTree, Turns, UnkeptTurns } from "./engine.ts";
import { contexts } from "./contexts/contexts.ts";
import { attachments } from "./sessions/attachments.ts";
import { announcing } from "./access/org-changes.ts";
import { AccessWatch } from "./access/access-watch.ts";
import { auditLog } from "./access/audit.ts";
import { budgets } from "./people/budgets.ts";
import { browsers } from "./people/browsers.ts";
import { devices } from "./people/devices.ts";
import { erasing } from "./people/erase-user.ts";
import { healthWatch } from "./operations/health.ts";
import { indexes } from "./operations/indexes.ts";
import { keyRing } from "./people/key-ring.ts";
import { KeyWatch } from "./people/key-watch.ts";
import type { EngineDependencies } from "./dependencies.ts";
import { startBackgroundJobs, type BackgroundJobs } from "./operations/background-jobs.ts";
import { dropLeftLogs, recoverLostTurns } from "./turn/recover-turns.ts";
import { runAndAllow } from "./turn/allow-parked.ts";
import { estimateTurn } from "./turn/estimate-turn.ts";
import { findByHistory } from "./turn/find-by-history.ts";
import { historyOf } from "./turn/history-of.ts";
import { interrupt, steer } from "./turn/live/control.ts";
import { askClientQuestion, withdrawClientQuestion } from "./turn/live/client-questions.ts";
import { answerQuestion, openQuestions, runningNow } from "./turn/live/questions.ts";
import { waitingCalls } from "./turn/live/waiting.ts";
import { costsOf } from "./sessions/costs.ts";
import { pins } from "./sessions/pins.ts";
import { SessionWatch } from "./sessions/session-watch.ts";
import { turnNames } from "./sessions/turn-names.ts";
import { createSession, listSessions, listTurns, readMailbox } from "./sessions/sessions.ts";
import { visibleSession, visibleTurn } from "./access/visible.ts";
import { operator, people } from "./people/people.ts";
import { sharing, updateOrShare } from "./people/sharing.ts";
import { transfer } from "./transfer/transfer.ts";
import { SummaryMaker } from "./summaries/summaries.ts";
import { tree } from "./sessions/tree.ts";
import { subagentTools } from "./subagents/subagent-tools.ts";
import { checkEndIsKnown, checkPosition, eventsOf } from "./turn/live/turn-events.ts";
import { lineage } from "./turn/kept/turn-order.ts";
import { turnReader } from "./turn/turn-reader.ts";
import { workspaceMemory } from "./sessions/workspace-memory.ts";
import { workspaceRegistry } from "./sessions/workspaces.ts";
import { workspaceSessions } from "./sessions/workspace-sessions.ts";

/** Creates an engine. First it recovers the turns that an earlier process left running; then it accepts turns. */
export async function createEngine(deps: EngineDependencies): Promise<Engine> {
  const core = engineCore(deps, subagentTools);
  await deps.records.runners.insert(deps.runner);
  const summaries = new SummaryMaker(core);
  await recoverLostTurns(core);
  await summaries.recover();
  await dropLeftLogs(core);
  const jobs = startBackgroundJobs(core, summaries);
  const watch = new KeyWatch(deps);
  const access = new AccessWatch(deps);
  return {
    turns: turns(core, access),
    unkept: async ({ orgId }) => {
      if (isKeptAnyway(deps, orgId)) return null;
      const { core: inMemory, run, forget } = await unkeptCore(core);
      const list: UnkeptTurns["list"] = ({ userId }, page) => deps.records.unkept.list(userId, page);
      return { turns: { ...turns(inMemory, access), run }, list, forget };
    },
    sessions: announcing(core.changes, { ...sessions(core, access), summaries: summaries.api() }, ["create", "update"]),
    keys: { ...keyRing(deps, watch), browsers: browsers(deps, watch) },
    devices: devices(deps, watch),
    people: { ...people(deps, watch), budgets: budgets(core) },
    operator: { ...operator(deps, watch), ...erasing(core, watch) },
    sharing: announcing(core.changes, sharing(deps, access), ["change"]),
    audit: auditLog(deps),
    indexes: indexes(deps),
    contexts: contexts(deps),
    tree: announcing(core.changes, withSummaries(tree(core), summaries), treeChanges),
    explain: {
      // These are loaded when they are called, so that a command that does not call them starts quickly.
      diff: async (caller, pair) => (await import("./explain/turn-diff.ts")).diffTurns(core, caller, pair),
      verify: async (caller, sessionId, onTurn) =>
        (await import("./explain/verify.ts")).verifySession(core, caller, { sessionId, onTurn }),
      size: async (caller, sessionId, { before, limit } = {}) =>
        (await import("./explain/history-size.ts")).sessionSize(deps, caller, {
          ...{ sessionId, before },
          limit: pageLimit(limit),
        }),
      sizes: async (caller, { limit } = {}) =>
        (await import("./explain/history-size.ts")).sizeOverview(deps, caller, { limit: pageLimit(limit) }),
      verifyAll: async (caller, onTurn) =>
        (await import("./explain/verify-all.ts")).verifyAll(core, caller, onTurn ?? (() => {})),
    },
    transfer: announcing(core.changes, transfer(core), ["import"]),
    workspaceSessions: {
      ...workspaceSessions(core),
      memory: workspaceMemory(deps),
      workspaces: workspaceRegistry(core),
    },
    version: deps.version,
    health: healthWatch(core),
    inspect: inspector(core),
    recordsAbout: () => deps.records.storage.about(),
    takeRequest: (caller) => core.quotas.takeRequest(caller),
    close: async (options = {}) => {
      await close(core, { jobs, summaries }, options);
      watch.close();
      access.close();
    },
  };
}

const treeChanges = ["moveHead", "undo", "archiveTurn", "archive", "unarchive", "remove", "restore", "purge"] as const;

/** Loads what inspects the server when it is first asked to. */
function inspector(core: EngineCore): Engine["inspect"] {
  let loaded: Promise<Engine["inspect"]> | null = null;
  return async function* (caller) {
    loaded ??= import("./operations/inspection.ts").then(({ inspection }) => inspection(core));
    const inspect = await loaded;
    yield* inspect(caller);
  };
}

/** A session that is archived may be summarised then (M5). */
function withSummaries(plain: SessionTree, summaries: SummaryMaker): SessionTree {
  return {
    ...plain,
    archive: async (caller, id) => {
      const session = await plain.archive(caller, id);
      summaries.whenArchived(caller, session);
      return session;
    },
  };
}

function turns(core: EngineCore, watch: AccessWatch): Turns {
  const { deps } = core;
  const verbs: Turns = {
    run: async (caller, request) => {
      const running = await runAndAllow(core, caller, request);
      const { sessionId, turnId } = running;
      // Who makes the first turn owns the session (S4), and never loses it.
      if (turnId === sessionId) return running;
      const right = watch.of(caller, sessionId);
      return { ...running, events: (signal) => eventsOf(core, turnId, { afterSeq: 0, signal, right }) };
    },
    events: async (caller, turnId, { afterSeq, signal, until }) => {
      const turn = await visibleTurn(deps, caller, turnId);
      await checkPosition(core, turn, afterSeq);
      await checkEndIsKnown(core, turnId, afterSeq);
      // What is finished is read in one go.
      const right = turn.status === "pending" ? watch.of(caller, turn.sessionId) : undefined;
      return eventsOf(core, turnId, { afterSeq, signal, until, right });
    },
    steer: (caller, target) => steer(core, caller, target),
    interrupt: (caller, target) => interrupt(core, caller, target),
    running: (caller, sessionId) => runningNow(core, caller, sessionId),
    waiting: (caller) => waitingCalls(core, caller),
    questions: (caller, turnId) => openQuestions(core, caller, turnId),
    answerQuestion: (caller, answer) => answerQuestion(core, caller, answer),
    askQuestion: (caller, question) => askClientQuestion(core, caller, question),
    withdrawQuestion: (caller, question) => withdrawClientQuestion(deps, caller, question),
    find: (caller, items, below) => findByHistory(core, caller, { items, below }),
    estimate: (caller, request) => estimateTurn(core, caller, request),
    get: (caller, id) => visibleTurn(deps, caller, id),
    list: (caller, sessionId, page) => listTurns(deps, caller, { ...page, sessionId }),
    read: async (caller, id) => turnReader(core, await visibleTurn(deps, caller, id)),
    history: (caller, turnId) => historyOf(core, caller, turnId),
    lineage: async (caller, turnId) => {
      const { id } = await visibleTurn(deps, caller, turnId);
      return await Array.fromAsync(lineage(deps.records, id));
    },
  };
  return announcing(core.changes, verbs, ["answerQuestion", "withdrawQuestion"]);
}

function sessions(core: EngineCore, watch: AccessWatch): Omit<Sessions, "summaries"> {
  const { deps } = core;
  const changes = new SessionWatch(core);
  return {
    changes: (caller, listener) => changes.follow(caller, listener),
    create: (caller, start) => createSession(deps, caller, start),
    get: (caller, id) => visibleSession(deps, caller, id),
    update: async (caller, id, patch) => {
      const session = await updateOrShare(deps, caller, { id, patch });
      if (patch.isPublic === false) await watch.changed();
      return session;
    },
    list: (caller, page) => listSessions(deps, caller, page),
    attachments: attachments(deps),
    pins: pins(core),
    turnNames: turnNames(core),
    costs: (caller, period) => costsOf(deps, caller, period),
    mailbox: (caller, sessionId, page) => readMailbox(deps, caller, { ...page, sessionId }),
  };
}

/**
 * Ends the engine (R4): it refuses new turns, waits for the running ones for a limited time, and interrupts the rest.
 * No turn is left pending.
 */
async function close(
  core: EngineCore,
  { jobs, summaries }: { jobs: BackgroundJobs; summaries: SummaryMaker },
  { graceMs = core.deps.limits.shutdownGraceMs, onWaiting, onTurnsEnded }: CloseOptions,
): Promise<void> {
  if (core.closing.signal.aborted) return;
  core.closing.abort();
  const { deps } = core;
  const grace = new AbortController();
  const all = [core.live, ...core.beside];
  onWaiting?.({ runningTurns: all.reduce((sum, { count }) => sum + count, 0), graceMs });
  const isOver = new AbortController();
  const ended = async (): Promise<void> => {
    await Promise.all([...all.map((some) => some.untilAllEnded()), summaries.close(isOver.signal)]);
  };
  await Promise.race([ended().then(() => grace.abort()), deps.sleep(graceMs, grace.signal)]);
  isOver.abort();
  for (const some of all) for (const live of some.all()) live.stopWithServer();
  await ended();
  await jobs.stop();
  await closeParts(core, jobs, onTurnsEnded);
}

/** Closes every part, also after one has failed. Throws the first failure. */
async function closeParts(core: EngineCore, jobs: BackgroundJobs, closeDoors = async () => {}): Promise<void> {
  const { deps } = core;
  const closings = [
    closeDoors,
    // This stores the end of turns whose end could not be written before.
    () => jobs.recover(),
    // Other processes count all that was held for the calls of a process that has ended.
    () => countWaiting(core),
    () => core.transcriber.writtenAll(),
    () => deps.records.runners.delete(deps.runner.id),
    () => deps.log.close(),
    ...[...deps.retrievers.values()].map((retriever) => () => retriever.close()),
    () => deps.records.close(),
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
