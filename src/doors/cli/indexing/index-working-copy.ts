/** Indexes the repository of a working copy, with a progress bar, and describes the result. */
import { groupedNumber, plural } from "../../../system/grouped-number.ts";
import type { CliInvocation } from "../invocation.ts";
import { bytes, duration } from "../output.ts";
import type { LocalIndexInfo, LocalIndexSummary } from "../ports.ts";
import { ProgressBar } from "../show/progress-bar.ts";
import type { LocalWorkingCopy } from "../../../working-copy/git.ts";

export interface WorkingCopyIndexOptions {
  /** Indexes every file again, also the unchanged ones. */
  rebuild?: boolean;
  /** The commit to index instead of the files of the working copy. True means HEAD. */
  commit?: string | true;
  /** The id of the org whose index is made. Without it: the org of the data folder. */
  org?: string;
  signal?: AbortSignal;
}

export async function indexWorkingCopy(
  invocation: CliInvocation,
  copy: LocalWorkingCopy,
  options: WorkingCopyIndexOptions,
): Promise<LocalIndexSummary> {
  const { indexes } = await invocation.local("indexing");
  const { org, commit } = options;
  // A build server checks the repository out into a new folder each time, and means the same repository.
  if (commit === undefined && copy.repo !== (await invocation.copy()).repo) {
    const known = await indexes.list(org);
    warnOfOtherRoot(
      invocation,
      copy,
      known.find(({ repo }) => repo === copy.repo),
    );
  }
  const progress = new ProgressBar(invocation.output);
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

/**
 * Warns if another folder was indexed under a name that the caller chose: the two would silently replace each other's
 * index.
 */
function warnOfOtherRoot(invocation: CliInvocation, copy: LocalWorkingCopy, former: LocalIndexInfo | undefined): void {
  if (former === undefined || former.root === copy.root) return;
  invocation.output.note(
    `warning: the index of ${invocation.output.safeNote(copy.repo)} was made from ${former.root} and now follows ${copy.root}; to keep both, give one another name with --repo`,
  );
}

export function summaryLines(summary: LocalIndexSummary): string[] {
  const { filesTotal, filesChanged, filesRemoved, skipped, chunksTotal, chunksWritten } = summary;
  const commit = summary.commit === null ? "" : ` at ${summary.commit.slice(0, 10)}`;
  return [
    `indexed ${summary.repo}${commit}: ${plural(filesTotal, "file")}, ${plural(chunksTotal, "chunk")}`,
    `${groupedNumber(filesChanged)} changed, ${groupedNumber(filesRemoved)} removed, ${plural(chunksWritten, "chunk")} written, ${bytes(summary.bytesRead)} read in ${duration(summary.durationMs)}`,
    ...skippedLines(skipped),
  ];
}

const skippedNamedMax = 5;
/** The line of a reason names no further file beyond this length. */
const skippedCharactersMax = 100;

/** Returns one line for each reason, with the first files. `--json` has all of them. */
function skippedLines(skipped: LocalIndexSummary["skipped"]): string[] {
  return [...Map.groupBy(skipped, ({ reason }) => reason)].map(([reason, files]) => {
    const named: string[] = [];
    for (const { path } of files.slice(0, skippedNamedMax)) {
      if (named.length > 0 && [...named, path].join(", ").length > skippedCharactersMax) break;
      named.push(path);
    }
    const more = files.length - named.length;
    const rest = more > 0 ? ` and ${more} more` : "";
    return `skipped, ${reason.replaceAll("_", " ")}: ${named.join(", ")}${rest}`;
  });
}
