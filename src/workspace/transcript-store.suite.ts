/**
 * The tests that every transcript store must pass. Run them on your own driver to check that it keeps the contract (B5).
 */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { AptoveError } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import {
  asideTranscriptName,
  currentTranscriptName,
  keptTranscriptName,
  transcriptNotesName,
  type TranscriptStore,
} from "./transcript-store.ts";

const storageFailed = { name: "AptoveError", code: "storage_failed" };
const workspaceInvalid = { name: "AptoveError", code: "workspace_invalid" };
const workspaceUnknown = { name: "AptoveError", code: "workspace_unknown" };

export interface OpenTranscripts {
  store: TranscriptStore;
  /** Opens the same transcripts as a second store, as another process does. Null if they exist only in this process. */
  reopen: (() => TranscriptStore) | null;
  /** The ids of two workspaces without transcripts. */
  workspaceIds: [string, string];
  /** The id of a workspace that does not exist. Null if every workspace exists. */
  missingId: string | null;
}
/** Opens a store for one test, and registers its clean-up with `context.after`. */
export type OpenTranscriptsForTest = (context: TestContext) => OpenTranscripts | Promise<OpenTranscripts>;

/** Registers the tests under a name. */
export function transcriptStoreSuite(name: string, open: OpenTranscriptsForTest): void {
  suite(name, () => {
    bytesTests(open);
    stampTests(open);
    nameTests(open);
    workspaceTests(open);
    lockTests(open);
  });
}

const sessionId = "0198c2a7-1111-7000-8000-000000000001";
const names = [
  currentTranscriptName,
  transcriptNotesName,
  asideTranscriptName(sessionId),
  keptTranscriptName(currentTranscriptName, { at: 0, because: "edited", number: 2 }),
];

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function textOf(store: TranscriptStore, workspaceId: string, name: string): Promise<string | null> {
  const content = (await store.read(workspaceId, name))?.content ?? null;
  return content === null ? null : new TextDecoder().decode(content);
}

function bytesTests(open: OpenTranscriptsForTest): void {
  test("[W4] read returns exactly the written and appended bytes, for every name", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    for (const name of names) {
      assert.equal(await store.stat(id, name), null);
      assert.equal(await store.read(id, name), null);
      const first = await store.write(id, name, { content: everyByte });
      assert.equal(first?.bytes, 256);
      const second = await store.append(id, name, { stamp: first.stamp, content: everyByte });
      assert.equal(second?.bytes, 512);
      const read = await store.read(id, name);
      assert.deepEqual(read, { ...second, content: read?.content });
      assert.deepEqual(new Uint8Array(read?.content ?? []), Uint8Array.from([...everyByte, ...everyByte]));
      assert.deepEqual(await store.stat(id, name), second);
    }
  });

  test("[W4] write replaces the whole file", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id, other] = workspaceIds;
    await store.write(id, currentTranscriptName, { content: bytesOf("a long text that was there") });
    await store.write(other, currentTranscriptName, { content: bytesOf("another workspace's") });
    await store.write(id, currentTranscriptName, { content: bytesOf("short") });
    assert.equal(await textOf(store, id, currentTranscriptName), "short");
    assert.equal(await textOf(store, other, currentTranscriptName), "another workspace's");
  });

  test("[W4] a change counts for every store at once, and sync keeps it however it was made", async (context) => {
    const { store, reopen, workspaceIds } = await open(context);
    const [id, other] = workspaceIds;
    const aside = asideTranscriptName(sessionId);
    const kept = keptTranscriptName(aside, { at: 0, because: "edited", number: 1 });
    await store.sync(id);
    const { stamp } = (await store.write(id, aside, { content: bytesOf("one") })) ?? assert.fail();
    await store.append(id, aside, { stamp, content: bytesOf(" two") });
    await store.move(id, aside, kept);
    await store.write(id, currentTranscriptName, { content: bytesOf("gone") });
    await store.remove(id, currentTranscriptName);
    const elsewhere = reopen?.() ?? store;
    assert.equal(await textOf(elsewhere, id, kept), "one two");
    await Promise.all([store.sync(id), store.sync(id), store.sync(other)]);
    assert.equal(await textOf(elsewhere, id, kept), "one two");
    assert.equal(await elsewhere.stat(id, currentTranscriptName), null);
  });

  test("[W4] move renames a file and never replaces one", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    const aside = asideTranscriptName(sessionId);
    await store.write(id, currentTranscriptName, { content: bytesOf("one") });
    const moved = await store.move(id, currentTranscriptName, aside);
    assert.deepEqual(await store.stat(id, aside), moved);
    assert.equal(await store.stat(id, currentTranscriptName), null);
    await store.write(id, currentTranscriptName, { content: bytesOf("two") });
    await assert.rejects(store.move(id, currentTranscriptName, aside), storageFailed);
    await store.remove(id, aside);
    await assert.rejects(store.move(id, aside, keptTranscriptName(aside, { at: 0, because: "edited", number: 1 })));
    assert.equal(await textOf(store, id, currentTranscriptName), "two");
    assert.equal(await store.stat(id, aside), null);
  });

  test("[W6] remove deletes one file, removeAll all files of the workspace and none of another", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id, other] = workspaceIds;
    for (const name of names) {
      await store.write(id, name, { content: bytesOf(name) });
      await store.write(other, name, { content: bytesOf(name) });
    }
    await store.remove(id, currentTranscriptName);
    await store.remove(id, currentTranscriptName);
    assert.equal(await store.stat(id, currentTranscriptName), null);
    assert.equal(await textOf(store, id, transcriptNotesName), transcriptNotesName);
    await store.removeAll(id);
    await store.removeAll(id);
    for (const name of names) {
      assert.equal(await store.stat(id, name), null);
      assert.equal(await textOf(store, other, name), name);
    }
  });

  test("[W5] a file over the limit is returned with its size but not read", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    const bytes = limits.transcriptBytesMax;
    const whole = await store.write(id, currentTranscriptName, { content: new Uint8Array(bytes) });
    assert.equal((await store.read(id, currentTranscriptName))?.content?.length, bytes);
    const larger = await store.append(id, currentTranscriptName, { stamp: whole?.stamp ?? "", content: bytesOf("x") });
    assert.deepEqual(await store.read(id, currentTranscriptName), { ...larger, bytes: bytes + 1, content: null });
  });
}

