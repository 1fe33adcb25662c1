/**
 * Imports sessions from a file. The whole file is read and checked before anything is written. Then the blobs are
 * written, and last all rows in one transaction (B1). A process that is killed in between leaves only garbage, and a
 * second import completes the work.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { KeptEvent } from "../../domain/events.ts";
import { storedName } from "../../domain/given-name.ts";
import { newId } from "../../domain/ids.ts";
import type { EndedSummary } from "../../domain/summary.ts";
import type { ImportedTurn, TurnText } from "../../records/record-store.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { ImportReport } from "../engine.ts";
import { mayWrite } from "../access/visible.ts";
import { importMarks, type OpeningBlob, type RunBlob } from "../turn/kept/turn-blobs.ts";
import { checkFile, type CheckedExport, type FileBlob, type FileTurn } from "./check-file.ts";
import { blobBytes, type BlobLine, type PartLine, type ExportedSummaryLine, type TurnLine } from "./format.ts";
import { findStored, planImport, type ImportPlan } from "./place-import.ts";
import { isForeignHeader } from "./foreign/foreign-lines.ts";
import { Spool } from "./spool.ts";

/** A blob of the file with the lines that hold it. */
type StoredLines = Pick<FileBlob, "key" | "places">;

/** How many turns' blobs are written at the same time. */
const writersMax = 8;
/** How often an import is tried. Each failed attempt means that another client changed the same sessions. */
const attemptsMax = 3;

/**
 * Imports the lines, and returns what was imported. If it throws, nothing was changed. Throws `import_invalid`,
 * `import_conflict`, `import_newer`, `session_busy`, `session_archived`, `forbidden`.
 */
export async function importLines(
  core: EngineCore,
  caller: Caller,
  lines: AsyncIterable<string>,
): Promise<ImportReport> {
  mayWrite(caller);
  const spool = await Spool.open();
  try {
    const file = await readFile(core, caller, { lines, spool });
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      const plan = await planImport(core, caller, file);
      await putPrompts(core, spool, file);
      if (await write(core, spool, plan)) return reportOf(file, plan);
    }
    throw new AptoveError(
      "import_conflict",
      "another client changed the data that the file depends on; import it again",
    );
  } finally {
    await spool.close();
  }
}

/** Reads an export of aptove, or a conversation of another tool (O8): the first line says which. */
async function readFile(
  core: EngineCore,
  caller: Caller,
  { lines, spool }: { lines: AsyncIterable<string>; spool: Spool },
): Promise<CheckedExport> {
  const iterator = lines[Symbol.asyncIterator]();
  const first = await iterator.next();
  const header = first.done === true ? null : first.value;
  const rest: AsyncIterable<string> = { [Symbol.asyncIterator]: () => iterator };
  if (header !== null && isForeignHeader(header)) {
    const { foreignFile } = await import("./foreign/foreign-import.ts");
    return await foreignFile(core, caller, { header, lines: rest, spool });
  }
  const whole = async function* (): AsyncGenerator<string> {
    if (header === null) return;
    yield header;
    yield* rest;
  };
  return await checkFile(whole(), { spool, findStored: (id) => findStored(core, caller, id) });
}

/** Writes the plan. Returns false if the stored data has changed since the plan was made. */
async function write(core: EngineCore, spool: Spool, plan: ImportPlan): Promise<boolean> {
  if (plan.turns.length + plan.sessions.length + plan.summaries.length === 0) return true;
  const { blobs, records, report } = core.deps;
  const mark = importMark();
  await blobs.put(mark, Buffer.from("{}"));
  try {
    const rows = [...plan.turns, ...plan.summaries];
    await putBlobs(core, { spool, rows });
    const turns = importedTurns(spool, plan.turns);
    const { sessions, growths, parents, mail } = plan;
    const summaries = await importedSummaries(core, spool, plan);
    const result = await records.imports.insert({ sessions, growths, parents, turns, mail, summaries });
    if (result.outcome !== "imported") return false;
    // A deletion that began before the mark may have deleted what was there already.
    await putBlobs(core, { spool, rows, onlyMissing: true });
    return true;
  } finally {
    await blobs
      .delete(mark)
      .catch((error: unknown) => report(`the mark ${mark} of an import could not be deleted`, error));
  }
}

