/** The indexes of the org's repositories: what each has, the run that works on it, and how the last ones ended (U10, Q2). */
import { useEffect } from "preact/hooks";
import type { WireIndex, WireIndexRun } from "../../src/client/client.ts";
import { client, isAdmin } from "../api/connection.ts";
import { bytes, count, duration, plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { Time } from "../parts/time.tsx";
import { PartFrame, usePart } from "./part.tsx";
import { runWords, skippedTotal, stateWords } from "./run-words.ts";

/** How often the page asks while a run works, and otherwise: a question or another program may begin one. */
const runningEveryMs = 700;
const quietEveryMs = 5_000;

interface Repository {
  repo: string;
  /** Null: its first run is not complete. */
  index: WireIndex | null;
  run: WireIndexRun | null;
}

async function read(): Promise<Repository[]> {
  const [indexes, runs] = await Promise.all([client.indexes(), client.indexRuns.list()]);
  const names = new Set([...indexes, ...runs].map(({ repo }) => repo));
  return [...names].toSorted().map((repo) => ({
    repo,
    index: indexes.find((one) => one.repo === repo) ?? null,
    run: runs.find((one) => one.repo === repo) ?? null,
  }));
}

export function Indexes() {
  const { list, fault, act } = usePart("indexes", read);
  const isRunning = list.value.value?.some(({ run }) => run?.running != null) === true;
  useEffect(() => {
    const timer = setInterval(() => void (document.hidden || list.load()), isRunning ? runningEveryMs : quietEveryMs);
    return () => clearInterval(timer);
  }, [isRunning, list]);
  return (
    <PartFrame list={list} fault={fault}>
      {(repositories) => (
        <>
          {repositories.map((one) => (
            <RepositoryCard key={one.repo} of={one} act={act} />
          ))}
          {repositories.length === 0 && <p class="dim">No repository is indexed. In its folder: aptove index</p>}
        </>
      )}
    </PartFrame>
  );
}

interface CardProps {
  of: Repository;
  act(action: () => Promise<unknown>): Promise<boolean>;
}

function RepositoryCard({ of: { repo, index, run }, act }: CardProps) {
  const running = run?.running ?? null;
  return (
    <section class="card" aria-label={repo}>
      <h2>{shownText(repo)}</h2>
      {index !== null && (
        <p class="numbers">
          {plural(index.files, "file")}, {plural(index.chunks, "chunk")}, {index.embedding.model}
          {index.commit !== null && (
            <>
              , commit <code>{index.commit.slice(0, 8)}</code>
            </>
          )}
          , indexed <Time at={index.indexedAt} />
        </p>
      )}
      {running !== null && <Running repo={repo} run={running} />}
      <LastRuns run={run} />
      <p class="spoken" role="status">
        {run !== null && stateWords(run)}
      </p>
      {isAdmin.value && (
        <p class="row-of">
          {running === null && index !== null && (
            <button type="button" onClick={() => void act(() => client.indexRuns.start({ repo }))}>
              Index again
            </button>
          )}
          {running?.isHere === true && !running.isRefresh && (
            <button type="button" class="danger" onClick={() => void act(() => client.indexRuns.stop(repo))}>
              Stop
            </button>
          )}
        </p>
      )}
    </section>
  );
}

function Running({ repo, run }: { repo: string; run: NonNullable<WireIndexRun["running"]> }) {
  const { filesDone, filesTotal, phase } = run;
  const isKnown = filesTotal > 0 && phase !== "waiting";
  return (
    <>
      <progress
        aria-label={`Indexing ${repo}`}
        {...(isKnown ? { max: filesTotal, value: phase === "writing" ? filesTotal : filesDone } : {})}
      />
      <p class="numbers">
        {runWords(run)}; begun <Time at={run.startedAt} />
      </p>
    </>
  );
}

function LastRuns({ run }: { run: WireIndexRun | null }) {
  const { done = null, failed = null } = run ?? {};
  return (
    <>
      {done !== null && (
        <p class="dim numbers">
          {done.isRefresh ? "A question brought it up to date " : "Last complete run "}
          <Time at={done.endedAt} /> in {duration(done.durationMs)}: {count(done.filesChanged)} changed,{" "}
          {count(done.filesRemoved)} removed, {plural(done.chunksWritten, "chunk")} written, {bytes(done.bytesRead)}{" "}
          read
        </p>
      )}
      {failed !== null && (
        <p>
          <span class={`tag ${done !== null && done.endedAt > failed.endedAt ? "" : "bad"}`}>not completed</span>{" "}
          <Time at={failed.endedAt} />: {shownText(failed.message)} ({failed.code})
        </p>
      )}
      {done !== null && done.skipped.length > 0 && (
        <details>
          <summary>{plural(skippedTotal(done.skipped), "file")} skipped</summary>
          {done.skipped.map(({ reason, count: files, paths }) => (
            <details key={reason}>
              <summary>
                {reason.replaceAll("_", " ")}: {plural(files, "file")}
              </summary>
              <ul class="paths">
                {paths.map((path) => (
                  <li key={path}>{shownText(path)}</li>
                ))}
                {files > paths.length && <li class="dim">and {count(files - paths.length)} more</li>}
              </ul>
            </details>
          ))}
        </details>
      )}
    </>
  );
}