function stampTests(open: OpenTranscriptsForTest): void {
  test("[W5] a stamp changes with every change of a file, even with the same size", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    const stamps = new Set<string | undefined>();
    stamps.add((await store.write(id, currentTranscriptName, { content: bytesOf("one") }))?.stamp);
    stamps.add((await store.write(id, currentTranscriptName, { content: bytesOf("two") }))?.stamp);
    stamps.add((await store.write(id, currentTranscriptName, { content: bytesOf("two") }))?.stamp);
    const stamp = (await store.stat(id, currentTranscriptName))?.stamp ?? "";
    assert.ok(stamps.has(stamp));
    stamps.add((await store.append(id, currentTranscriptName, { stamp, content: bytesOf("3") }))?.stamp);
    assert.equal(stamps.size, 4);
    assert.ok(!stamps.has(undefined));
  });

  test("[W5] a write with an old stamp writes nothing", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    const before = await store.write(id, currentTranscriptName, { content: bytesOf("before") });
    const stamp = before?.stamp ?? "";
    await store.write(id, currentTranscriptName, { content: bytesOf("a person's") });
    assert.equal(await store.append(id, currentTranscriptName, { stamp, content: bytesOf("ours") }), null);
    assert.equal(await store.write(id, currentTranscriptName, { stamp, content: bytesOf("ours") }), null);
    assert.equal(await textOf(store, id, currentTranscriptName), "a person's");
    await store.remove(id, currentTranscriptName);
    assert.equal(await store.append(id, currentTranscriptName, { stamp, content: bytesOf("ours") }), null);
    assert.equal(await store.write(id, currentTranscriptName, { stamp, content: bytesOf("ours") }), null);
    assert.equal(await store.stat(id, currentTranscriptName), null);
  });

  test("[W5] a write without a former file writes nothing if there is one", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    assert.ok((await store.write(id, currentTranscriptName, { stamp: null, content: bytesOf("first") })) !== null);
    assert.equal(await store.write(id, currentTranscriptName, { stamp: null, content: bytesOf("second") }), null);
    assert.equal(await textOf(store, id, currentTranscriptName), "first");
  });
}

