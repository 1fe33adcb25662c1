/** Indexes and the state of the server over HTTP and through the client (Q2, L1, U10). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { all } from "../../../../testing/engine.ts";
import { testDoor } from "../../../../testing/http-door.ts";
import { indexedRepository } from "../../../../testing/indexed-repository.ts";
import type { WireCheck, WireIndexRun } from "../../../client/client.ts";
import { localOrgId } from "../../../domain/caller.ts";
import { openWorkingCopy } from "../../../retrieval/current-files.ts";

test("[Q2] [U10] [H1] a run is started, read while it works, and stopped over the API; a folder that is gone is refused", async (t) => {
  const { repository, retriever, hold } = await indexedRepository(t, { orgId: localOrgId });
  const door = await testDoor(t, { retrievers: new Map([["local", retriever]]), workingCopy: openWorkingCopy });
  const member = await door.person("member");
  const { indexRuns } = door.client();
  const runWith = async (isWanted: (run: WireIndexRun) => boolean): Promise<WireIndexRun> => {
    for (;;) {
      const run = (await indexRuns.list()).find(isWanted);
      if (run !== undefined) return run;
      await nextRound();
    }
  };
  repository.write({ "b.ts": "export function farewell() {}\n" });
  const held = hold();
  await door.call("POST /api/indexes/runs", { json: { repo: "sample" } });
  await held.reached;
  const { runs } = (await (await door.call("GET /api/indexes/runs", { as: member })).json()) as {
    runs: WireIndexRun[];
  };
  assert.equal(runs[0]?.running?.phase, "chunking");
  assert.match(runs[0]?.running?.startedAt ?? "", /^\d{4}-.*Z$/);
  assert.equal(JSON.stringify(runs).includes(repository.root), false, "the folder stays on the server");
  await indexRuns.stop("sample");
  assert.equal((await runWith(({ failed }) => failed !== null)).failed?.code, "interrupted");
  held.go();
  await indexRuns.start({ repo: "sample", rebuild: true });
  assert.equal((await runWith(({ done }) => done?.filesTotal === 2)).running, null);
  await door.refused("forbidden", "POST /api/indexes/runs", { as: member, json: { repo: "sample" } });
  await door.refused("not_found", "POST /api/indexes/runs", { json: { repo: "other" } });
  await door.refused("not_found", "DELETE /api/indexes/runs?repo=sample");
  await door.refused("request_invalid", "POST /api/indexes/runs", { json: { repo: "sample", root: "/etc" } });
  repository.remove();
  await door.refused("repository_invalid", "POST /api/indexes/runs", { json: { repo: "sample" } });
});

test("[L1] [U10] what the server finds about itself is one answer, or one line a check as each is done", async (t) => {
  const answered = Promise.withResolvers<void>();
  const door = await testDoor(t, {
    inspections: async () => [
      {
        name: "blobs",
        look: async () => (await answered.promise, { state: "failed", detail: "no answer", fix: "wait" }),
      },
    ],
  });
  const first = new Map<string, string>();
  for await (const { name, state } of door.client().inspect()) {
    first.set(name, state);
    // The slow check does not hold the others.
    if (name === "turns" && state === "ok") {
      assert.equal(first.get("blobs"), "running");
      answered.resolve();
    }
  }
  assert.deepEqual(
    [...first],
    [
      ["blobs", "failed"],
      ["turns", "ok"],
    ],
  );
  const { checks } = (await (await door.call("GET /api/doctor")).json()) as { checks: WireCheck[] };
  assert.deepEqual(
    checks.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    [
      { name: "blobs", state: "failed", detail: "no answer", fix: "wait" },
      { name: "turns", state: "ok", detail: "0 running on this server", fix: null },
    ],
  );
  const member = await door.person("member");
  await door.refused("forbidden", "GET /api/doctor", { as: member });
  await assert.rejects(all(door.client({ key: member.key }).inspect()), { code: "forbidden" });
});
