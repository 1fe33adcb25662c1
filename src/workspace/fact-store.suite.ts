/**
 * The tests that every store of facts must pass (M3). Run them on your own driver to check that it keeps the contract (B5).
 */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { factHash, type FactStore } from "../domain/fact.ts";
import { newId } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";

const refused = (code: string) => ({ name: "AptoveError", code });

export interface OpenFacts {
  /** A new, empty store, in which the workspace `default` exists and no other. */
  store: FactStore;
  /** Opens the same facts as a second store, as another process does. Null if they exist only in this process. */
  reopen: (() => FactStore) | null;
}

/** Opens a store for one test, and registers its clean-up with `context.after`. */
export type OpenFactsForTest = (context: TestContext) => OpenFacts | Promise<OpenFacts>;

const id = "default";
const missing = "550e8400-e29b-41d4-a716-446655440000";
const at = 1_771_151_400_123;
const source = { sessionId: newId(), turnId: newId() };

/** Registers the tests under a name. */
export function factStoreSuite(name: string, open: OpenFactsForTest): void {
  suite(name, () => {
    writeTests(open);
    forgetTests(open);
    refusalTests(open);
  });
}

function writeTests(open: OpenFactsForTest): void {
  test("[M3] a fact is returned as it was written, and one with the same text is not written twice", async (context) => {
    const { store, reopen } = await open(context);
    assert.deepEqual(await store.read(id), { facts: [], faults: [] });
    const text = '---\n"quotes" — ```\n\n# é\n---';
    const made = await store.add(id, { text: `\uFEFF\r\n${text.replaceAll("\n", "\r\n")}\n\n`, at, source });
    assert.deepEqual(made, { id: made.id, text, hash: factHash(text), createdAt: at, source });
    const same = await store.add(id, { text, at: at + 1, source: null });
    assert.deepEqual(same, made);
    const other = await store.add(id, { text: "second", at: at + 2, source: null });
    assert.notEqual(other.id, made.id);
    assert.deepEqual((await (reopen?.() ?? store).read(id))?.facts, [made, other]);
  });

  test("[M3] a change replaces the text and nothing else, if the text is the expected one", async (context) => {
    const { store, reopen } = await open(context);
    const made = await store.add(id, { text: "first", at, source });
    const other = reopen?.() ?? store;
    const changed = await other.change(id, { id: made.id, text: "second", expectedHash: made.hash });
    assert.deepEqual(changed, { ...made, text: "second", hash: factHash("second") });
    const late = store.change(id, { id: made.id, text: "third", expectedHash: made.hash });
    await assert.rejects(late, refused("fact_changed"));
    assert.deepEqual((await store.read(id))?.facts, [changed]);
    assert.equal(await store.change(id, { id: "f-none", text: "x" }), null);
  });
}

function forgetTests(open: OpenFactsForTest): void {
  test("[M3] a forgotten fact is gone in every store, with every other that has its text", async (context) => {
    const { store, reopen } = await open(context);
    const made = await store.add(id, { text: "one", at, source });
    const copy = await store.add(id, { text: "two", at, source });
    await store.change(id, { id: copy.id, text: "one" });
    const kept = await store.add(id, { text: "three", at, source });
    assert.deepEqual((await store.forget(id, made.id)).toSorted(), [made.id, copy.id].toSorted());
    assert.deepEqual((await (reopen?.() ?? store).read(id))?.facts, [kept]);
    assert.deepEqual(await store.forget(id, made.id), []);
    const again = await store.add(id, { text: "one", at, source });
    assert.notEqual(again.id, made.id);
  });

  test("[M3] of many who forget and add at once, each fact is forgotten once and none is lost", async (context) => {
    const { store, reopen } = await open(context);
    const other = reopen?.() ?? store;
    const made = await Promise.all([1, 2, 3, 4].map((n) => store.add(id, { text: `fact ${n}`, at, source })));
    const changes = made.flatMap((fact, n) => [
      store.forget(id, fact.id),
      other.forget(id, fact.id),
      other.add(id, { text: `new ${n}`, at, source }).then(() => []),
    ]);
    const forgotten = (await Promise.all(changes)).flat();
    assert.deepEqual(forgotten.toSorted(), made.map((fact) => fact.id).toSorted());
    const texts = (await store.read(id))?.facts.map(({ text }) => text).toSorted();
    assert.deepEqual(texts, ["new 0", "new 1", "new 2", "new 3"]);
  });
}

function refusalTests(open: OpenFactsForTest): void {
  test("[M3] a text that cannot be a fact is refused, and so is a workspace that does not exist", async (context) => {
    const { store } = await open(context);
    const made = await store.add(id, { text: "fact", at, source });
    for (const text of ["", " \n\t", "a\u0000b", "\ud800", "x".repeat(limits.factBytesMax + 1)]) {
      await assert.rejects(store.add(id, { text, at, source }), refused("fact_invalid"));
      await assert.rejects(store.change(id, { id: made.id, text }), refused("fact_invalid"));
    }
    assert.equal(await store.read(missing), null);
    assert.equal(await store.read("../default"), null);
    await assert.rejects(store.add(missing, { text: "x", at, source }), refused("workspace_unknown"));
    await assert.rejects(store.change(missing, { id: made.id, text: "x" }), refused("workspace_unknown"));
    await assert.rejects(store.forget(missing, made.id), refused("workspace_unknown"));
    assert.deepEqual((await store.read(id))?.facts, [made]);
  });
}
