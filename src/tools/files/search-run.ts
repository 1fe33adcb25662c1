/** Runs one search in its own thread, which is terminated when the time is up or the caller stops waiting. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { limits } from "../../domain/limits.ts";
import { onAbort } from "../../system/abort.ts";
import { ToolFault } from "../tool-fault.ts";
import type { SearchJob, SearchMessage } from "./search-job.ts";

export interface FoundFile {
  path: string;
  lines: string[];
}

export interface SearchOutcome {
  files: FoundFile[];
  matches: number;
  filesSearched: number;
  tooLarge: number;
  /** True if there may be more matches. */
  isCut: boolean;
  /** The file that was being searched when the time ran out. Null if the search ended in time. */
  stoppedIn: string | null;
}

export type SearchRequest = Pick<
  SearchJob,
  "folder" | "paths" | "pattern" | "isLiteral" | "ignoreCase" | "contextLines"
>;

/**
 * Runs the search. The thread starts at once, while `request` is still being prepared. Throws a ToolFault for a pattern
 * that is not valid, and the signal's reason if it aborts.
 */
export async function runSearch(
  request: Promise<SearchRequest>,
  { signal, timeMs = limits.searchMs }: { signal: AbortSignal; timeMs?: number },
): Promise<SearchOutcome> {
  const worker = startWorker();
  const time = AbortSignal.timeout(timeMs);
  try {
    const messages = listen(worker, AbortSignal.any([signal, time]));
    const [search] = await Promise.all([request, messages.next()]);
    const position = new SharedArrayBuffer(4);
    worker.postMessage({ ...search, ...bounds(), position } satisfies SearchJob, []);
    const outcome = await collect(messages);
    signal.throwIfAborted();
    if (outcome.isCut && time.aborted) outcome.stoppedIn = search.paths[new Int32Array(position)[0] ?? 0] ?? null;
    return outcome;
  } finally {
    await worker.terminate();
  }
}

function bounds() {
  return {
    matchesMax: limits.searchMatchesMax,
    charactersMax: limits.searchCharactersMax,
    lineCharactersMax: limits.searchLineCharactersMax,
    fileBytesMax: limits.searchedFileBytesMax,
  };
}

function startWorker(): Worker {
  // The thread's file is next to this one, with the same extension, both in the source and in the build.
  const file = new URL(`./search-worker${extname(import.meta.url)}`, import.meta.url);
  return new Worker(file, { env: {}, execArgv: [], name: "search" });
}

/** Yields the messages of the thread until it ends or the signal aborts. */
async function* listen(worker: Worker, signal: AbortSignal): AsyncGenerator<SearchMessage> {
  const waiting: SearchMessage[] = [];
  let ended: { error?: unknown } | null = null;
  let wake = (): void => undefined;
  const end = (how: { error?: unknown }): void => {
    ended ??= how;
    wake();
  };
  worker.on("message", (message: SearchMessage) => {
    waiting.push(message);
    wake();
  });
  worker.on("error", (error) => end({ error }));
  worker.on("exit", () => end({}));
  onAbort(signal, () => end({}));
  for (;;) {
    const message = waiting.shift();
    if (message !== undefined) yield message;
    else if (ended !== null) break;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
  const { error } = ended as { error?: unknown };
  if (error !== undefined) throw error;
}

async function collect(messages: AsyncIterable<SearchMessage>): Promise<SearchOutcome> {
  const outcome: SearchOutcome = { files: [], matches: 0, filesSearched: 0, tooLarge: 0, isCut: true, stoppedIn: null };
  for await (const message of messages) {
    if (message.type === "fault") throw new ToolFault(`the pattern cannot be used: ${message.fault}`);
    if (message.type === "file") {
      outcome.files.push({ path: message.path, lines: message.lines });
      outcome.matches += message.matches;
    }
    if (message.type === "done") return { ...outcome, ...message, type: undefined } as SearchOutcome;
  }
  return outcome;
}
