/**
 * What every transcript store must do, as tests: run it on your own driver to know that it keeps the contract (B5).
 */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { hasCode } from "../../testing/refusals.ts";
import { AptoveError } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { asideName, currentName, keptName, notesName, type TranscriptStore } from "./transcript-store.ts";

export interface OpenTranscripts {
  store: TranscriptStore;
  /** The same transcripts through a second store, as another process has it. Null where they live in this process only. */
  reopen: (() => TranscriptStore) | null;
  /** Two workspaces that are there, without transcripts. */
  workspaceIds: [string, string];
  /** The id of one that is not there; null where every workspace is. */
  missingId: string | null;
}
/** Opens a store for one test, and registers with `context.after` whatever must be cleared away. */
export type OpenForTest = (context: TestContext) => OpenTranscripts | Promise<OpenTranscripts>;

/** Registers the tests. `name` is what they are listed under. */
export function transcriptStoreSuite(name: string, open: OpenForTest): void {
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
  currentName,
  notesName,
  asideName(sessionId),
  keptName(currentName, { at: 0, because: "edited", number: 2 }),
];

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function textOf(store: TranscriptStore, workspaceId: string, name: string): Promise<string | null> {
  const content = (await store.read(workspaceId, name))?.content ?? null;
  return content === null ? null : new TextDecoder().decode(content);
}

function bytesTests(open: OpenForTest): void {
  test("[W4] gives back exactly the bytes that were written and appended, under every name", async (context) => {
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

  test("[W4] write replaces all that was there", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id, other] = workspaceIds;
    await store.write(id, currentName, { content: bytesOf("a long text that was there") });
    await store.write(other, currentName, { content: bytesOf("another workspace's") });
    await store.write(id, currentName, { content: bytesOf("short") });
    assert.equal(await textOf(store, id, currentName), "short");
    assert.equal(await textOf(store, other, currentName), "another workspace's");
  });

  test("[W4] move gives a file another name, and never replaces one", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    const aside = asideName(sessionId);
    await store.write(id, currentName, { content: bytesOf("one") });
    const moved = await store.move(id, currentName, aside);
    assert.deepEqual(await store.stat(id, aside), moved);
    assert.equal(await store.stat(id, currentName), null);
    await store.write(id, currentName, { content: bytesOf("two") });
    await assert.rejects(store.move(id, currentName, aside), hasCode("storage_failed"));
    await store.remove(id, aside);
    await assert.rejects(store.move(id, aside, keptName(aside, { at: 0, because: "edited", number: 1 })));
    assert.equal(await textOf(store, id, currentName), "two");
    assert.equal(await store.stat(id, aside), null);
  });

  test("[W6] remove takes one file, removeAll every one of the workspace and none of another", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id, other] = workspaceIds;
    for (const name of names) {
      await store.write(id, name, { content: bytesOf(name) });
      await store.write(other, name, { content: bytesOf(name) });
    }
    await store.remove(id, currentName);
    await store.remove(id, currentName);
    assert.equal(await store.stat(id, currentName), null);
    assert.equal(await textOf(store, id, notesName), notesName);
    await store.removeAll(id);
    await store.removeAll(id);
    for (const name of names) {
      assert.equal(await store.stat(id, name), null);
      assert.equal(await textOf(store, other, name), name);
    }
  });

  test("[W5] a file over the limit is told by its size, and nothing of it is read", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    const bytes = limits.transcriptBytesMax;
    const whole = await store.write(id, currentName, { content: new Uint8Array(bytes) });
    assert.equal((await store.read(id, currentName))?.content?.length, bytes);
    const larger = await store.append(id, currentName, { stamp: whole?.stamp ?? "", content: bytesOf("x") });
    assert.deepEqual(await store.read(id, currentName), { ...larger, bytes: bytes + 1, content: null });
  });
}

