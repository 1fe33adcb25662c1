/**
 * The cost of building, updating and querying an index (Q1–Q3), on generated source: 10 MB
 * for the runs, 100,000 chunks for the questions. Everything happens in temporary folders.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { lexicalEmbedder } from "../src/retrieval/lexical-embedding.ts";
import { openLocalRetriever } from "../src/retrieval/local/local-retriever.ts";
import type { IndexSummary, Retriever } from "../src/retrieval/retriever.ts";
import { sampleRepository, type SampleRepository } from "../src/retrieval/sample-repository.ts";
import { median, percentile, type BenchRow } from "./rows.ts";
import { Dice, syntheticTree } from "./synthetic-source.ts";

const megabyte = 1_000_000;
const sourceBytes = 10 * megabyte;
const chunksWanted = 100_000;
/** The size of a part, so large that two parts never become one chunk. */
const partBytes = 850;
/** The size of such a part with a name and a comment. */
const chunkBytes = 880;
const questionsAsked = 60;

interface Place {
  repository: SampleRepository;
  folder: string;
  retriever: Retriever;
  index(): Promise<IndexSummary>;
  remove(): Promise<void>;
}

async function place(bytes: number): Promise<Place> {
  const repository = sampleRepository();
  for (const [path, text] of syntheticTree(new Dice(1), { bytes, fileBytes: 10_000, partBytes })) {
    const file = join(repository.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  repository.git("add", "--all");
  const folder = mkdtempSync(join(tmpdir(), "aptove-bench-index-"));
  const retriever = await openLocalRetriever({ folder, embedder: lexicalEmbedder() });
  return {
    repository,
    folder,
    retriever,
    index: () => retriever.index({ root: repository.root, orgId: "org", repo: "bench" }),
    async remove() {
      await retriever.close();
      repository.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function benchIndex(): Promise<BenchRow[]> {
  const { index, remove, repository, folder } = await place(sourceBytes);
  try {
    const first = await index();
    const again = median([await index(), await index(), await index()].map(({ durationMs }) => durationMs));
    const [path] = repository.git("ls-files", "-z").split("\0");
    repository.write({ [path ?? ""]: "export function changed(): void {}\n" });
    const changed = await index();
    const note = `${first.filesTotal} files, ${first.chunksTotal} chunks`;
    return [
      { name: "index: 10 MB of source", value: first.durationMs / 1_000, unit: "s", limit: 8, note },
      { name: "index: again, nothing changed", value: again / 1_000, unit: "s", limit: 0.2 },
      { name: "index: again, one file changed", value: changed.durationMs / 1_000, unit: "s" },
      {
        name: "index: size beside 10 MB of source",
        value: statSync(join(folder, "index.db")).size / megabyte,
        unit: "MB",
      },
    ];
  } finally {
    await remove();
  }
}

export async function benchSearch(): Promise<BenchRow[]> {
  const { index, remove, folder } = await place(chunksWanted * chunkBytes);
  try {
    const { chunksTotal } = await index();
    const retriever = await openLocalRetriever({ folder, embedder: lexicalEmbedder() });
    const [first] = await ask(retriever, ["where is the cursor of a session moved?"], {});
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const times = await ask(retriever, questions(), {});
    delay.disable();
    const filtered = await ask(retriever, questions(), { language: "typescript", pathPrefixes: ["src/account"] });
    await retriever.close();
    const of = `of ${chunksTotal} chunks`;
    return [
      { name: `search: one ${of}, median`, value: median(times), unit: "ms", limit: 20 },
      { name: "search: 95th percentile", value: percentile(times, 95), unit: "ms" },
      { name: "search: with filters, median", value: median(filtered), unit: "ms" },
      { name: "search: the first of a process", value: first ?? 0, unit: "ms", note: "loads the vectors" },
      { name: "search: event loop held, 99th percentile", value: delay.percentile(99) / 1_000_000, unit: "ms" },
    ];
  } finally {
    await remove();
  }
}

/** Returns queries: sentences, names, and a few words, in turn. */
function questions(): string[] {
  const dice = new Dice(7);
  const forms = [
    () => `where is the ${dice.word()} of a ${dice.word()} ${dice.word()}, and what guards its ${dice.word()}?`,
    () => dice.name(),
    () => dice.words(3),
  ];
  return Array.from({ length: questionsAsked }, (_, at) => forms[at % forms.length]?.() ?? "");
}

async function ask(
  retriever: Retriever,
  texts: string[],
  filters: { language?: string; pathPrefixes?: string[] },
): Promise<number[]> {
  const times: number[] = [];
  for (const text of texts) {
    const start = performance.now();
    await retriever.search({ text, orgId: "org", repo: "bench", candidates: 24, ...filters });
    times.push(performance.now() - start);
  }
  return times;
}
