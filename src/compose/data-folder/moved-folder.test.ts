/** A data folder that is moved, deleted or replaced while an engine has it open. Nothing is acknowledged that would be lost. */
import assert from "node:assert/strict";
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { hasCode, rejectionOf } from "../../../testing/refusals.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { createAptove } from "../../compose.ts";
import { limits } from "../../domain/limits.ts";
import { scriptedProvider, type Script } from "../../providers/scripted/scripted.ts";

interface Opening {
  script?: Script;
  store?: "database" | "files";
}

/** Opens an engine on a folder that can be moved to `away`. The test closes it. */
async function openMovable(t: TestContext, { script = () => "an answer", store = "database" }: Opening = {}) {
  const parent = await temporaryFolder(t);
  const dir = join(parent, "data");
  const reports: string[] = [];
  const time = { now: Date.now() };
  const provider = scriptedProvider({ name: "mine", script });
  const { engine } = await createAptove({
    dataDir: dir,
    env: {},
    providers: [provider],
    overrides: { provider: "mine", blobs: { store } },
    now: () => time.now,
    report: (message) => void reports.push(message),
  });
  const owner = await engine.keys.owner();
  const ask = async (instruction: string) => await (await engine.turns.run(owner, { instruction })).finished;
  return { engine, provider, owner, ask, dir, away: join(parent, "away"), reports, time };
}

const isGone = /the folder .*data, or the file, was moved or deleted .*so nothing more is stored$/;

test("[B3] no turn is accepted while the data folder is away, and turns go on when it is back", async (t) => {
  const { engine, owner, ask, dir, away } = await openMovable(t);
  const before = await ask("before");
  assert.equal(before.status, "completed");
  renameSync(dir, away);
  await assert.rejects(ask("lost"), hasCode("records_moved", isGone));
  assert.equal((await engine.turns.get(owner, before.id)).status, "completed");
  assert.ok(!existsSync(dir), "nothing makes the folder again, so it can be put back");
  renameSync(away, dir);
  assert.equal((await ask("after")).status, "completed");
  const { sessions } = await engine.sessions.list(owner, {});
  assert.deepEqual(sessions.map(({ name }) => name).toSorted(), ["after", "before"]);
  await engine.close();
});

test("[H2] a server whose data folder is away is not ready, as soon as it is asked, and is ready when it is back", async (t) => {
  const { engine, dir, away, time } = await openMovable(t);
  const records = async (): Promise<string> => {
    time.now += limits.healthKeptMs;
    return (await engine.health()).records;
  };
  assert.equal(await records(), "ok");
  renameSync(dir, away);
  assert.equal(await records(), "failed");
  renameSync(away, dir);
  assert.equal(await records(), "ok");
  await engine.close();
});

test("[T11] [R4] a turn whose data folder vanishes while it runs ends as failed for its client, and the engine closes", async (t) => {
  const held = Promise.withResolvers<void>();
  const { engine, owner, dir, reports } = await openMovable(t, {
    script: () => [{ says: ["half ", held.promise, "an answer"] }],
  });
  const { events, finished } = await engine.turns.run(owner, { instruction: "x" });
  const types: string[] = [];
  const following = (async () => {
    for await (const { event } of events()) types.push(event.type);
  })();
  const rejected = rejectionOf(following);
  rmSync(dir, { recursive: true });
  held.resolve();
  const turn = await finished;
  assert.equal(turn.status === "failed" && turn.failures[0].code, "records_moved");
  assert.equal((await rejected).code, "records_moved");
  assert.ok(!types.includes("run_finished"), types.join());
  assert.ok(reports.some((message) => message.includes(`turn ${turn.id} could not be stored`)));
  await engine.close();
});

