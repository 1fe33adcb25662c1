/**
 * What every blob store must do, as tests. Run it on your own driver to know that it keeps the contract (B5).
 */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { AptoveError } from "../domain/errors.ts";
import type { BlobStore } from "./blob-store.ts";

const storageFailed = { name: "AptoveError", code: "storage_failed" };

export interface OpenBlobs {
  /** A new, empty store. */
  store: BlobStore;
  /** Opens the same blobs as a second store, as another process does. Null if they live in this process only. */
  reopen: (() => BlobStore) | null;
}
/** Opens a store for one test, and registers with `context.after` whatever must be removed afterwards. */
export type OpenBlobsForTest = (context: TestContext) => OpenBlobs | Promise<OpenBlobs>;

/** Registers the tests in a suite of this name. */
export function blobStoreSuite(name: string, open: OpenBlobsForTest): void {
  suite(name, () => {
    bytesTests(open);
    keyTests(open);
    listTests(open);
    concurrencyTests(open);
    processTests(open);
    modelTests(open);
  });
}

const needsReopen = "these blobs live in this process only";

function bytesTests(open: OpenBlobsForTest): void {
  test("[B1] returns exactly the bytes that were put", async (context) => {
    const { store } = await open(context);
    const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const cases = { empty: new Uint8Array(), every: everyByte, zeros: new Uint8Array(70_000), noise: noise(1_000_000) };
    for (const [key, bytes] of Object.entries(cases)) await store.put(key, bytes);
    for (const [key, bytes] of Object.entries(cases)) assertBytes(await store.get(key), bytes);
  });

  test("[B1] stores only the visible bytes of a view into a larger buffer", async (context) => {
    const { store } = await open(context);
    await store.put("a", new Uint8Array([1, 2, 3, 4]).subarray(1, 3));
    assertBytes(await store.get("a"), new Uint8Array([2, 3]));
  });

  test("[B1] an unknown key is null, not an error", async (context) => {
    const { store } = await open(context);
    await store.put("turns/1/run.json", text("{}"));
    for (const key of ["a", "turns/2/run.json", "turns/1/run.jso", "turns/1", "turns/1/run.json/deeper"]) {
      assert.equal(await store.get(key), null, key);
      assert.equal(await store.size(key), null, key);
      await store.delete(key);
    }
    assertBytes(await store.get("turns/1/run.json"), text("{}"));
  });

  test("[B1] a put never replaces other bytes, and putting the same bytes again is no error", async (context) => {
    const { store } = await open(context);
    await store.put("a/b", noise(9_000));
    await store.put("a/b", noise(9_000));
    for (const bytes of [text("short"), new Uint8Array(), noise(9_001), noise(9_000, 2)]) {
      await assert.rejects(store.put("a/b", bytes), (error) => {
        assert.ok(error instanceof AptoveError && error.code === "blob_exists", String(error));
        assert.match(error.message, /a\/b/);
        return true;
      });
    }
    assertBytes(await store.get("a/b"), noise(9_000));
    assert.deepEqual(await store.list(""), ["a/b"]);
    await store.delete("a/b");
    await store.put("a/b", text("short"));
    assertBytes(await store.get("a/b"), text("short"));
  });

  test("[B1] delete removes one blob, a second delete is no error, and the key can be used again", async (context) => {
    const { store } = await open(context);
    await store.put("turns/1/a", text("a"));
    await store.put("turns/1/b", text("b"));
    await store.delete("turns/1/a");
    await store.delete("turns/1/a");
    assert.equal(await store.get("turns/1/a"), null);
    assertBytes(await store.get("turns/1/b"), text("b"));
    await store.delete("turns/1/b");
    await store.put("turns/1/a", text("again"));
    assertBytes(await store.get("turns/1/a"), text("again"));
    assert.deepEqual(await store.list(""), ["turns/1/a"]);
  });

  test("[B7] size is the space that a blob takes, and a larger blob takes more", async (context) => {
    const { store } = await open(context);
    await store.put("small", noise(100));
    await store.put("large", noise(100_000));
    const [small, large] = [await store.size("small"), await store.size("large")];
    assert.ok(small !== null && small >= 100 && small < 1_000, `small: ${small}`);
    assert.ok(large !== null && large >= 100_000 && large < 110_000, `large: ${large}`);
  });

  test("[B1] bytes that were put or returned belong to the caller: changing them does not change the blob", async (context) => {
    const { store } = await open(context);
    const bytes = text("kept");
    await store.put("a", bytes);
    bytes.fill(0);
    (await store.get("a"))?.fill(0);
    assertBytes(await store.get("a"), text("kept"));
  });
}

