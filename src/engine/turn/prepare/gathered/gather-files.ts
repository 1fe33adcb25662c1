/** Decides which of the active files a turn sends, compared with what this history already has (X1–X4, X8). */
import { isTooLarge, type ActiveFileRef, type SkippedFile } from "../../../../domain/active-file.ts";
import type { Warning } from "../../../../domain/errors.ts";
import { limits } from "../../../../domain/limits.ts";
import type { AlreadySent } from "../../../../domain/lineage.ts";
import type { ContextFile } from "../../request/context-block.ts";
import type { CheckedFile } from "./check-files.ts";
import { tokensOf, waitingFiles, type FileBudget } from "./file-budget.ts";

export interface GatheredFiles {
  refs: ActiveFileRef[];
  skipped: SkippedFile[];
  warnings: Warning[];
  toSend: ContextFile[];
  /**
   * The paths of files of the request whose text the model has, from this turn or an earlier one. Chunks of them are not
   * sent (X6).
   */
  wholePaths: Set<string>;
  /** The files that wait for room in a later message (X8), without those that an earlier turn has listed in this version. */
  waiting: CheckedFile[];
}

/** Decides which files are sent (X2–X4, X8). */
export function gatherFiles(files: readonly CheckedFile[], sent: AlreadySent, budget: FileBudget): GatheredFiles {
  const unknown = files.filter(({ path, hash }) => sent.files.get(path) !== hash);
  const waiting = new Set(waitingFiles(unknown, budget));
  const gathered: GatheredFiles = {
    refs: [],
    skipped: [],
    warnings: [],
    toSend: [],
    wholePaths: new Set(),
    waiting: [...waiting].filter(({ path, hash }) => sent.noted.get(path) !== hash),
  };
  if (gathered.waiting.length > 0) gathered.warnings.push(waitingWarning(gathered.waiting, budget));
  for (const file of files) {
    if (file.isDeleted) {
      gathered.skipped.push({ path: file.path, reason: "deleted", sizeBytes: null });
      continue;
    }
    const tooLarge = file.sizeBytes !== null && isTooLarge(file.sizeBytes);
    const isKnown = sent.files.get(file.path) === file.hash;
    const isSent = !isKnown && file.text !== null && !waiting.has(file);
    gathered.refs.push({
      path: file.path,
      contentHash: file.hash,
      sizeBytes: file.sizeBytes,
      isTouched: file.isTouched,
      wasSentToLLM: isSent,
      wasTooLargeToSend: tooLarge,
    });
    if (isKnown || isSent) gathered.wholePaths.add(file.path);
    if (isSent) {
      gathered.toSend.push({
        path: file.path,
        sha256: file.hash,
        language: file.language,
        text: file.text ?? "",
      });
    } else if (!isKnown) {
      skip(gathered, file, waiting.has(file));
    }
  }
  return gathered;
}

function waitingWarning(waiting: readonly CheckedFile[], { tokensMax }: FileBudget): Warning {
  const files = waiting.length === 1 ? "1 file waits" : `${waiting.length} files wait`;
  const message = `${files}, because ${tokensMax} tokens of files fit into this message: ${namedFiles(waiting)}`;
  return { code: "active_files_waiting", message };
}

/** Names the first files, and counts the others. */
export function namedFiles(files: readonly CheckedFile[]): string {
  const named = files.slice(0, limits.waitingFilesNamedMax).map((file) => `${file.path} (${tokensOf(file)})`);
  const more = files.length - named.length;
  return more > 0 ? `${named.join(", ")} and ${more} more` : named.join(", ");
}

function skip(gathered: GatheredFiles, file: CheckedFile, isWaiting: boolean): void {
  const { path, sizeBytes } = file;
  const tooLarge = sizeBytes !== null && isTooLarge(sizeBytes);
  if (isWaiting) {
    gathered.skipped.push({ path, reason: "over_budget", sizeBytes });
    return;
  }
  gathered.skipped.push({ path, reason: tooLarge ? "too_large" : "content_missing", sizeBytes });
  gathered.warnings.push(
    tooLarge
      ? {
          code: "active_file_skipped",
          message: `${path} has ${sizeBytes} bytes and was not sent; the limit is ${limits.activeFileBytesMax}`,
        }
      : {
          code: "active_file_content_missing",
          message: `${path} was named by a hash whose content was never sent in this session; send its content`,
        },
  );
}