function stampTests(open: OpenForTest): void {
  test("[W5] a stamp tells any change of a file, also one that leaves its size", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    const stamps = new Set<string | undefined>();
    stamps.add((await store.write(id, currentName, { content: bytesOf("one") }))?.stamp);
    stamps.add((await store.write(id, currentName, { content: bytesOf("two") }))?.stamp);
    stamps.add((await store.write(id, currentName, { content: bytesOf("two") }))?.stamp);
    const stamp = (await store.stat(id, currentName))?.stamp ?? "";
    assert.ok(stamps.has(stamp));
    stamps.add((await store.append(id, currentName, { stamp, content: bytesOf("3") }))?.stamp);
    assert.equal(stamps.size, 4);
    assert.ok(!stamps.has(undefined));
  });

  test("[W5] what is written over a file that changed meanwhile is not written", async (context) => {
    const { store, workspaceIds } = await open(context);
    const [id] = workspaceIds;
    const before = await store.write(id, currentName, { content: bytesOf("before") });
    const stamp = before?.stamp ?? "";
    await store.write(id, currentName, { content: bytesOf("a person's") });
    assert.equal(await store.append(id, currentName, { stamp, content: bytesOf("ours") }), null);
    assert.equal(await store.write(id, currentName, { stamp, content: bytesOf("ours") }), null);
    assert.equal(await textOf(store, id, currentName), "a person's");
    await store.remove(id, currentName);
    assert.equal(await store.append(id, currentName, { stamp, content: bytesOf("ours") }), null);
    assert.equal(await store.write(id, currentName, { stamp, content: bytesOf("ours") }), null);
    assert.equal(await store.stat(id, currentName), null);
  });
}

function nameTests(open: OpenForTest): void {
  test("[W1] what is not the name of a transcript is refused, and never becomes a path", async (context) => {
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
      await assert.rejects(store.stat(id, name), hasCode("storage_failed"), name);
      await assert.rejects(store.read(id, name), hasCode("storage_failed"));
      await assert.rejects(store.write(id, name, { content }), hasCode("storage_failed"));
      await assert.rejects(store.append(id, name, { stamp: "", content }), hasCode("storage_failed"));
      await assert.rejects(store.move(id, currentName, name), hasCode("storage_failed"));
      await assert.rejects(store.move(id, name, currentName), hasCode("storage_failed"));
      await assert.rejects(store.remove(id, name), hasCode("storage_failed"));
    }
  });
}

function workspaceTests(open: OpenForTest): void {
  test("[W1] what is not the id of a workspace is refused", async (context) => {
    const { store } = await open(context);
    for (const id of ["", "..", "../default", "Default", "default/", "0198c2a7-1111-7000-8000-000000000001", "a\0"]) {
      const body = (): Promise<never> => assert.fail("it was locked");
      await assert.rejects(store.locked(id, body), hasCode("workspace_invalid"), id);
      await assert.rejects(store.read(id, currentName), hasCode("workspace_invalid"));
      await assert.rejects(store.write(id, currentName, { content: bytesOf("x") }), hasCode("workspace_invalid"));
      await assert.rejects(store.removeAll(id), hasCode("workspace_invalid"));
    }
  });

  test("[W6] nothing brings a workspace back that is not there", async (context) => {
    const { store, missingId } = await open(context);
    if (missingId === null) return context.skip("every workspace is there");
    const content = bytesOf("x");
    await assert.rejects(
      store.locked(missingId, () => assert.fail("it was locked")),
      hasCode("workspace_unknown"),
    );
    await assert.rejects(store.write(missingId, currentName, { content }), hasCode("workspace_unknown"));
    await assert.rejects(store.write(missingId, asideName(sessionId), { content }), hasCode("workspace_unknown"));
    assert.equal(await store.append(missingId, currentName, { stamp: "", content }), null);
    assert.equal(await store.stat(missingId, currentName), null);
    assert.equal(await store.read(missingId, notesName), null);
    await store.remove(missingId, currentName);
    await store.removeAll(missingId);
  });
}

function lockTests(open: OpenForTest): void {
  test("[B4] one at a time for each workspace, over stores, also after a body that failed", async (context) => {
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
      await (fails ? assert.rejects(run, hasCode("storage_failed")) : run.then((given) => assert.equal(given, id)));
    });
    await Promise.all(runs);
  });

  test("[B4] what one store writes another one has", async (context) => {
    const { store, reopen, workspaceIds } = await open(context);
    if (reopen === null) return context.skip("these transcripts live in this process only");
    const [id] = workspaceIds;
    const other = reopen();
    const written = await store.write(id, currentName, { content: bytesOf("one") });
    assert.deepEqual(await other.stat(id, currentName), written);
    await other.append(id, currentName, { stamp: written?.stamp ?? "", content: bytesOf(" two") });
    assert.equal(await textOf(store, id, currentName), "one two");
  });
}
