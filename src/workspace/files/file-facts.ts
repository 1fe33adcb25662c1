/**
 * Stores the facts of a workspace as files of its folder `memory/` (M3): `<id>.md`, with the text of the fact. A person may write,
 * edit and delete them with any editor, so every call reads the folder again. The format is in docs/formats/workspaces.md.
 */
import { randomUUID } from "node:crypto";
import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { AptoveError } from "../../domain/errors.ts";
import {
  checkedFact,
  factFault,
  factHash,
  isFactId,
  sortedFacts,
  type Fact,
  type FactChange,
  type FactFault,
  type FactStore,
  type Memory,
  type NewFact,
} from "../../domain/fact.ts";
import { limits } from "../../domain/limits.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { createDurableFolder, replaceDurableFile, syncFolder } from "../../system/durable-files.ts";
import { readRegularFlags } from "../../system/read-files.ts";
import { isAbsence } from "../../system/system-error.ts";
import { isWorkspaceId } from "../workspace-store.ts";
import { parseFact, renderFact, type FactFile } from "./fact-file.ts";
import { withWorkspaceLock } from "./workspace-lock.ts";
import { workspacePaths, type WorkspaceFolders, type WorkspacePaths } from "./workspace-paths.ts";

const extension = ".md";

/** Returns the store. No file is read or written before the first call. */
export function fileFacts(data: Pick<WorkspaceFolders, "workspaces" | "locks">): FactStore {
  return new FileFacts(data);
}

class FileFacts implements FactStore {
  readonly #data: Pick<WorkspaceFolders, "workspaces" | "locks">;

  constructor(data: Pick<WorkspaceFolders, "workspaces" | "locks">) {
    this.#data = data;
  }

  async read(workspaceId: string): Promise<Memory | null> {
    if (!isWorkspaceId(workspaceId)) return null;
    const paths = workspacePaths(this.#data, workspaceId);
    return isThere(paths.folder) ? readMemory(paths) : null;
  }

  async add(workspaceId: string, { text: given, at, source }: NewFact): Promise<Fact> {
    const text = checkedFact(given);
    return await this.#change(workspaceId, async (paths) => {
      const { facts, faults } = readMemory(paths);
      const same = facts.find((fact) => fact.text === text);
      if (same !== undefined) return same;
      if (facts.length + faults.length >= limits.factsPerWorkspaceMax) {
        const detail = `the memory of a workspace has at most ${limits.factsPerWorkspaceMax} facts; forget some first`;
        throw new AptoveError("fact_invalid", detail);
      }
      const fact: Fact = { id: newFactId(), text, hash: factHash(text), createdAt: at, source };
      await createDurableFolder(paths.memory);
      await write(paths, fact.id, { text, createdAt: at, source, others: [] });
      return fact;
    });
  }

  async change(workspaceId: string, { id, text: given, expectedHash }: FactChange): Promise<Fact | null> {
    const text = checkedFact(given);
    return await this.#change(workspaceId, async (paths) => {
      const before = isFactId(id) ? readFact(paths, id) : null;
      if (before === null) return null;
      if ("reason" in before) throw new AptoveError("fact_invalid", `${id} cannot be changed: ${before.reason}`);
      const { file, fact } = before;
      if (expectedHash !== undefined && expectedHash !== fact.hash) {
        throw new AptoveError("fact_changed", `the fact ${id} has another text by now`);
      }
      if (text !== fact.text) await write(paths, id, { ...file, text });
      return { ...fact, text, hash: factHash(text) };
    });
  }

  async forget(workspaceId: string, id: string): Promise<string[]> {
    return await this.#change(workspaceId, async (paths) => {
      const { facts, faults } = readMemory(paths);
      const fact = facts.find((one) => one.id === id);
      const same = facts.filter((one) => one.hash === fact?.hash).map((one) => one.id);
      const ids = fact !== undefined ? same : faults.some(({ name }) => name === id) ? [id] : [];
      const files = ids.filter(isFactId).flatMap((one) => copiesOf(paths, one));
      if (files.length > 0) await remove(paths, files);
      return ids;
    });
  }

  /** Runs the body under the workspace's lock. Throws `workspace_unknown`. */
  async #change<T>(workspaceId: string, body: (paths: WorkspacePaths) => Promise<T>): Promise<T> {
    const paths = workspacePaths(this.#data, workspaceId);
    if (!isThere(paths.folder)) throw unknown(workspaceId);
    return await withWorkspaceLock(paths.lock, async () => {
      if (!isThere(paths.folder)) throw unknown(workspaceId);
      return await body(paths);
    });
  }
}

