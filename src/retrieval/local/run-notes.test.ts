/** The notes of index runs: what is being indexed, by which process, and how the last runs ended (Q2). */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { indexedRepository } from "../../../testing/indexed-repository.ts";
import { lexicalEmbedder } from "../lexical-embedding.ts";
import { openLocalRetriever } from "./local-retriever.ts";
import type { RepositoryRuns } from "../index-runs.ts";
import type { Retriever } from "../retriever.ts";

const halfway = fileURLToPath(new URL("../../../testing/children/index-halfway.ts", import.meta.url));

async function runOf(retriever: Retriever): Promise<RepositoryRuns> {
  const runs = (await retriever.runs?.("org")) ?? [];
  return runs[0] ?? assert.fail("no run is known");
}

test("[Q2] a run says how far it is while it works, and afterwards what it did and skipped, by reason", async (t) => {
  const { repository, retriever, hold } = await indexedRepository(t);
  const binary = new Uint8Array([0, 1, 2, 0]);
  repository.write({
    "b.ts": "export function farewell() {}\n",
    "one.bin": binary,
    "two.bin": binary,
    "package-lock.json": "{}",
  });
  const held = hold();
  const run = retriever.index({ root: repository.root, orgId: "org", repo: "sample" });
  await held.reached;
  const { running } = await runOf(retriever);
  const { startedAt, ...now } = running ?? assert.fail("it runs");
  assert.ok(Math.abs(Date.now() - startedAt) < 60_000);
  assert.deepEqual(now, {
    phase: "chunking",
    ...{ filesDone: 3, filesTotal: 4, bytesDone: 61, chunksWritten: 0 },
    ...{ pid: process.pid, isHere: true, isRefresh: false },
  });
  assert.deepEqual(await retriever.runs?.("another org"), []);
  held.go();
  await run;
  const after = await runOf(retriever);
  assert.equal(after.running, null);
  assert.equal(after.failed, null);
  const { done } = after;
  assert.deepEqual([done?.filesChanged, done?.chunksTotal, done?.isRefresh], [1, 2, false]);
  assert.deepEqual(done?.skipped, [
    { reason: "binary", count: 2, paths: ["one.bin", "two.bin"] },
    { reason: "lock_file", count: 1, paths: ["package-lock.json"] },
  ]);
});

test("[Q2] a run that was stopped is noted as such, and the end of the one before it stays known", async (t) => {
  const { repository, retriever, hold } = await indexedRepository(t);
  const before = await runOf(retriever);
  repository.write({ "b.ts": "export function farewell() {}\n" });
  const stop = new AbortController();
  const held = hold();
  const run = retriever.index({ root: repository.root, orgId: "org", repo: "sample", signal: stop.signal });
  await held.reached;
  stop.abort();
  await assert.rejects(run, { name: "AbortError" });
  const { running, done, failed } = await runOf(retriever);
  assert.deepEqual([running, done], [null, before.done]);
  assert.deepEqual(
    [failed?.code, failed?.message],
    ["interrupted", "the run was stopped; the former index is unchanged"],
  );
  assert.deepEqual(
    (await retriever.list("org")).map(({ files }) => files),
    [1],
  );
});

test("[Q2] [B4] the run of another process is seen with its id, and if it is killed, it counts as ended", async (t) => {
  const { repository, folder, retriever } = await indexedRepository(t);
  repository.write({ "b.md": "A lighthouse.\n" });
  const child = spawn(process.execPath, [halfway, folder, repository.root, "sample"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  const { running } = await runOf(retriever);
  assert.deepEqual([running?.pid, running?.isHere, running?.phase], [child.pid, false, "chunking"]);
  child.kill("SIGKILL");
  await once(child, "exit");
  const after = await runOf(retriever);
  assert.equal(after.running, null);
  assert.equal(after.failed?.code, "interrupted");
  assert.match(after.failed?.message ?? "", new RegExp(`the process ${child.pid} ended before the run was complete`));
  await retriever.index({ root: repository.root, orgId: "org", repo: "sample" });
  assert.equal((await runOf(retriever)).done?.filesTotal, 2);
});

test("[Q2] a run that waits for another repository's says so", async (t) => {
  const { repository, retriever, hold } = await indexedRepository(t);
  repository.write({ "b.ts": "export function farewell() {}\n" });
  const held = hold();
  const first = retriever.index({ root: repository.root, orgId: "org", repo: "sample" });
  await held.reached;
  const second = retriever.index({ root: repository.root, orgId: "org", repo: "second" });
  const phases = async (): Promise<unknown[]> =>
    ((await retriever.runs?.("org")) ?? []).map(({ repo, running }) => [repo, running?.phase]);
  assert.deepEqual(await phases(), [
    ["sample", "chunking"],
    ["second", "waiting"],
  ]);
  held.go();
  await Promise.all([first, second]);
  assert.deepEqual(await phases(), [
    ["sample", undefined],
    ["second", undefined],
  ]);
});

test("[Q2] a question that changes nothing leaves no note, and one that brings the index up to date does", async (t) => {
  const { repository, retriever } = await indexedRepository(t);
  const before = await runOf(retriever);
  const copy = { root: repository.root, orgId: "org", repo: "sample" };
  assert.equal(await retriever.refresh?.(copy), "current");
  assert.deepEqual(await runOf(retriever), before);
  repository.write({ "b.ts": "export function farewell() {}\n" });
  assert.equal(await retriever.refresh?.(copy), "current");
  const { done } = await runOf(retriever);
  assert.deepEqual([done?.isRefresh, done?.filesChanged], [true, 1]);
});

test("[Q2] [B6] notes are private, and a damaged one is as none", async (t) => {
  const { folder, repository } = await indexedRepository(t);
  const [name = assert.fail("there is no note")] = await readdir(join(folder, "runs"));
  const path = join(folder, "runs", name);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(folder, "runs")).mode & 0o777, 0o700);
  writeFileSync(path, '{"repo":');
  const other = await openLocalRetriever({ folder, embedder: lexicalEmbedder() });
  t.after(() => other.close());
  assert.deepEqual(await other.runs?.("org"), []);
  await other.index({ root: repository.root, orgId: "org", repo: "sample" });
  assert.equal((await runOf(other)).done?.filesTotal, 1);
});
