/** `aptove index`: reads a repository into the index that retrieval searches (Q1, Q2). */
import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Call } from "../call.ts";
import { exitCodes, indexThereFix, UsageError } from "../failure.ts";
import type { ExitCode } from "../failure.ts";
import { findWorkingCopy } from "../working-copy/git.ts";
import type { WorkingCopy } from "../working-copy/git.ts";
import { bytes, duration, plural } from "../output.ts";
import type { IndexInfo, IndexSummary } from "../ports.ts";
import { ProgressBar } from "../show/progress-bar.ts";
import { orgIdOf } from "./people.ts";
import { listenForStop } from "../stop-signals.ts";

export interface IndexOptions {
  repo?: string;
  rebuild?: boolean;
  /** True: HEAD. */
  commit?: string | true;
  org?: string;
}

export async function indexCommand(call: Call, path: string | undefined, options: IndexOptions): Promise<ExitCode> {
  if (call.server() !== null) throw new UsageError("an index is made on the machine of its server", indexThereFix);
  const copy = path === undefined ? await call.copy() : await findWorkingCopy(existingFolder(call.io.cwd, path));
  // Whatever one person is working on is no index for all.
  if (options.commit === undefined && call.loaded().configuration.retrieval.store !== "local") {
    throw new UsageError("the index is shared, so it is made from a commit", "aptove index --commit");
  }
  const org = options.org === undefined ? {} : { org: await orgIdOf(call, options.org) };
  const named = options.repo === undefined ? copy : { ...copy, repo: options.repo };
  const stopping = listenForStop(call.io.signals);
  try {
    const summary = await indexWorkingCopy(call, named, { ...options, ...org, signal: stopping.first });
    if (call.json) call.output.json(summary);
    else for (const line of summaryLines(summary)) call.output.line(call.output.safe(line));
    return exitCodes.fine;
  } catch (error) {
    if (!stopping.first.aborted) throw error;
    call.output.note("stopped; the former index is unchanged");
    return exitCodes.interrupted;
  } finally {
    stopping.release();
  }
}

function existingFolder(cwd: string, path: string): string {
  const full = resolve(cwd, path);
  if (statSync(full, { throwIfNoEntry: false })?.isDirectory() === true) return realpathSync(full);
  throw new UsageError(`${path} is not a folder`, "name the folder of a repository, or leave it out");
}

export async function indexWorkingCopy(
  call: Call,
  copy: WorkingCopy,
  options: Pick<IndexOptions, "rebuild" | "commit" | "org"> & { signal?: AbortSignal },
): Promise<IndexSummary> {
  const { indexes } = await call.local("indexing");
  const { org, commit } = options;
  // A build has its working copy somewhere else each time, and means the same repository.
  if (commit === undefined)
    warnOfOtherRoot(
      call,
      copy,
      (await indexes.list(org)).find(({ repo }) => repo === copy.repo),
    );
  const progress = new ProgressBar(call.output);
  try {
    return await indexes.index({
      root: copy.root,
      repo: copy.repo,
      onProgress: ({ phase, filesDone, filesTotal }) => progress.update(phase, filesDone, filesTotal),
      ...(org === undefined ? {} : { orgId: org }),
      ...(commit === undefined ? {} : { commit: commit === true ? "HEAD" : commit }),
      ...(options.rebuild === true ? { rebuild: true } : {}),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } finally {
    progress.clear();
  }
}

/** Folders of one name without an origin would silently take the index from each other. */
function warnOfOtherRoot(call: Call, copy: WorkingCopy, former: IndexInfo | undefined): void {
  if (former === undefined || former.root === copy.root) return;
  call.output.note(
    `warning: the index of ${call.output.safeNote(copy.repo)} was made from ${former.root} and now follows ${copy.root}; another name keeps both: --repo`,
  );
}

export function summaryLines(summary: IndexSummary): string[] {
  const { filesTotal, filesChanged, filesRemoved, skippedBinary, skippedLarge, chunksTotal, chunksWritten } = summary;
  const commit = summary.commit === null ? "" : ` at ${summary.commit.slice(0, 10)}`;
  const skipped = [
    ...(skippedBinary > 0 ? [`${skippedBinary} binary`] : []),
    ...(skippedLarge > 0 ? [`${skippedLarge} too large`] : []),
  ];
  return [
    `indexed ${summary.repo}${commit}: ${plural(filesTotal, "file")}, ${plural(chunksTotal, "chunk")}`,
    `${filesChanged} changed, ${filesRemoved} removed, ${plural(chunksWritten, "chunk")} written, ${bytes(summary.bytesRead)} read in ${duration(summary.durationMs)}`,
    ...(skipped.length > 0 ? [`skipped: ${skipped.join(", ")}`] : []),
  ];
}
