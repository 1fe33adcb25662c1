/** Summaries of sessions: begun on demand or when a session is archived, made in the background, stopped, recovered (M5). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError, failure } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { State } from "../../domain/lineage.ts";
import type { Session } from "../../domain/session.ts";
import { isCompleted, type CompletedSummary, type Summary, type SummaryCause } from "../../domain/summary.ts";
import { addUsage, noUsage, unknownUsage } from "../../domain/usage.ts";
import { mayBeParent } from "../../domain/turn.ts";
import { pageLimit, workspaceFor } from "../access/access.ts";
import { continuableSession, mayWrite, visibleSession, visibleTurn } from "../access/visible.ts";
import { settingsOf } from "../contexts/resolve-contexts.ts";
import type { Summaries, SummaryRequest } from "../engine.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { summaryModel } from "./choose-model.ts";
import { makeSummary } from "./make-summary.ts";
import type { SummaryJob } from "./model-calls.ts";

interface Beginning extends SummaryRequest {
  session: Session;
  cause: SummaryCause;
}

/** The summaries that this process makes. */
export class SummaryMaker {
  readonly #core: EngineCore;
  readonly #running = new Map<string, { stop: AbortController; ended: Promise<void> }>();

  constructor(core: EngineCore) {
    this.#core = core;
  }

