/** Checks the form of active files before they are used (X3–X5). */
import { decodeText, isTooLarge, pathFault, type ActiveFile } from "../../../../domain/active-file.ts";
import { AptoveError } from "../../../../domain/errors.ts";
import { sha256 } from "../../../../domain/ids.ts";
import { languageOf } from "../../../../domain/language.ts";
import { limits } from "../../../../domain/limits.ts";
import { sessionPath, splitPath, type PathNames } from "../../../../domain/repositories.ts";

/** An active file whose form was checked. The hash is that of the raw bytes (X3). */
export interface CheckedFile {
  /** The path as the session has it (M7). */
  path: string;
  language: string;
  hash: string;
  sizeBytes: number | null;
  isTouched: boolean;
  /** The text. Null if the caller named the file by its hash, or if it is too large to send. */
  text: string | null;
  /** The text, also of a file that is too large to send. */
  current: string | null;
  /** True if the file does not exist any more (X6). */
  isDeleted: boolean;
  /** The new path of a deleted file. */
  renamedTo: string | null;
}

/**
 * Checks paths (X5) and contents (X4). Throws `active_file_invalid`, which names the path, and `too_many_active_files`.
 */
export function checkFiles(files: readonly ActiveFile[], names: PathNames): CheckedFile[] {
  if (files.length > limits.activeFilesPerTurnMax) {
    throw refused(`${files.length} files are more than the ${limits.activeFilesPerTurnMax} allowed`, null);
  }
  const paths = new Set<string>();
  return files.map((file) => {
    const fault = pathFault(splitPath(names, file.path).path);
    if (fault !== null) throw refused(`the path ${JSON.stringify(file.path)} ${fault}`, file.path);
    const path = sessionPath(names, file.path);
    if (paths.has(path)) throw refused(`"${path}" is given twice`, file.path);
    paths.add(path);
    return checkFile({ ...file, path }, names);
  });
}

function checkFile(file: ActiveFile, names: PathNames): CheckedFile {
  const { isDeleted = false } = file;
  const renamedTo = file.renamedTo === undefined ? null : newPath(file.path, file.renamedTo, names);
  const language = languageOf(splitPath(names, file.path).path);
  const facts = { path: file.path, language, isTouched: file.isTouched, isDeleted, renamedTo };
  if (isDeleted) return checkDeleted(file, facts);
  if (renamedTo !== null) throw refused(`"${file.path}" was renamed and is not deleted`, file.path);
  if (file.content === null) {
    if (!/^[0-9a-f]{64}$/.test(file.sha256 ?? "")) {
      throw refused(`"${file.path}" has neither content nor a SHA-256`, file.path);
    }
    return { ...facts, hash: file.sha256 ?? "", sizeBytes: null, text: null, current: null };
  }
  const hash = sha256(file.content);
  if (file.sha256 !== null && file.sha256 !== hash) {
    throw refused(`the content of "${file.path}" does not match its SHA-256`, file.path);
  }
  const text = decodeText(file.content);
  if (text === null) throw refused(`"${file.path}" is not UTF-8 text`, file.path);
  const sizeBytes = file.content.byteLength;
  return { ...facts, hash, sizeBytes, text: isTooLarge(sizeBytes) ? null : text, current: text };
}

/** A file that was renamed stays in its repository. */
function newPath(path: string, renamedTo: string, names: PathNames): string {
  const { repo } = splitPath(names, path);
  const placed = splitPath({ ...names, home: repo }, renamedTo);
  const fault = placed.repo === repo ? pathFault(placed.path) : "is in another repository";
  if (fault !== null) throw refused(`the new path ${JSON.stringify(renamedTo)} ${fault}`, path);
  return sessionPath({ ...names, home: repo }, renamedTo);
}

type FileFacts = Pick<CheckedFile, "path" | "language" | "isTouched" | "isDeleted" | "renamedTo">;

function checkDeleted({ path, content, sha256: hash }: ActiveFile, facts: FileFacts): CheckedFile {
  if (content !== null || hash !== null) throw refused(`"${path}" is deleted and has a content`, path);
  return { ...facts, hash: "", sizeBytes: null, text: null, current: null };
}

function refused(detail: string, path: string | null): AptoveError {
  return new AptoveError("active_file_invalid", detail, { facts: path === null ? {} : { path } });
}
