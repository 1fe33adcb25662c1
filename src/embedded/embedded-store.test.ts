import assert from "node:assert/strict";
import fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import Database from "better-sqlite3";
import { blobStoreSuite } from "../blobs/blob-store.suite.ts";
import { recordPartSuites } from "../records/record-store.suite.ts";
import {
  completedSample,
  draftOf,
  openingOf,
  readSession,
  sampleRunnerId,
  startSession,
  turnFinishOf,
} from "../records/suite/samples.ts";
import { openEmbeddedStore, type EmbeddedStore } from "./embedded-store.ts";

async function openStore(context: TestContext): Promise<{ store: EmbeddedStore; file: string }> {
  const folder = await mkdtemp(join(tmpdir(), "aptove-embedded-"));
  context.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "data", "records.db");
  const store = await openEmbeddedStore({ file });
  context.after(() => store.records.close());
  return { store, file };
}

// The other parts do not know whether blobs are beside them, and are tested as records in SQLite.
suite("records beside blobs in SQLite", () => {
  for (const part of ["turns", "imports", "purges", "storage"] as const)
    recordPartSuites[part](async (context) => {
      const { store, file } = await openStore(context);
      return { store: store.records, reopen: async () => (await openEmbeddedStore({ file })).records };
    });
});

blobStoreSuite("blobs in SQLite", async (context) => {
  const { store, file } = await openStore(context);
  const again = await openEmbeddedStore({ file });
  context.after(() => again.records.close());
  return { store: store.blobs, reopen: () => again.blobs };
});

test("[B3] [K5] only the step before a tool does not wait for the disk, and the next write of the turn does", async (context) => {
  const { store } = await openStore(context);
  const session = await startSession(store.records);
  const syncs = context.mock.method(fs, "fdatasync");
  const opening = openingOf(draftOf(await readSession(store.records, session.id)));
  const blob = (name: string) => ({ key: `turns/${opening.turn.id}/${name}.json`, bytes: Buffer.from(name) });
  assert.equal((await store.turnStore.open(opening, [blob("opening")])).outcome, "opened");
  assert.equal(syncs.mock.callCount(), 1);
  const progress = { turnId: opening.turn.id, runnerId: sampleRunnerId, step: null };
  assert.equal(await store.turnStore.advance({ ...progress, survives: "power loss" }, [blob("request-2")]), true);
  assert.equal(syncs.mock.callCount(), 2);
  assert.equal(await store.turnStore.advance({ ...progress, survives: "the process" }, [blob("request-3")]), true);
  assert.equal(syncs.mock.callCount(), 2);
  assert.equal(await store.turnStore.advance({ ...progress, survives: "power loss" }, [blob("request-4")]), true);
  assert.equal(syncs.mock.callCount(), 3);
});

test("[K5] [K6] only the opening, which the end of the turn takes away, is stored without compression", async (context) => {
  const { store } = await openStore(context);
  const session = await startSession(store.records);
  const { turn, ...opening } = openingOf(draftOf(await readSession(store.records, session.id)));
  const blob = (name: string) => ({
    key: `turns/${turn.id}/${name}.json`,
    bytes: Buffer.from("the same words ".repeat(100)),
  });
  const blobs = { ...turn.blobs, opening: blob("opening").key };
  const opened = await store.turnStore.open({ ...opening, turn: { ...turn, blobs } }, [
    blob("opening"),
    blob("part-1"),
  ]);
  assert.equal(opened.outcome, "opened");
  const [plain = 0, packed = 0] = await Promise.all(
    ["opening", "part-1"].map((name) => store.blobs.size(blob(name).key)),
  );
  assert.ok((plain ?? 0) > 1_500 && (packed ?? 0) < 100, `${plain} and ${packed} bytes`);
});

test("[K5] every statement of a turn finds its rows by an index, although its values stand behind a plus", async (context) => {
  const { store, file } = await openStore(context);
  const session = await startSession(store.records);
  const prepared = context.mock.method(Database.prototype, "prepare");
  const runLimits = { orgId: session.orgId, perUser: 9, perOrg: 9 };
  const opening = openingOf(draftOf(await readSession(store.records, session.id)), { runLimits });
  const opened = await store.turnStore.open(opening, []);
  assert.ok(opened.outcome === "opened");
  const finish = turnFinishOf(completedSample(opened.turn));
  await store.turnStore.finish(finish, { put: [], drop: [], history: null });
  const texts = prepared.mock.calls.map(({ arguments: [text] }) => text).filter((text) => text.includes("+?"));
  prepared.mock.restore();
  assert.ok(texts.length > 5, `${texts.length} statements`);
  const database = new Database(file, { readonly: true });
  context.after(() => database.close());
  const planOf = (text: string): string[] => {
    const plan = database.prepare<unknown[], { detail: string }>(`explain query plan ${text}`);
    return plan.all(...Array.from(text.matchAll(/\?/g), () => null)).map(({ detail }) => detail);
  };
  // Controls live for moments, so a few rows are all that there are. A condition without a table is one constant row.
  for (const text of texts)
    assert.deepEqual(
      planOf(text).filter((detail) => /^SCAN (?!controls|CONSTANT ROW|.*USING)/.test(detail)),
      [],
      text,
    );
});

test("[R5] other turns may run between the parts of the end of a turn, as long as nothing of it is written", async (context) => {
  const { store } = await openStore(context);
  const session = await startSession(store.records);
  const opening = openingOf(draftOf(await readSession(store.records, session.id)));
  const opened = await store.turnStore.open(opening, []);
  assert.ok(opened.outcome === "opened");
  const { id } = opening.turn;
  const put = [{ key: `turns/${id}/run.json`, bytes: Buffer.from("{}") }];
  const seen: (string | undefined)[] = [];
  const mayGoOn = async (): Promise<void> => void seen.push((await store.records.turns.get(id))?.status);
  const finish = turnFinishOf(completedSample(opened.turn));
  const finished = await store.turnStore.finish(finish, { put, drop: [], history: null }, mayGoOn);
  assert.equal(finished.outcome, "finished");
  assert.deepEqual(seen, ["pending", "pending"]);
  assert.equal((await store.records.turns.get(id))?.status, "completed");
});

test("[B1] [K5] an opening that is refused leaves no blob, and one that is stored has its blobs", async (context) => {
  const { store } = await openStore(context);
  const session = await startSession(store.records);
  const draft = draftOf(await readSession(store.records, session.id));
  const first = openingOf(draft);
  const second = openingOf({ ...draft, id: session.id });
  const blob = (name: string) => ({ key: `turns/${first.turn.id}/${name}.json`, bytes: Buffer.from(name) });
  assert.equal((await store.turnStore.open(first, [blob("opening")])).outcome, "opened");
  assert.notEqual((await store.turnStore.open(second, [blob("opening-2")])).outcome, "opened");
  assert.deepEqual(await store.blobs.list("turns/"), [blob("opening").key]);
});