function nameTests(open: OpenTranscriptsForTest): void {
  test("[W1] an invalid name is refused and never becomes a path", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    const wrong = ["", ".", "..", "../session.md", "workspace.toml", "sessions", "sessions/", "sessions/../session.md"];
    wrong.push(
      "/session.md",
      "session.md/",
      "session.md\0",
      "session..md",
      "sessions/.md",
      "sessions/a/b.md",
      "Session.md",
    );
    wrong.push(`sessions/${"a".repeat(300)}.md`, "session.md\n");
    for (const name of wrong) {
      const content = bytesOf("x");
      await assert.rejects(store.stat(id, name), storageFailed, name);
      await assert.rejects(store.read(id, name), storageFailed);
      await assert.rejects(store.write(id, name, { content }), storageFailed);
      await assert.rejects(store.append(id, name, { stamp: "", content }), storageFailed);
      await assert.rejects(store.move(id, currentTranscriptName, name), storageFailed);
      await assert.rejects(store.move(id, name, currentTranscriptName), storageFailed);
      await assert.rejects(store.remove(id, name), storageFailed);
    }
  });
}

function workspaceTests(open: OpenTranscriptsForTest): void {
  test("[W1] an invalid id of a workspace is refused", async (context) => {
    const { store } = await open(context);
    for (const id of ["", "..", "../default", "Default", "default/", "0198c2a7-1111-7000-8000-000000000001", "a\0"]) {
      const body = (): Promise<never> => assert.fail("it was locked");
      await assert.rejects(store.locked(id, body), workspaceInvalid, id);
      await assert.rejects(store.read(id, currentTranscriptName), workspaceInvalid);
      await assert.rejects(store.write(id, currentTranscriptName, { content: bytesOf("x") }), workspaceInvalid);
      await assert.rejects(store.removeAll(id), workspaceInvalid);
    }
  });

  test("[W6] no call recreates a workspace that does not exist", async (context) => {
    const { store, missingId } = await open(context);
    if (missingId === null) return context.skip("every workspace is there");
    const content = bytesOf("x");
    await assert.rejects(
      store.locked(missingId, () => assert.fail("it was locked")),
      workspaceUnknown,
    );
    await assert.rejects(store.write(missingId, currentTranscriptName, { content }), workspaceUnknown);
    await assert.rejects(store.write(missingId, asideTranscriptName(sessionId), { content }), workspaceUnknown);
    assert.equal(await store.append(missingId, currentTranscriptName, { stamp: "", content }), null);
    assert.equal(await store.stat(missingId, currentTranscriptName), null);
    assert.equal(await store.read(missingId, transcriptNotesName), null);
    await store.remove(missingId, currentTranscriptName);
    await store.removeAll(missingId);
  });
}

function lockTests(open: OpenTranscriptsForTest): void {
  test("[B4] bodies run one at a time for each workspace, over several stores, even after one fails", async (context) => {
    const { store, reopen, workspaceIds } = await open(context);
    const stores = [store, reopen?.() ?? store];
    const inside = new Map<string, number>();
    const body = async (id: string, fails: boolean): Promise<string> => {
      inside.set(id, (inside.get(id) ?? 0) + 1);
      assert.equal(inside.get(id), 1);
      await nextRound();
      inside.set(id, 0);
      if (fails) throw new AptoveError("storage_failed", "as the test wants it");
      return id;
    };
    const runs = Array.from({ length: 12 }, async (_, index) => {
      const [id, from] = [workspaceIds[index % 2] ?? "", stores[index % 3 === 0 ? 1 : 0] ?? store];
      const fails = index === 4;
      const run = from.locked(id, () => body(id, fails));
      await (fails ? assert.rejects(run, storageFailed) : run.then((given) => assert.equal(given, id)));
    });
    await Promise.all(runs);
  });

  test("[B4] another store reads what one store wrote", async (context) => {
    const { store, reopen, workspaceIds } = await open(context);
    if (reopen === null) return context.skip("these transcripts live in this process only");
    const [id] = workspaceIds;
    const other = reopen();
    const written = await store.write(id, currentTranscriptName, { content: bytesOf("one") });
    assert.deepEqual(await other.stat(id, currentTranscriptName), written);
    await other.append(id, currentTranscriptName, { stamp: written?.stamp ?? "", content: bytesOf(" two") });
    assert.equal(await textOf(store, id, currentTranscriptName), "one two");
  });
}
