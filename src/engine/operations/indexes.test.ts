/** Runs of an index that an admin starts, watches and stops (Q2, U10). */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { alice, testEngine } from "../../../testing/engine.ts";
import { indexedRepository } from "../../../testing/indexed-repository.ts";
import { localOrgId } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { openWorkingCopy } from "../../retrieval/current-files.ts";
import type { RepositoryRuns } from "../../retrieval/index-runs.ts";
import type { Retriever } from "../../retrieval/retriever.ts";

async function world(t: Parameters<typeof testEngine>[0]) {
  const indexed = await indexedRepository(t, { orgId: localOrgId });
  const retrievers = new Map([["local", indexed.retriever]]);
  const tested = await testEngine(t, { retrievers, workingCopy: openWorkingCopy });
  const state = async () => (await tested.engine.indexes.runs(alice))[0] ?? assert.fail("no run is known");
  /** Waits until the runs of the repository are as wanted. */
  const stateWith = async (isWanted: (state: RepositoryRuns) => boolean): Promise<RepositoryRuns> => {
    for (;;) {
      const now = await state();
      if (isWanted(now)) return now;
      await nextRound();
    }
  };
  return { ...indexed, ...tested, state, stateWith };
}

const isRefused = (code: string, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AptoveError);
  assert.equal(error.code, code);
  assert.match(error.detail, words);
  return true;
};

test("[U10] [Q2] an admin starts a run and stops it; the former index stays, and the audit log names both", async (t) => {
  const { engine, repository, hold, state, stateWith, reports } = await world(t);
  repository.write({ "b.ts": "export function farewell() {}\n" });
  const held = hold();
  await engine.indexes.start(alice, { repo: "sample" });
  await held.reached;
  assert.equal((await state()).running?.phase, "chunking");
  // A second start joins the run.
  await engine.indexes.start(alice, { repo: "sample" });
  await engine.indexes.stop(alice, "sample");
  const stopped = await stateWith(({ failed }) => failed !== null);
  assert.equal(stopped.failed?.message, "an admin stopped the run; the former index is unchanged");
  assert.equal((await engine.indexes.list(alice))[0]?.files, 1);
  held.go();
  await engine.indexes.start(alice, { repo: "sample", rebuild: true });
  const rebuilt = await stateWith(({ done }) => done?.filesTotal === 2);
  assert.equal(rebuilt.done?.chunksWritten, 2, "a rebuild writes every chunk again");
  const { entries } = await engine.audit.list(alice, {});
  const written = entries.map(({ action, facts, outcome }) => `${action} ${String(facts["repo"])} ${outcome}`);
  const [start, stop] = ["index.start sample done", "index.stop sample done"];
  assert.deepEqual(written.toSorted(), [start, start, start, stop]);
  assert.deepEqual(reports, []);
});

test("[U10] [H4] who does not run the server may neither start nor stop a run", async (t) => {
  const { engine } = await world(t);
  const others = [
    { ...alice, role: "member" as const },
    { ...alice, role: "reader" as const },
    { ...alice, deviceId: "phone" },
    { ...alice, orgId: newId() },
  ];
  for (const caller of others) {
    await assert.rejects(engine.indexes.start(caller, { repo: "sample" }), isRefused("forbidden", /may/));
    await assert.rejects(engine.indexes.stop(caller, "sample"), isRefused("forbidden", /may/));
  }
  assert.deepEqual(await engine.indexes.runs({ ...alice, orgId: newId() }), []);
});

test("[U10] [Q2] what cannot be indexed from here is refused with the reason: unknown, folder deleted, shared index", async (t) => {
  const { engine, repository, retriever, state } = await world(t);
  await assert.rejects(engine.indexes.start(alice, { repo: "other" }), isRefused("not_found", /aptove index/));
  await assert.rejects(engine.indexes.stop(alice, "sample"), isRefused("not_found", /not being indexed/));
  const before = await state();
  repository.remove();
  await assert.rejects(engine.indexes.start(alice, { repo: "sample" }), isRefused("repository_invalid", /gone/));
  assert.deepEqual(await state(), before);
  const { refresh: _refresh, ...shared } = bound(retriever);
  const team = await testEngine(t, { retrievers: new Map([["local", shared]]), workingCopy: openWorkingCopy });
  const refusal = isRefused("repository_invalid", /shared.*no working copy.*aptove index --commit/);
  await assert.rejects(team.engine.indexes.start(alice, { repo: "sample" }), refusal);
});

test("[U10] [Q2] a run that fails is known with its reason, and is reported to the operator", async (t) => {
  const { engine, repository, reports, stateWith } = await world(t);
  // The folder is there, and is no repository any more.
  rmSync(join(repository.root, ".git"), { recursive: true });
  await engine.indexes.start(alice, { repo: "sample" });
  const { failed } = await stateWith((one) => one.failed !== null);
  assert.equal(failed?.code, "repository_invalid");
  assert.equal((await engine.indexes.list(alice))[0]?.files, 1);
  assert.deepEqual(reports, ["sample could not be indexed"]);
});

function bound(retriever: Retriever): Required<Retriever> {
  const methods = ["search", "generation", "index", "refresh", "list", "runs", "paths", "close"] as const;
  return Object.fromEntries(
    methods.map((name) => [name, (...args: never[]) => (retriever[name] as (...all: never[]) => unknown)(...args)]),
  ) as unknown as Required<Retriever>;
}
