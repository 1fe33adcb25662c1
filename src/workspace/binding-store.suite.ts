/**
 * The tests that every binding store must pass. Run them on your own driver to check that it keeps the contract (B5).
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { suite, test, type TestContext } from "node:test";
import { AptoveError } from "../domain/errors.ts";
import type { BindingStore } from "./binding-store.ts";

const workspaceInvalid = { name: "AptoveError", code: "workspace_invalid" };

export interface OpenBindings {
  /** A new, empty store. */
  store: BindingStore;
  /** Opens the same bindings as a second store, as another process does. Null if they exist only in this process. */
  reopen: (() => BindingStore) | null;
}
/** Opens a store for one test, and registers its clean-up with `context.after`. */
export type OpenBindingsForTest = (context: TestContext) => OpenBindings | Promise<OpenBindings>;

/** Registers the tests under a name. */
export function bindingStoreSuite(name: string, open: OpenBindingsForTest): void {
  suite(name, () => {
    bindTests(open);
    settleTests(open);
    refusalTests(open);
    processTests(open);
  });
}

function bindTests(open: OpenBindingsForTest): void {
  test("[W2] a device has the workspace of its last binding, and none before", async (context) => {
    const { store } = await open(context);
    const [one, other] = [randomUUID(), randomUUID()];
    assert.equal(await store.resolve("phone"), null);
    await store.bind("phone", one);
    await store.bind("tablet", "default");
    await store.bind("phone", other);
    assert.equal(await store.resolve("phone"), other);
    assert.equal(await store.resolve("tablet"), "default");
    assert.deepEqual(await sorted(store), [
      { deviceId: "phone", workspaceId: other },
      { deviceId: "tablet", workspaceId: "default" },
    ]);
  });

  test("[W2] unbinding removes one device, or all of a workspace, and returns them", async (context) => {
    const { store } = await open(context);
    const [one, other] = [randomUUID(), randomUUID()];
    for (const device of ["a", "b"]) await store.bind(device, one);
    await store.bind("c", other);
    assert.equal(await store.unbind("unbound"), false);
    assert.deepEqual((await store.unbindWorkspace(one)).toSorted(), ["a", "b"]);
    assert.deepEqual(await store.unbindWorkspace(one), []);
    assert.equal(await store.resolve("a"), null);
    assert.equal(await store.resolve("c"), other);
    assert.equal(await store.unbind("c"), true);
    assert.equal(await store.unbind("c"), false);
    assert.deepEqual(await store.list(), []);
  });

  test("[W2] a device may have any name: names never collide and are returned unchanged", async (context) => {
    const { store } = await open(context);
    const bound = new Map<string, string>();
    const special = [
      "__proto__",
      "constructor",
      "..",
      "/etc/passwd",
      "a.b",
      'a"b',
      "a\\",
      "bindings",
      "format",
      "#",
      " ",
    ];
    for (const deviceId of special) bound.set(deviceId, randomUUID());
    // It is loaded only where the suite runs: users of the stores do not have it.
    const { default: fc } = await import("fast-check");
    const names = fc.sample(fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }), { numRuns: 40, seed: 4 });
    for (const name of names) if (!/\p{Cc}/u.test(name)) bound.set(name, randomUUID());
    for (const [deviceId, workspaceId] of bound) await store.bind(deviceId, workspaceId);
    for (const [deviceId, workspaceId] of bound) assert.equal(await store.resolve(deviceId), workspaceId, deviceId);
    assert.equal((await store.list()).length, bound.size);
  });
}

function settleTests(open: OpenBindingsForTest): void {
  test("[W2] of many first connections of a device one chooses, and all receive the same workspace", async (context) => {
    const { store, reopen } = await open(context);
    const stores = [store, reopen?.() ?? store];
    let made = 0;
    const choose = async (bound: string | null): Promise<string> => {
      if (bound !== null) return bound;
      made += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return randomUUID();
    };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (stores[index % 2] ?? store).settle("phone", choose)),
    );
    assert.equal(new Set(answers).size, 1);
    assert.equal(made, 1);
    assert.equal(await store.resolve("phone"), answers[0]);
  });

  test("[W2] a bound device may be bound again, and a failing choice changes nothing", async (context) => {
    const { store } = await open(context);
    const [one, other] = [randomUUID(), randomUUID()];
    await store.bind("phone", one);
    const failing = store.settle("phone", () => Promise.reject(new AptoveError("storage_full", "no room")));
    await assert.rejects(failing, { name: "AptoveError", code: "storage_full" });
    assert.equal(await store.resolve("phone"), one);
    const given = await store.settle("phone", async (bound) => {
      assert.equal(bound, one);
      return other;
    });
    assert.equal(given, other);
    assert.equal(await store.resolve("phone"), other);
  });
}

function refusalTests(open: OpenBindingsForTest): void {
  test("[W1] [W2] only the id of a workspace can be bound", async (context) => {
    const { store } = await open(context);
    for (const id of ["..", "", "Default", "default/..", randomUUID().toUpperCase()]) {
      await assert.rejects(store.bind("phone", id), workspaceInvalid, id);
      await assert.rejects(store.unbindWorkspace(id), workspaceInvalid, id);
    }
    assert.deepEqual(await store.list(), []);
  });

  test("[W2] an invalid id of a device is refused", async (context) => {
    const { store } = await open(context);
    for (const device of ["", "a\nb", "\0", "x".repeat(256), "\ud800"]) {
      const calls = [
        () => store.bind(device, "default"),
        () => store.resolve(device),
        () => store.unbind(device),
        () => store.settle(device, () => Promise.resolve("default")),
      ];
      for (const call of calls)
        await assert.rejects(call(), { name: "AptoveError", code: "request_invalid" }, JSON.stringify(device));
    }
    assert.deepEqual(await store.list(), []);
  });
}

function processTests(open: OpenBindingsForTest): void {
  test("[W2] [B4] a binding of one process is visible to another at once, and neither loses the other's", async (context) => {
    const { store, reopen } = await open(context);
    if (reopen === null) return context.skip("these bindings live in this process only");
    const other = reopen();
    const [one, two] = [randomUUID(), randomUUID()];
    assert.equal(await other.resolve("phone"), null);
    await store.bind("phone", one);
    assert.equal(await other.resolve("phone"), one);
    await other.bind("phone", two);
    assert.equal(await store.resolve("phone"), two);
    const binds = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? store : other).bind(`${index}`, one));
    await Promise.all(binds);
    assert.equal((await store.list()).length, 21);
  });
}

async function sorted(store: BindingStore): Promise<{ deviceId: string; workspaceId: string }[]> {
  return (await store.list()).toSorted((one, other) => (one.deviceId < other.deviceId ? -1 : 1));
}
