import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import Database from "better-sqlite3";
import { childPath } from "../../../testing/children/path.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { lexicalEmbedder } from "../lexical-embedding.ts";
import type { Retriever } from "../retriever.ts";
import { sampleRepository, type SampleRepository } from "../sample-repository.ts";
import { openLocalRetriever } from "./local-retriever.ts";

const halfway = childPath("index-halfway.ts");

interface TestIndex {
  folder: string;
  file: string;
  repository: SampleRepository;
  job: { root: string; orgId: string; repo: string };
  open(): Promise<Retriever>;
}

async function setUpIndex(context: TestContext, files: Record<string, string>): Promise<TestIndex> {
  const folder = join(await temporaryFolder(context), "index");
  const repository = sampleRepository(files);
  const opened: Retriever[] = [];
  context.after(async () => {
    await Promise.all(opened.map((retriever) => retriever.close()));
    repository.remove();
  });
  return {
    folder,
    file: join(folder, "index.db"),
    repository,
    job: { root: repository.root, orgId: "org", repo: "sample" },
    async open() {
      const retriever = await openLocalRetriever({ folder, embedder: lexicalEmbedder() });
      opened.push(retriever);
      return retriever;
    },
  };
}

const question = { text: "lighthouse", orgId: "org", repo: "sample", candidates: 3 };

test("[B6] the folder is 0700 and every file in it 0600", async (context) => {
  const { folder, job, open } = await setUpIndex(context, { "a.md": "A lighthouse.\n" });
  const retriever = await open();
  assert.deepEqual(await retriever.list("org"), []);
  await retriever.index(job);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  const names = readdirSync(folder).toSorted();
  // The folder of the notes is private too, as run-notes.test.ts shows.
  assert.deepEqual(names, ["index.db", "index.db-shm", "index.db-wal", "runs"]);
  for (const name of names.filter((one) => one !== "runs"))
    assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
});

test("[Q2] [B4] a run that is killed leaves the former index unchanged, and does not block the next run", async (context) => {
  const { folder, job, repository, open } = await setUpIndex(context, { "a.md": "A lighthouse.\n" });
  const retriever = await open();
  await retriever.index(job);
  const before = await retriever.search(question);
  repository.write({ "a.md": null, "b.md": "Another lighthouse.\n" });
  const child = spawn(process.execPath, [halfway, folder, job.root, job.repo], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  assert.deepEqual(await retriever.search(question), before, "while the other process writes");
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.deepEqual(await (await open()).search(question), before);
  assert.deepEqual(await retriever.search(question), before);
  await retriever.index(job);
  assert.deepEqual(
    (await retriever.search(question)).map(({ path }) => path),
    ["b.md"],
  );
});

test("[B4] two runs at once wait for each other, and a search waits for none", async (context) => {
  const { job, open } = await setUpIndex(context, { "a.md": "A lighthouse.\n" });
  const [one, two] = [await open(), await open()];
  const [first, second] = await Promise.all([one.index(job), two.index(job)]);
  assert.deepEqual([first.chunksWritten, second.chunksWritten].toSorted(), [0, 1]);
  assert.equal((await one.search(question)).length, 1);
});

test("[B4] a run that waits for another process can be aborted", async (context) => {
  const { file, job, open } = await setUpIndex(context, { "a.md": "A lighthouse.\n" });
  const retriever = await open();
  await retriever.index(job);
  const other = new Database(file);
  other.exec("BEGIN IMMEDIATE");
  const abort = new AbortController();
  const waiting = assert.rejects(retriever.index({ ...job, signal: abort.signal }), /enough/);
  assert.equal((await retriever.search(question)).length, 1);
  abort.abort(new Error("enough"));
  await waiting;
  other.close();
  assert.equal((await retriever.index(job)).filesChanged, 0);
});

test("[Q2] closing ends a waiting run, and discards an unfinished one", async (context) => {
  const { folder, job, open } = await setUpIndex(context, { "a.md": "A lighthouse.\n" });
  const { model, dimension } = lexicalEmbedder();
  const started = Promise.withResolvers<void>();
  const embed = (_texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
      started.resolve();
    });
  const slow = await openLocalRetriever({ folder, embedder: { model, dimension, embed } });
  const run = assert.rejects(slow.index(job), hasCode("shutting_down", /closed/));
  await started.promise;
  await slow.close();
  await run;
  await assert.rejects((await open()).search(question), hasCode("index_missing", /not indexed/));
});

test("[B2] [Q2] an index of format 1 is brought to this format by the next question, without the working copy", async (context) => {
  const { file, job, open } = await setUpIndex(context, { "a.md": "A lighthouse.\n", "b.md": "A lantern.\n" });
  const retriever = await open();
  await retriever.index(job);
  const before = await retriever.search(question);
  const listed = await retriever.list("org");
  const database = new Database(file);
  database.exec(`DROP TABLE postings; DROP TABLE segments; ALTER TABLE chunks DROP COLUMN terms;
    CREATE VIRTUAL TABLE terms_1 USING fts5(path, symbol, body, content = '', contentless_delete = 1, tokenize = 'ascii');
    CREATE VIRTUAL TABLE vocabulary_1 USING fts5vocab('terms_1', 'row');
    PRAGMA user_version = 1`);
  database.close();
  const later = await open();
  assert.deepEqual(await later.search(question), before);
  assert.deepEqual(await later.list("org"), listed);
  assert.equal((await later.index(job)).filesChanged, 0);
});

test("[Q5] a damaged index is an error that names the file and the fix, never an empty result", async (context) => {
  const { folder, file, job, open } = await setUpIndex(context, { "a.md": "A lighthouse.\n".repeat(2_000) });
  const retriever = await open();
  await retriever.index(job);
  await retriever.close();
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0xa5, 4_096));
  const damaged = hasCode("retrieval_failed", /index\.db is damaged.*delete it and run `aptove index`/);
  await assert.rejects((await open()).search(question), damaged);
  writeFileSync(file, "This is no database, but it is long enough to be taken for one. ".repeat(20));
  await assert.rejects(
    openLocalRetriever({ folder, embedder: lexicalEmbedder() }),
    hasCode("storage_failed", /damaged/),
  );
});

test("[Q2] a file that changes again within the tick of its clock is detected", async (context) => {
  const { job, repository, open } = await setUpIndex(context, { "a.md": "A lighthouse.\n" });
  const retriever = await open();
  await retriever.index(job);
  // The size stays the same. The times may be the same too, if the file system's clock ticks slowly.
  writeFileSync(join(repository.root, "a.md"), "Two lanterns..\n");
  assert.equal((await retriever.index(job)).filesChanged, 1);
});

test("[Q1] the tables contain no workspace", async (context) => {
  const { file, job, open } = await setUpIndex(context, { "a.md": "A lighthouse.\n" });
  await (await open()).index(job);
  const database = new Database(file, { readonly: true });
  const schema = database.prepare<[], string>("SELECT group_concat(sql) FROM sqlite_schema").pluck().get();
  database.close();
  assert.doesNotMatch(schema ?? "", /workspace/i);
});
