/**
 * What the runs of a local index write down about themselves, so that every process on this machine can read it: one small file per
 * repository, `<folder>/runs/<digest>.json` (docs/formats/index.md). Notes are only for people: a run goes on if one cannot be
 * written, and no decision depends on them.
 */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { AptoveError, failureOf } from "../../domain/errors.ts";
import { newId, sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { isProcessAlive } from "../../system/processes.ts";
import { readTextIfPresent } from "../../system/read-files.ts";
import { removeIfPossible } from "../../system/durable-files.ts";
import { skippedByReason, type FailedIndex, type RepositoryRuns, type RunningIndex } from "../index-runs.ts";
import type { IndexProgress, IndexSummary } from "../retriever.ts";
import { indexSkipReasons } from "../unindexed-file.ts";

interface IndexKey {
  orgId: string;
  repo: string;
}

const count = z.number();
const noteSchema = z.object({
  orgId: z.string(),
  repo: z.string(),
  running: z
    .object({
      id: z.string(),
      pid: count,
      notedAt: count,
      startedAt: count,
      isRefresh: z.boolean(),
      phase: z.enum(["waiting", "listing", "chunking", "writing"]),
      filesDone: count,
      filesTotal: count,
      bytesDone: count,
      chunksWritten: count,
    })
    .nullable(),
  done: z
    .object({
      endedAt: count,
      isRefresh: z.boolean(),
      commit: z.string().nullable(),
      filesTotal: count,
      filesChanged: count,
      filesRemoved: count,
      chunksTotal: count,
      chunksWritten: count,
      bytesRead: count,
      durationMs: count,
      skipped: z.array(z.object({ reason: z.enum(indexSkipReasons), count, paths: z.array(z.string()) })),
    })
    .nullable(),
  failed: z.object({ endedAt: count, code: z.string(), message: z.string() }).nullable(),
});
type Note = z.infer<typeof noteSchema>;
type NotedRun = NonNullable<Note["running"]>;

/** The notes in the folder of an index, and the runs of this process. */
export class RunNotes {
  readonly #folder: string;
  /** The runs of this process that have not ended, by their ids. */
  readonly #here = new Map<string, IndexKey & NotedRun>();

  constructor(folder: string) {
    this.#folder = join(folder, "runs");
  }

  /** Begins to note a run. A refresh that ends soon and changes nothing leaves no note. */
  begin(key: IndexKey, { isRefresh }: { isRefresh: boolean }): RunNote {
    const now = Date.now();
    const progress = { phase: "waiting", filesDone: 0, filesTotal: 0, bytesDone: 0, chunksWritten: 0 } as const;
    const run = { id: newId(), pid: process.pid, notedAt: now, startedAt: now, isRefresh, ...progress };
    this.#here.set(run.id, { ...key, ...run });
    return new RunNote({
      run,
      keep: (changed) => this.#here.set(run.id, { ...key, ...changed }),
      write: (change) => this.#write(key, change),
      end: () => this.#here.delete(run.id),
    });
  }

  /** Returns the runs of an organisation's repositories, sorted by name. */
  async list(orgId: string): Promise<RepositoryRuns[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const texts = names
      .filter((name) => name.endsWith(".json"))
      .map(async (name) => await readFile(join(this.#folder, name), "utf8").catch(() => ""));
    const notes = (await Promise.all(texts)).flatMap((text) => readNote(text) ?? []);
    const known = new Map(notes.filter((note) => note.orgId === orgId).map((note) => [note.repo, this.#stateOf(note)]));
    for (const run of this.#here.values()) {
      const { repo } = run;
      const former = known.get(repo) ?? { repo, running: null, done: null, failed: null };
      // A refresh that has just begun mostly ends at once.
      const isShown = !run.isRefresh || Date.now() - run.startedAt >= limits.indexNotedMs;
      if (run.orgId === orgId && former.running === null && isShown)
        known.set(repo, { ...former, running: shownRun(run, true) });
    }
    return [...known.values()].toSorted((a, b) => (a.repo < b.repo ? -1 : 1));
  }

  #stateOf({ repo, running: noted, done, failed }: Note): RepositoryRuns {
    const known = failed === null ? null : (failed as FailedIndex);
    if (noted === null) return { repo, running: null, done, failed: known };
    const own = this.#here.get(noted.id);
    if (own !== undefined) return { repo, running: shownRun(own, true), done, failed: known };
    const isAlive = noted.pid !== process.pid && isProcessAlive(noted.pid);
    if (isAlive) return { repo, running: shownRun(noted, false), done, failed: known };
    const message = `the process ${noted.pid} ended before the run was complete; the former index is unchanged`;
    return { repo, running: null, done, failed: { endedAt: noted.notedAt, code: "interrupted", message } };
  }

  /** Changes the note of a repository. The file is always whole, and not synced: it is worth nothing after a loss of power. */
  #write({ orgId, repo }: IndexKey, change: (note: Note) => Note): void {
    const path = join(this.#folder, `${sha256(JSON.stringify([orgId, repo])).slice(0, 32)}.json`);
    const temporary = `${path}.${process.pid}.tmp`;
    try {
      const former = readNote(readTextIfPresent(path) ?? "");
      const note = change(former ?? { orgId, repo, running: null, done: null, failed: null });
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(temporary, JSON.stringify(note), { mode: 0o600 });
      renameSync(temporary, path);
    } catch {
      removeIfPossible(temporary);
    }
  }
}

interface NotedBy {
  run: NotedRun;
  keep(run: NotedRun): void;
  write(change: (note: Note) => Note): void;
  end(): void;
}

/** The note of one run. Each run ends with `done` or `failed`. */
export class RunNote {
  readonly #by: NotedBy;
  #run: NotedRun;
  #isWritten = false;

  constructor(by: NotedBy) {
    this.#by = by;
    this.#run = by.run;
  }

  /** Notes how far the run is. The file is written rarely. */
  progress(progress: IndexProgress): void {
    const { notedAt, isRefresh, phase } = this.#run;
    this.#run = { ...this.#run, ...progress };
    const now = Date.now();
    const isNewPhase = phase !== progress.phase && (this.#isWritten || !isRefresh);
    if (isNewPhase || now - notedAt >= limits.indexNotedMs) {
      this.#isWritten = true;
      this.#run.notedAt = now;
      const running = this.#run;
      this.#by.write((note) => ({ ...note, running }));
    }
    this.#by.keep(this.#run);
  }

  done({ repo: _repo, skipped, ...summary }: IndexSummary): void {
    this.#by.end();
    const { isRefresh } = this.#run;
    const isNews = !isRefresh || this.#isWritten || summary.filesChanged + summary.filesRemoved > 0;
    if (!isNews) return;
    const done = { ...summary, isRefresh, endedAt: Date.now(), skipped: skippedByReason(skipped) };
    this.#by.write((note) => ({ ...note, running: this.#othersIn(note), done }));
  }

  failed(error: unknown, { isAborted }: { isAborted: boolean }): void {
    this.#by.end();
    const stopped = new AptoveError("interrupted", "the run was stopped; the former index is unchanged");
    const { code, message } = failureOf(isAborted && !(error instanceof AptoveError) ? stopped : error);
    this.#by.write((note) => ({
      ...note,
      running: this.#othersIn(note),
      failed: { endedAt: Date.now(), code, message },
    }));
  }

  /** The run did not begin, because another one works, or it may not. */
  dropped(): void {
    this.#by.end();
  }

  /** Another process may have begun the next run already. */
  #othersIn({ running: noted }: Note): NotedRun | null {
    return noted?.id === this.#run.id ? null : noted;
  }
}

function shownRun(run: NotedRun, isHere: boolean): RunningIndex {
  const { phase, startedAt, pid, isRefresh, filesDone, filesTotal, bytesDone, chunksWritten } = run;
  return { phase, startedAt, pid, isHere, isRefresh, filesDone, filesTotal, bytesDone, chunksWritten };
}

/** Returns null if the text is no note. */
function readNote(text: string): Note | null {
  try {
    return noteSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
