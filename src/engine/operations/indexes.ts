/** The retrieval indexes of an org: what they have, which runs work on them, and runs that an admin starts and stops (Q1, Q2). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { matchPaths } from "../../retrieval/match-paths.ts";
import type { IndexJob, Retriever } from "../../retrieval/retriever.ts";
import { noReader, operatorOnly } from "../access/access.ts";
import { audited } from "../access/audit.ts";
import { resolveContexts } from "../contexts/resolve-contexts.ts";
import type { EngineDependencies } from "../dependencies.ts";
import type { Indexes } from "../engine.ts";

export function indexes(deps: EngineDependencies): Indexes {
  const retriever = (): Retriever | undefined =>
    deps.retrievers.get(resolveContexts(deps, {}, null).agentContext.index);
  const needed = (): Retriever => {
    const found = retriever();
    if (found === undefined) throw new AptoveError("index_missing", "no index is configured");
    return found;
  };
  const started = new StartedRuns(deps);
  return {
    index: async (caller, job) => {
      noReader(caller, "index");
      return await needed().index({ ...job, orgId: caller.orgId });
    },
    list: async ({ orgId }) => (await retriever()?.list(orgId)) ?? [],
    runs: async ({ orgId }) => (await retriever()?.runs?.(orgId)) ?? [],
    start: async (caller, { repo, rebuild = false }) => {
      await audited(deps, { by: caller, action: "index.start", facts: { repo } }, async () => {
        operatorOnly(caller, "index a repository");
        const root = await rootOf(deps, needed(), { orgId: caller.orgId, repo });
        started.begin(needed(), { root, repo, orgId: caller.orgId, ...(rebuild && { rebuild }) });
      });
    },
    stop: async (caller, repo) => {
      await audited(deps, { by: caller, action: "index.stop", facts: { repo } }, async () => {
        operatorOnly(caller, "stop an index run");
        if (!started.stop({ orgId: caller.orgId, repo })) throw await notHere(needed(), caller, repo);
      });
    },
    files: async ({ orgId }, { repo, part }) => matchPaths((await needed().paths?.({ orgId, repo })) ?? [], part),
  };
}

interface IndexKey {
  orgId: string;
  repo: string;
}

/** The runs that admins started here. Each notes its own end, so nothing waits for it. */
class StartedRuns {
  readonly #deps: EngineDependencies;
  readonly #stops = new Map<string, AbortController>();

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
  }

  begin(retriever: Retriever, job: IndexJob): void {
    const key = keyOf(job);
    if (this.#stops.has(key)) return;
    const stop = new AbortController();
    this.#stops.set(key, stop);
    void retriever
      .index({ ...job, signal: stop.signal })
      .catch((error: unknown) => {
        // An orderly end of the engine ends its runs too.
        const isStopped = stop.signal.aborted || (error instanceof AptoveError && error.code === "shutting_down");
        if (!isStopped) this.#deps.report(`${job.repo} could not be indexed`, error);
      })
      .finally(() => this.#forget(key, stop));
  }

  #forget(key: string, stop: AbortController): void {
    if (this.#stops.get(key) === stop) this.#stops.delete(key);
  }

  /** Returns false if there is no such run. */
  stop(of: IndexKey): boolean {
    const key = keyOf(of);
    const stop = this.#stops.get(key);
    if (stop === undefined) return false;
    // The next start does not join the run that ends.
    this.#forget(key, stop);
    stop.abort(new AptoveError("interrupted", "an admin stopped the run; the former index is unchanged"));
    return true;
  }
}

function keyOf({ orgId, repo }: IndexKey): string {
  return JSON.stringify([orgId, repo]);
}

/** Returns the folder of an indexed repository. Throws if it cannot be indexed from here. */
async function rootOf(deps: EngineDependencies, retriever: Retriever, { orgId, repo }: IndexKey): Promise<string> {
  const known = (await retriever.list(orgId)).find((index) => index.repo === repo);
  if (known === undefined) {
    throw new AptoveError("not_found", `${repo} is not indexed; run \`aptove index\` in its folder first`);
  }
  if (retriever.refresh === undefined) {
    const detail = `the index of ${repo} is shared, and this server has no working copy of it; a build server brings it up to date with \`aptove index --commit\``;
    throw new AptoveError("repository_invalid", detail);
  }
  if (deps.workingCopy?.(known.root) == null) {
    const detail = `${known.root} is gone or no longer a repository, so ${repo} cannot be indexed again; its index stays as it is`;
    throw new AptoveError("repository_invalid", detail);
  }
  return known.root;
}

async function notHere(retriever: Retriever, { orgId }: Caller, repo: string): Promise<AptoveError> {
  const running = (await retriever.runs?.(orgId))?.find((one) => one.repo === repo)?.running ?? null;
  if (running === null) return new AptoveError("not_found", `${repo} is not being indexed`);
  const why = running.isHere
    ? "a question brings it up to date"
    : `the process ${running.pid} indexes it; stop it there`;
  return new AptoveError("not_found", `no admin started this run of ${repo}: ${why}`);
}
