/** What a run of an index is doing, in words. Pure. */
import type { WireIndexRun } from "../../src/client/client.ts";
import { count, plural } from "../parts/numbers.ts";

type RunningIndex = NonNullable<WireIndexRun["running"]>;

export function runWords({
  phase,
  filesDone,
  filesTotal,
  chunksWritten,
  pid,
  isHere,
  isRefresh,
}: RunningIndex): string {
  const who = isHere ? "" : ` by another program (process ${pid})`;
  const why = isRefresh ? ", for a question" : "";
  const files = `${count(filesDone)} of ${plural(filesTotal, "file")}`;
  const chunks = `${plural(chunksWritten, "chunk")} written`;
  switch (phase) {
    case "waiting":
      return `Waits until another run has ended${why}`;
    case "listing":
      return `Compares${who}: ${files}${why}`;
    case "chunking":
      return `Reads what changed${who}: ${files}, ${chunks}${why}`;
    case "writing":
      return `Completes the index${who}: ${chunks}${why}`;
  }
}

/** What a screen reader says when a run begins or ends. It has no number that changes meanwhile. */
export function stateWords({ repo, running, done, failed }: WireIndexRun): string {
  if (running !== null) return `${repo} is being indexed.`;
  const hasFailed = failed !== null && (done === null || failed.endedAt > done.endedAt);
  if (hasFailed) return `The last run for ${repo} was not completed.`;
  return done === null ? "" : `${repo} is indexed: ${plural(done.filesTotal, "file")}.`;
}

export function skippedTotal(skipped: readonly { count: number }[]): number {
  return skipped.reduce((sum, one) => sum + one.count, 0);
}