test("[T11] [R2] a turn whose data folder was away at its end is recovered when the folder is back, and keeps its text", async (t) => {
  const held = Promise.withResolvers<void>();
  const { engine, provider, owner, ask, dir, away } = await openMovable(t, {
    script: (_request, n) => (n === 1 ? [{ says: ["half ", held.promise, "an answer"] }] : "next"),
  });
  const { turnId, sessionId, finished } = await engine.turns.run(owner, { instruction: "x" });
  renameSync(dir, away);
  held.resolve();
  assert.equal((await finished).status, "failed");
  renameSync(away, dir);
  assert.equal((await ask("another session")).status, "completed");
  const next = await engine.turns.run(owner, { instruction: "y", sessionId });
  assert.equal((await next.finished).status, "completed");
  const turn = await engine.turns.get(owner, turnId);
  assert.equal(turn.status === "failed" && turn.failures[0].code, "records_moved");
  assert.match(JSON.stringify(provider.exchanges.at(-1)?.request.body), /half an answer/);
  await engine.close();
});

test("[B3] [B4] an engine whose data folder was replaced by that of another one refuses turns, and the other one goes on", async (t) => {
  const former = await openMovable(t);
  await former.ask("before");
  renameSync(former.dir, former.away);
  const { engine } = await createAptove({ dataDir: former.dir, env: {} });
  const owner = await engine.keys.owner();
  const run = await engine.turns.run(owner, { instruction: "in the new folder" });
  assert.equal((await run.finished).status, "completed");
  await assert.rejects(former.ask("lost"), hasCode("records_moved", /another file than the one that is open/));
  await former.engine.close();
  const { sessions } = await engine.sessions.list(owner, {});
  assert.deepEqual(
    sessions.map(({ name }) => name),
    ["in the new folder"],
  );
  await engine.close();
});

for (const store of ["database", "files"] as const) {
  test(`[R4] an engine closes without a fault after its data folder was deleted: ${store}`, async (t) => {
    const { engine, ask, dir, reports } = await openMovable(t, { store });
    await ask("before");
    rmSync(dir, { recursive: true });
    await engine.close();
    assert.deepEqual(reports, []);
    assert.ok(!existsSync(dir));
  });

  test(`[B3] no turn is accepted after the data folder was deleted, and the folder is not made again: ${store}`, async (t) => {
    const { engine, ask, dir } = await openMovable(t, { store });
    await ask("before");
    rmSync(dir, { recursive: true });
    const { code, detail } = await rejectionOf(ask("lost"));
    assert.equal(code, store === "database" ? "records_moved" : "storage_failed");
    assert.match(detail, /moved or deleted while it was in use, so nothing more is stored/);
    assert.ok(!existsSync(dir));
    await engine.close();
  });
}

test("[B1] [B3] while the folder of the blobs alone is away no turn is accepted, and turns go on when it is back", async (t) => {
  const { engine, ask, dir, away } = await openMovable(t, { store: "files" });
  await ask("before");
  renameSync(join(dir, "blobs"), away);
  await assert.rejects(
    ask("lost"),
    hasCode("storage_failed", /the folder .*blobs, or a folder in it, was moved or deleted/),
  );
  assert.ok(!existsSync(join(dir, "blobs")));
  renameSync(away, join(dir, "blobs"));
  assert.equal((await ask("after")).status, "completed");
  await engine.close();
});

test("[K4] nothing is collected as garbage from blobs that another process put in the place of the former ones", async (t) => {
  const former = await openMovable(t, { store: "files" });
  await former.ask("before");
  renameSync(former.dir, former.away);
  const { engine } = await createAptove({ dataDir: former.dir, env: {}, overrides: { blobs: { store: "files" } } });
  const owner = await engine.keys.owner();
  const { finished } = await engine.turns.run(owner, { instruction: "in the new folder" });
  const { id } = await finished;
  former.time.now += 2 * limits.garbageAgeMs;
  const collecting = former.engine.tree.collectGarbage(former.owner, { dryRun: false, isMostExpected: true });
  await assert.rejects(collecting, hasCode("records_moved"));
  const read = await engine.turns.read(owner, id);
  assert.equal(await read.instruction(), "in the new folder");
  await former.engine.close();
  await engine.close();
});
