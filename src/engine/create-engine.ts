/** Puts the engine together, and starts it (R1, R2). */
import { AccessWatch } from "./access/access-watch.ts";
import { auditLog } from "./access/audit.ts";
import { checkingUsers } from "./access/check-user.ts";
import { announcing } from "./access/org-changes.ts";
import { contexts } from "./contexts/contexts.ts";
import type { EngineDependencies } from "./dependencies.ts";
import type { Engine, SessionTree } from "./engine.ts";
import { explanations } from "./explain/explanations.ts";
import { startBackgroundJobs } from "./operations/background-jobs.ts";
import { closeEngine } from "./operations/close-engine.ts";
import { namingTheEnd } from "./operations/closed-engine.ts";
import { healthWatch } from "./operations/health.ts";
import { indexes } from "./operations/indexes.ts";
import { browsers } from "./people/browsers.ts";
import { budgets } from "./people/budgets.ts";
import { devices } from "./people/devices.ts";
import { erasing } from "./people/erase-user.ts";
import { keyRing } from "./people/key-ring.ts";
import { KeyUses } from "./people/key-uses.ts";
import { KeyWatch } from "./people/key-watch.ts";
import { operator, people } from "./people/people.ts";
import { sharing, updating } from "./people/sharing.ts";
import { sessions } from "./sessions/sessions.ts";
import { tree } from "./sessions/tree.ts";
import { workspaceMemory } from "./sessions/workspace-memory.ts";
import { workspaceSessions } from "./sessions/workspace-sessions.ts";
import { workspaceRegistry } from "./sessions/workspaces.ts";
import { subagentTools } from "./subagents/subagent-tools.ts";
import { SummaryMaker } from "./summaries/summaries.ts";
import { transfer } from "./transfer/transfer.ts";
import { engineCore, type EngineCore } from "./turn/live/engine-core.ts";
import { dropLeftLogs, recoverLostTurns } from "./turn/recover-turns.ts";
import { turns } from "./turn/turns.ts";
import { unkeptPlaces } from "./turn/unkept-turns.ts";

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
  const uses = new KeyUses(deps);
  let isClosed = false;
  const api: Omit<Engine, typeof Symbol.asyncDispose> = {
    turns: turns(core, access),
    unkept: unkeptPlaces(core, access),
    sessions: announcing(
      core.changes,
      { ...sessions(core), update: updating(deps, access), summaries: summaries.api() },
      ["create", "update"],
    ),
    keys: { ...keyRing(deps, watch, uses), browsers: browsers(deps, watch, uses) },
    devices: devices(deps, watch),
    people: { ...checkingUsers(people(deps, watch)), budgets: budgets(core) },
    operator: { ...operator(deps, watch), ...erasing(core, watch) },
    sharing: announcing(core.changes, sharing(deps, access), ["change"]),
    audit: auditLog(deps),
    indexes: indexes(deps),
    contexts: contexts(deps),
    tree: announcing(core.changes, withSummaries(tree(core), summaries), treeChanges),
    explain: explanations(core),
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
      await closeEngine(core, { jobs, summaries, beforeRecords: () => (isClosed = true) }, options);
      watch.close();
      access.close();
    },
  };
  return { ...namingTheEnd(api, () => isClosed), [Symbol.asyncDispose]: () => api.close() };
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