function keyTests(open: OpenBlobsForTest): void {
  const longest = `${"a".repeat(190)}/${"b".repeat(190)}/${"c".repeat(120)}`;

  test("[B1] accepts every form of key that the engine may make", async (context) => {
    const { store } = await open(context);
    const keys = ["a", "a.b-c_d", ".hidden", "...", "a..b/c..", "-", "_/_", "0/1/2/3/4/5/6/7/8/9", longest];
    for (const key of keys) await store.put(key, text(key));
    for (const key of keys) assertBytes(await store.get(key), text(key));
    assert.deepEqual((await store.list("")).toSorted(), keys.toSorted());
  });

  const noKeys = ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", "./a", "a/./b", "A", "a b", "é"];
  const hostile = [
    "a\\b",
    "c:",
    "a\0",
    "a\n",
    "~aside",
    "~aside/a",
    "%2e%2e/a",
    "a".repeat(201),
    "ab/".repeat(171) + "a",
  ];
  test("[B1] refuses what is not a key, and stores nothing", async (context) => {
    const { store } = await open(context);
    for (const key of [...noKeys, ...hostile]) {
      await assert.rejects(store.put(key, text("x")), storageFailed, `put ${JSON.stringify(key)}`);
      await assert.rejects(store.get(key), storageFailed, `get ${JSON.stringify(key)}`);
      await assert.rejects(store.delete(key), storageFailed, `delete ${JSON.stringify(key)}`);
      await assert.rejects(store.size(key), storageFailed, `size ${JSON.stringify(key)}`);
    }
    assert.deepEqual(await store.list(""), []);
  });
}

function listTests(open: OpenBlobsForTest): void {
  test("[B1] lists every key that begins with the prefix, and no other", async (context) => {
    const { store } = await open(context);
    const keys = ["turns/1/run", "turns/1/state", "turns/12/run", "turns/2/run", "texts/1", "turnsx", "z"];
    for (const key of keys) await store.put(key, text(key));
    const prefixes = [
      "",
      "t",
      "turns",
      "turns/",
      "turns/1",
      "turns/1/",
      "turns/1/s",
      "turns/1/state",
      "turns/1/state.",
      "z/",
    ];
    for (const prefix of prefixes) {
      const expected = keys.filter((key) => key.startsWith(prefix)).toSorted();
      assert.deepEqual((await store.list(prefix)).toSorted(), expected, JSON.stringify(prefix));
    }
  });

  test("[B1] a prefix that no key can begin with lists nothing", async (context) => {
    const { store } = await open(context);
    await store.put("a/b", text("x"));
    for (const prefix of ["/", "../", "..", "a/../", "a//", "A", "~", "a\0", "a/b/c/", "b".repeat(300) + "/"]) {
      assert.deepEqual(await store.list(prefix), [], JSON.stringify(prefix));
    }
  });
}

