/** The client's methods for the server itself: the runs of its indexes, and what it finds about itself (Q2, L1). */
import type { WireCheck } from "../protocol/server/doctor.ts";
import type { WireIndexRun, WireIndexStart } from "../protocol/server/index-list.ts";
import type { FetchJson, SendRequest } from "./send.ts";

export interface IndexRunMethods {
  /** Returns what is being indexed, how far each run is, and how the last runs ended. */
  list(): Promise<WireIndexRun[]>;
  /** Begins to index a repository again. Throws `not_found`, and `repository_invalid` if the server has no working copy of it. */
  start(run: WireIndexStart): Promise<void>;
  /** Stops a run that `start` began on this server. Throws `not_found`. */
  stop(repo: string): Promise<void>;
}

export function indexRunMethods(send: SendRequest, call: FetchJson): IndexRunMethods {
  return {
    list: async () => (await call("listIndexRuns")).runs,
    start: async (body) => void (await send("startIndexRun", { body })),
    stop: async (repo) => void (await send("stopIndexRun", { query: { repo } })),
  };
}

export async function* inspect(send: SendRequest, signal: AbortSignal | undefined): AsyncGenerator<WireCheck> {
  const response = await send("inspectServer", { accept: "application/x-ndjson", signal });
  const reader = (response.body ?? new Blob().stream()).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value = "" } = await reader.read();
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line) as WireCheck;
      if (done) return;
    }
  } finally {
    await reader.cancel();
  }
}