/**
 * Returns the key of a mark that protects blobs whose rows are not written yet from the garbage collection (K4). The id
 * in the key tells its age, so that the mark of a killed process does not count for ever.
 */
function importMark(): string {
  return `${importMarks}${newId()}`;
}

/** Stores the boot prompts, also those of turns that are here already: version 0.1.0 imported turns without them. */
async function putPrompts({ deps }: EngineCore, spool: Spool, { prompts }: CheckedExport): Promise<void> {
  for (const prompt of prompts.values()) await deps.blobs.put(prompt.key, await bytesOf(spool, prompt));
}

interface BlobsToPut {
  spool: Spool;
  rows: readonly { blobs: readonly StoredLines[] }[];
  /** True: a blob that is there already is not put again. */
  onlyMissing?: boolean;
}

async function putBlobs(core: EngineCore, { spool, rows, onlyMissing = false }: BlobsToPut): Promise<void> {
  const { blobs: store } = core.deps;
  const left = rows.values();
  const put = async (blob: StoredLines): Promise<void> => {
    if (!onlyMissing || (await store.size(blob.key)) === null) await store.put(blob.key, await bytesOf(spool, blob));
  };
  const writer = async (): Promise<void> => {
    for (const { blobs } of left) await Promise.all(blobs.map(put));
  };
  const ended = await Promise.allSettled(Array.from({ length: writersMax }, writer));
  for (const end of ended) if (end.status === "rejected") throw end.reason;
}

/** Returns the bytes of a blob. Its lines were checked when they were stored in the spool. */
async function bytesOf(spool: Spool, { places }: Pick<StoredLines, "places">): Promise<Uint8Array> {
  const lines = await Promise.all(places.map(async (place): Promise<unknown> => JSON.parse(await spool.read(place))));
  const [line, ...parts] = lines as [BlobLine, ...PartLine[]];
  return blobBytes(line, parts);
}

async function* importedTurns(spool: Spool, turns: readonly FileTurn[]): AsyncGenerator<ImportedTurn> {
  for (const { line, blobs } of turns) {
    const { turn, steps } = JSON.parse(await spool.read(line)) as TurnLine;
    yield { turn, steps, text: await textOf(spool, blobs) };
  }
}

async function importedSummaries(core: EngineCore, spool: Spool, plan: ImportPlan): Promise<EndedSummary[]> {
  const created = new Map(plan.sessions.map(({ id, orgId }) => [id, orgId]));
  const summaries: EndedSummary[] = [];
  for (const { line, sessionId } of plan.summaries) {
    const { summary } = JSON.parse(await spool.read(line)) as ExportedSummaryLine;
    const orgId = created.get(sessionId) ?? (await core.deps.records.sessions.get(sessionId))?.orgId;
    if (orgId !== undefined) summaries.push({ ...summary, orgId });
  }
  return summaries;
}

/** Returns the text that search finds the turn by (S8). */
async function textOf(spool: Spool, blobs: readonly FileBlob[]): Promise<TurnText> {
  const read = async (kind: FileBlob["kind"]): Promise<unknown> => {
    const blob = blobs.find((one) => one.kind === kind);
    return blob === undefined ? null : JSON.parse(Buffer.from(await bytesOf(spool, blob)).toString());
  };
  const opening = (await read("opening")) as OpeningBlob;
  const run = (await read("run")) as RunBlob | null;
  return { instruction: opening.instruction, answer: answerIn(run?.events ?? []) };
}

function answerIn(events: readonly KeptEvent[]): string {
  const messages = new Map<string, string>();
  const add = (id: string, text: string): void => void messages.set(id, (messages.get(id) ?? "") + text);
  for (const event of events) {
    if (event.type === "joined" && event.of === "text_delta") add(event.id, event.text);
    else if (event.type === "text_delta") add(event.messageId, event.delta);
  }
  return [...messages.values()].join("\n\n");
}

function reportOf(file: CheckedExport, { turns, sessions, summaries }: ImportPlan): ImportReport {
  const isNew = new Set(sessions.map((session) => session.id));
  return {
    sessions: [...file.sessions.values()].map(({ id, name }) => ({
      id,
      name: storedName(name, id),
      isNew: isNew.has(id),
    })),
    turnsImported: turns.length,
    turnsKnown: file.passed + file.turns.size - turns.length,
    blobsImported: [...turns, ...summaries].reduce((sum, { blobs }) => sum + blobs.length, 0),
  };
}