function concurrencyTests(open: OpenBlobsForTest): void {
  test("[B1] [B3] a reader that races with a writer sees the whole blob or none, never a part", async (context) => {
    const { store } = await open(context);
    const versions = [noise(200_000), noise(300_000), text("small")];
    const written = new AbortController();
    const write = async (): Promise<void> => {
      for (let round = 0; round < 30; round += 1) {
        await store.put("turns/1/state", versions[round % 3] ?? text(""));
        await store.delete("turns/1/state");
      }
      written.abort();
    };
    let reads = 0;
    const read = async (): Promise<void> => {
      while (!written.signal.aborted) {
        const seen = await store.get("turns/1/state");
        assert.ok(seen === null || versions.some((version) => Buffer.compare(version, seen) === 0), "a part was seen");
        reads += 1;
        // A store that reads from memory would otherwise never let the writers run.
        await new Promise(setImmediate);
      }
    };
    await Promise.all([write(), read(), read()]);
    assert.ok(reads > 0);
  });

  test("[B1] simultaneous puts are all stored, and of several to one key exactly one", async (context) => {
    const { store, reopen } = await open(context);
    const keys = Array.from({ length: 60 }, (_, index) => `turns/${index % 7}/${index}`);
    await Promise.all(keys.map((key) => store.put(key, text(key))));
    for (const key of keys) assertBytes(await store.get(key), text(key));
    const others = reopen === null ? [store] : [store, reopen()];
    const rivals = keys.map(text);
    const puts = await Promise.allSettled(
      rivals.map((bytes, index) => others[index % others.length]?.put("one", bytes)),
    );
    const winners = rivals.filter((_, index) => puts[index]?.status === "fulfilled");
    assert.equal(winners.length, 1);
    assertBytes(await store.get("one"), winners[0] ?? text(""));
    for (const put of puts) if (put.status === "rejected") assert.equal(put.reason.code, "blob_exists");
  });

  test("[B1] a put is not lost when a neighbouring blob is deleted at the same time", async (context) => {
    const { store } = await open(context);
    for (let round = 0; round < 40; round += 1) {
      await store.put("turns/1/old", text("old"));
      await Promise.all([store.delete("turns/1/old"), store.put("turns/1/new", text(`new ${round}`))]);
      assertBytes(await store.get("turns/1/new"), text(`new ${round}`));
      assert.deepEqual(await store.list(""), ["turns/1/new"]);
      await store.delete("turns/1/new");
    }
  });

  test("[B1] simultaneous puts and deletes of one key all succeed, and leave the whole blob or none", async (context) => {
    const { store } = await open(context);
    const written = new AbortController();
    const write = async (): Promise<void> => {
      for (let round = 0; round < 80; round += 1) await store.put("turns/1/a", text("same"));
      written.abort();
    };
    const remove = async (): Promise<void> => {
      while (!written.signal.aborted) {
        await store.delete("turns/1/a");
        await new Promise(setImmediate);
      }
    };
    await Promise.all([write(), remove(), remove()]);
    const left = await store.get("turns/1/a");
    if (left !== null) assertBytes(left, text("same"));
    await store.delete("turns/1/a");
    await store.put("turns/1/a", text("after"));
    assertBytes(await store.get("turns/1/a"), text("after"));
  });
}

function processTests(open: OpenBlobsForTest): void {
  test("[B4] another store sees at once what one store puts or deletes", async (context) => {
    const { store, reopen } = await open(context);
    if (reopen === null) return context.skip(needsReopen);
    const other = reopen();
    await store.put("turns/1/a", text("1"));
    assertBytes(await other.get("turns/1/a"), text("1"));
    await assert.rejects(other.put("turns/1/a", text("2")), { code: "blob_exists" });
    await other.delete("turns/1/a");
    assert.equal(await store.get("turns/1/a"), null);
    await store.put("turns/1/b", text("3"));
    assert.deepEqual(await other.list(""), ["turns/1/b"]);
  });

  test("[B3] a blob is there when the store is opened again", async (context) => {
    const { store, reopen } = await open(context);
    if (reopen === null) return context.skip(needsReopen);
    await store.put("turns/1/state", noise(5_000));
    assertBytes(await reopen().get("turns/1/state"), noise(5_000));
  });
}

function modelTests(open: OpenBlobsForTest): void {
  const keys = ["a", "b/c", "b/d", "b/e/f", "g.zst", "g.zst.zst"];
  for (const seed of [1, 2, 3, 4]) {
    test(`[B1] a random series of puts and deletes reads back like a map (seed ${seed})`, async (context) => {
      const { store } = await open(context);
      const model = new Map<string, Uint8Array>();
      const random = noise(240, seed);
      for (let at = 0; at < random.length; at += 3) {
        const [which = 0, action = 0, length = 0] = random.subarray(at);
        const key = keys[which % keys.length] ?? "a";
        if (action % 3 === 0) {
          model.delete(key);
          await store.delete(key);
        } else if (model.has(key)) {
          await assert.rejects(store.put(key, noise(length + 1, at + 1)), { code: "blob_exists" });
        } else {
          model.set(key, noise(length + 1, at + 1));
          await store.put(key, noise(length + 1, at + 1));
        }
        assert.deepEqual((await store.list("")).toSorted(), [...model.keys()].toSorted());
      }
      for (const [key, bytes] of model) assertBytes(await store.get(key), bytes);
    });
  }
}

function assertBytes(found: Uint8Array | null, expected: Uint8Array): void {
  assert.ok(found !== null, "there is no blob");
  assert.ok(
    Buffer.compare(found, expected) === 0,
    `${found.length} bytes are not the ${expected.length} that were put`,
  );
}

function text(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

/** Returns bytes that do not compress, the same in every run (xorshift). `seed` is not 0. */
function noise(length: number, seed = 1): Uint8Array {
  let state = Math.imul(seed, 0x9e3779b9);
  return Uint8Array.from({ length }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 0xff;
  });
}