  api(): Summaries {
    const { deps } = this.#core;
    const { records } = deps;
    return {
      start: async (caller, request) => {
        if (this.#core.closing.signal.aborted)
          throw new AptoveError("shutting_down", "the summary was not begun; try it again");
        const session = await continuableSession(deps, caller, request.sessionId);
        return await this.#begin(caller, { ...request, session, cause: "request" });
      },
      get: (caller, id) => this.#visible(caller, id),
      wait: (caller, id, options) => this.#wait(caller, id, options),
      list: async (caller, sessionId, page = {}) => {
        const { id } = await visibleSession(deps, caller, sessionId);
        return await records.summaries.list(id, { ...page, limit: pageLimit(page.limit) });
      },
      newestOf: async (caller, sessionIds) => {
        const newest = await records.summaries.newestOf(sessionIds);
        const shown = newest.map(({ id }) => this.#visible(caller, id).catch(onlyNotFound));
        return (await Promise.all(shown)).filter((summary) => summary !== null).filter(isCompleted);
      },
      stop: async (caller, id) => {
        mayWrite(caller);
        const { sessionId } = await this.#visible(caller, id);
        await continuableSession(deps, caller, sessionId);
        this.#running.get(id)?.stop.abort();
        await records.summaries.requestStop(id);
        await this.#running.get(id)?.ended;
      },
      bytes: async (caller, id, { call, of }) => {
        const found = (await this.#visible(caller, id)).calls.find(({ index }) => index === call);
        const key = of === "request" ? found?.request.blob : found?.end?.response;
        if (key == null) throw new AptoveError("not_found", `the summary has no ${of} of a call ${call}`);
        const bytes = await deps.blobs.get(key);
        if (bytes === null) throw new AptoveError("blob_missing", `there is no blob ${key}`, { facts: { key } });
        return bytes;
      },
    };
  }

  /** Begins a summary of a session that was archived, if the configuration wants that. Never rejects, and does not wait. */
  whenArchived(caller: Caller, session: Session): void {
    const { deps } = this.#core;
    const begin = async (): Promise<void> => {
      const settings = await settingsOf(deps, caller, workspaceFor(caller, session.workspaceId));
      const { whenArchived = false, model } = settings.summaries ?? {};
      if (!whenArchived || (session.headTurnId ?? session.originTurnId) === null) return;
      await this.#begin(caller, {
        sessionId: session.id,
        session,
        cause: "archived",
        ...(model !== undefined && { model }),
      });
    };
    const begun = begin().catch((error: unknown) =>
      deps.report(`the archived session ${session.id} could not be summarized`, error),
    );
    this.#beginning.add(begun);
    void begun.finally(() => this.#beginning.delete(begun));
  }
  readonly #beginning = new Set<Promise<void>>();

  /** Renews the leases of what this process makes, and carries out what others asked for (R1). */
  async renew(): Promise<void> {
    const { deps } = this.#core;
    const ids = [...this.#running.keys()];
    if (ids.length === 0) return;
    const lease = { runnerId: deps.runner.id, leaseMs: limits.leaseMs };
    const renewed = await deps.records.summaries.renew(ids, lease);
    const own = new Set(renewed.flatMap(({ id, isStopping }) => (isStopping ? [] : [id])));
    for (const id of ids) if (!own.has(id)) this.#running.get(id)?.stop.abort();
  }

  /** Ends the summaries whose process is gone, as failed. */
  async recover(): Promise<void> {
    const { records, runner, now, isAlive, recordsAreEmbedded } = this.#core.deps;
    // Where the clock may jump, the lease of a living process does not count.
    const others = recordsAreEmbedded === true ? await records.runners.list() : [];
    const sparedRunnerIds = others.filter((other) => isAlive(other, runner) === true).map(({ id }) => id);
    const taking = { runnerId: runner.id, leaseMs: limits.leaseMs, sparedRunnerIds };
    for (const summary of await records.summaries.takeLost(taking)) {
      if (this.#running.has(summary.id)) continue;
      const usage = summary.calls.reduce((sum, { end }) => addUsage(sum, end?.usage ?? unknownUsage), noUsage);
      const lost = failure("runner_lost", "the process that made this summary ended or could not reach its records");
      const end = { at: now(), usage, rejected: [], status: "failed" as const, failure: lost };
      await records.summaries.update({ ...summary, end });
    }
  }

  /** Waits for what is being made until `grace` aborts, then stops it (R4). */
  async close(grace: AbortSignal): Promise<void> {
    await Promise.all(this.#beginning);
    const all = [...this.#running.values()];
    const stopAll = (): void => all.forEach(({ stop }) => stop.abort());
    if (grace.aborted) stopAll();
    else grace.addEventListener("abort", stopAll, { once: true });
    await Promise.all(all.map(({ ended }) => ended));
  }

  async #begin(caller: Caller, request: Beginning): Promise<Summary> {
    const { deps, histories } = this.#core;
    const { session, cause } = request;
    const throughTurnId = await this.#lastTurn(caller, request);
    const { provider, model } = await summaryModel(deps, caller, { session, words: request.model });
    const state = await histories.state(throughTurnId);
    const earlier = request.fresh === true ? null : await this.#earlier(session.id, state);
    const isSame = earlier?.throughTurnId === throughTurnId;
    if (earlier !== null && isSame && (request.model === undefined || earlier.model === model)) return earlier;
    const basis = isSame ? null : earlier;
    const summary: Summary = {
      id: newId(),
      orgId: session.orgId,
      sessionId: session.id,
      userId: caller.userId,
      cause,
      fromTurnId: state.entries[0]?.turnId ?? throughTurnId,
      throughTurnId,
      throughDepth: state.depth,
      basedOn: basis?.id ?? null,
      provider: provider.name,
      model,
      createdAt: deps.now(),
      calls: [],
      end: null,
    };
    const lease = { runnerId: deps.runner.id, leaseMs: limits.leaseMs };
    const begun = await deps.records.summaries.begin(summary, lease);
    if (begun.outcome === "missing") throw new AptoveError("not_found", `there is no session "${session.id}"`);
    if (begun.outcome === "running") return await this.#other(begun.id, throughTurnId);
    this.#make({ summary, earlier: basis, provider, caller });
    return summary;
  }

  /** Returns the last turn of the range: the one that is named, else the head. */
  async #lastTurn(caller: Caller, { session, throughTurnId }: Beginning): Promise<string> {
    const asked = throughTurnId ?? session.headTurnId ?? session.originTurnId;
    if (asked === null) throw new AptoveError("nothing_to_summarize", "the session has no turn yet");
    if (throughTurnId === undefined) return asked;
    const turn = await visibleTurn(this.#core.deps, caller, throughTurnId);
    if (turn.sessionId !== session.id)
      throw new AptoveError("not_found", `the session has no turn ${JSON.stringify(throughTurnId)}`);
    if (mayBeParent(turn)) return turn.id;
    throw new AptoveError("turn_not_continuable", `turn ${turn.id} is ${turn.status}; name a completed one`);
  }

  /** Returns the newest summary of the session that stands for a beginning of this history. */
  async #earlier(sessionId: string, { entries }: State): Promise<CompletedSummary | null> {
    const page = { limit: limits.pageSizeMax, status: "completed" as const };
    const ids = new Set(entries.map(({ turnId }) => turnId));
    const all = (await this.#core.deps.records.summaries.list(sessionId, page)).filter(isCompleted);
    const fitting = all.filter(({ throughTurnId }) => ids.has(throughTurnId));
    return fitting.toSorted((one, other) => other.throughDepth - one.throughDepth)[0] ?? null;
  }

  async #other(id: string, throughTurnId: string): Promise<Summary> {
    const other = await this.#core.deps.records.summaries.get(id);
    if (other?.throughTurnId === throughTurnId) return other;
    throw new AptoveError("summary_running", "another summary of the session is being made; wait for it or stop it", {
      facts: { summaryId: id },
    });
  }

  #make({ summary, ...rest }: Omit<SummaryJob, "signal">): void {
    const { deps } = this.#core;
    const stop = new AbortController();
    const ended = makeSummary(this.#core, { summary, ...rest, signal: stop.signal })
      .catch((error: unknown) => deps.report(`the summary ${summary.id} could not be stored`, error))
      .finally(() => this.#running.delete(summary.id));
    this.#running.set(summary.id, { stop, ended });
  }

  async #visible(caller: Caller, id: string): Promise<Summary> {
    const { deps } = this.#core;
    const summary = isId(id) ? await deps.records.summaries.get(id) : null;
    const session = summary === null ? null : await visibleSession(deps, caller, summary.sessionId).catch(onlyNotFound);
    if (summary !== null && session !== null) return summary;
    // The error is the same for a hidden summary, and does not reveal its session.
    throw new AptoveError("not_found", `there is no summary ${JSON.stringify(id)}`);
  }

  async #wait(
    caller: Caller,
    id: string,
    { waitMs, signal }: { waitMs: number; signal?: AbortSignal },
  ): Promise<Summary> {
    const { sleep, monotonic } = this.#core.deps;
    const until = monotonic() + Math.min(waitMs, limits.summaryWaitMsMax);
    const over = new AbortController();
    const either = AbortSignal.any([over.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      for (;;) {
        const summary = await this.#visible(caller, id);
        const left = until - monotonic();
        if (summary.end !== null || left <= 0 || either.aborted) return summary;
        const own = this.#running.get(id)?.ended;
        const pause = sleep(own === undefined ? Math.min(left, limits.summaryPollMs) : left, either);
        await (own === undefined ? pause : Promise.race([own, pause]));
      }
    } finally {
      over.abort();
    }
  }
}

function onlyNotFound(error: unknown): null {
  if (error instanceof AptoveError && error.code === "not_found") return null;
  throw error;
}