/** An id says nothing about the text, because manifests keep it when the fact is forgotten. */
function newFactId(): string {
  return `f-${randomUUID().replaceAll("-", "").slice(0, 12)}`;
}

function readMemory(paths: WorkspacePaths): Memory {
  const facts: Fact[] = [];
  const faults: FactFault[] = [];
  const names = namesIn(paths.memory).filter((name) => name.endsWith(extension));
  for (const [at, name] of names.toSorted().entries()) {
    const id = name.slice(0, -extension.length);
    const found =
      at >= limits.factsPerWorkspaceMax
        ? { reason: tooMany }
        : isFactId(id)
          ? readFact(paths, id)
          : { reason: wrongName };
    if (found === null) continue;
    if ("reason" in found) faults.push({ name: id, reason: found.reason });
    else facts.push(found.fact);
  }
  return { facts: sortedFacts(facts), faults };
}

const tooMany = `there are more than ${limits.factsPerWorkspaceMax} files`;
const wrongName =
  "the name of its file must have at most 64 letters, digits, points, hyphens and underscores, and begin with a letter or a digit";

type FoundFact = { fact: Fact; file: FactFile } | { reason: string };

function readFact(paths: WorkspacePaths, id: string): FoundFact | null {
  const text = readSmallFile(join(paths.memory, `${id}${extension}`));
  if (text === null || typeof text !== "string") return text;
  const file = parseFact(text);
  if ("reason" in file) return file;
  const reason = factFault(file.text);
  if (reason !== null) return { reason };
  return {
    file,
    fact: { id, text: file.text, hash: factHash(file.text), createdAt: file.createdAt, source: file.source },
  };
}

/** Returns the text of a regular file. Null: there is none. No link is followed, and no pipe is waited for. */
function readSmallFile(path: string): string | null | { reason: string } {
  try {
    // On Windows the flags do not refuse a link.
    if (!lstatSync(path).isFile()) return { reason: "it is no regular file" };
    const file = openSync(path, readRegularFlags);
    try {
      if (!fstatSync(file).isFile()) return { reason: "it is no regular file" };
      const bytes = Buffer.alloc(limits.factFileBytesMax + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read) {
        read = readSync(file, bytes, length, bytes.length - length, null);
      }
      if (length > limits.factFileBytesMax) {
        return { reason: `the file has more than ${limits.factFileBytesMax} bytes` };
      }
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (isAbsence(error)) return null;
    if (error instanceof TypeError) return { reason: "the file is not UTF-8 text" };
    throw storageFault(`${path} could not be read`, error);
  }
}

async function write(paths: WorkspacePaths, id: string, file: FactFile): Promise<void> {
  const path = join(paths.memory, `${id}${extension}`);
  try {
    await replaceDurableFile(path, renderFact(file));
  } catch (error) {
    throw storageFault(`${path} could not be written`, error);
  }
}

/** Returns the files of a fact: its own, one that a killed writer left, and the copies that editors keep beside it. */
function copiesOf({ memory }: WorkspacePaths, id: string): string[] {
  const own = `${id}${extension}`;
  const copies = new Set([own, `${own}.new`, `${own}~`, `${own}.bak`, `${own}.orig`, `.${own}.swp`, `#${own}#`]);
  return namesIn(memory)
    .filter((name) => copies.has(name))
    .map((name) => join(memory, name));
}

async function remove({ memory }: WorkspacePaths, files: readonly string[]): Promise<void> {
  try {
    for (const file of files) rmSync(file, { force: true });
    await syncFolder(memory);
  } catch (error) {
    throw storageFault(`a fact in ${memory} could not be removed`, error);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isAbsence(error)) return [];
    throw storageFault(`${folder} could not be read`, error);
  }
}

function isThere(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    if (isAbsence(error)) return false;
    throw storageFault(`${path} could not be read`, error);
  }
}

function unknown(id: string): AptoveError {
  return new AptoveError(
    "workspace_unknown",
    `there is no workspace ${JSON.stringify(id)}; see: aptove workspace list`,
  );
}
