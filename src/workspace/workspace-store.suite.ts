/**
 * The tests that every workspace store must pass. Run them on your own driver to check that it keeps the contract (B5).
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { suite, test, type TestContext } from "node:test";
import { AptoveError } from "../domain/errors.ts";
import { newId } from "../domain/ids.ts";
import type { Workspace } from "../domain/workspace.ts";
import type { WorkspaceStore } from "./workspace-store.ts";

const requestInvalid = { name: "AptoveError", code: "request_invalid" };
const workspaceUnknown = { name: "AptoveError", code: "workspace_unknown" };
const workspaceDamaged = { name: "AptoveError", code: "workspace_damaged" };

export interface OpenWorkspaces {
  /** A new, empty store. */
  store: WorkspaceStore;
  /** Opens the same workspaces as a second store, as another process does. Null if they exist only in this process. */
  reopen: (() => WorkspaceStore) | null;
  /** Makes an existing workspace unreadable, as a fault of the medium does. Null if that is impossible. */
  damage: ((id: string) => Promise<void>) | null;
}
/** Opens a store for one test, and registers its clean-up with `context.after`. */
export type OpenWorkspacesForTest = (context: TestContext) => OpenWorkspaces | Promise<OpenWorkspaces>;

/** Registers the tests under a name. */
export function workspaceStoreSuite(name: string, open: OpenWorkspacesForTest): void {
  suite(name, () => {
    createTests(open);
    changeTests(open);
    deleteTests(open);
    permissionTests(open);
    refusalTests(open);
    damageTests(open);
  });
}

/** A time with milliseconds, which must not be lost. */
const [made, later, latest] = [1_771_151_400_123, 1_771_151_460_456, 1_771_151_520_789];

function createTests(open: OpenWorkspacesForTest): void {
  test("[W1] a created workspace is returned unchanged until it is changed", async (context) => {
    const { store, reopen } = await open(context);
    const id = randomUUID();
    assert.equal(await store.load(id), null);
    assert.deepEqual(await store.list(), []);
    const created = await store.create({ id, name: 'project "x" \\ №1', provider: "anthropic", at: made });
    const expected: Workspace = {
      id,
      name: 'project "x" \\ №1',
      provider: "anthropic",
      createdAt: made,
      lastAccessedAt: made,
      damage: null,
    };
    assert.deepEqual(created, expected);
    assert.deepEqual(await store.load(id), expected);
    const bare = await store.create({ id: "default", at: later });
    assert.deepEqual([bare.name, bare.provider], [null, null]);
    const other = reopen?.() ?? store;
    assert.deepEqual(await other.load(id), expected);
    const listed = (await other.list()).toSorted((one, two) => one.createdAt - two.createdAt);
    assert.deepEqual(listed, [expected, bare]);
  });

  test("[W1] an id is used once, even with concurrent requests", async (context) => {
    const { store, reopen } = await open(context);
    const stores = [store, reopen?.() ?? store];
    const creations = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) =>
        (stores[index % 2] ?? store).create({ id: "default", name: `${index}`, at: made }),
      ),
    );
    const [created, second] = creations.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    assert.equal(second, undefined);
    for (const each of creations)
      if (each.status === "rejected") assert.equal(String(each.reason.code), "workspace_exists");
    assert.deepEqual(await store.load("default"), created);
  });
}

function changeTests(open: OpenWorkspacesForTest): void {
  test("[W1] name and provider change, and nothing else", async (context) => {
    const { store } = await open(context);
    const before = await store.create({ id: "default", name: "a", provider: "openai", at: made });
    assert.deepEqual(await store.update("default", { name: "b" }), { ...before, name: "b" });
    assert.deepEqual(await store.update("default", { provider: null }), { ...before, name: "b", provider: null });
    assert.deepEqual(await store.update("default", { name: null }), { ...before, name: null, provider: null });
    assert.deepEqual(await store.load("default"), { ...before, name: null, provider: null });
  });

  test("[W6] the time of the last use never goes back", async (context) => {
    const { store } = await open(context);
    await store.create({ id: "default", name: "a", at: made });
    assert.equal(await store.touch("default", latest), true);
    assert.equal(await store.touch("default", later), true);
    const workspace = await store.load("default");
    assert.deepEqual([workspace?.lastAccessedAt, workspace?.createdAt, workspace?.name], [latest, made, "a"]);
  });

  test("[B4] no concurrent change is lost", async (context) => {
    const { store, reopen } = await open(context);
    const stores = [store, reopen?.() ?? store];
    await store.create({ id: "default", at: made });
    await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const mine = stores[index % 2] ?? store;
        if (index === 10) await mine.update("default", { name: "n" });
        else if (index === 20) await mine.update("default", { provider: "p" });
        else await mine.touch("default", made + index);
      }),
    );
    const { name, provider, lastAccessedAt } = (await store.load("default")) as Workspace;
    assert.deepEqual({ name, provider, lastAccessedAt }, { name: "n", provider: "p", lastAccessedAt: made + 29 });
  });
}

function deleteTests(open: OpenWorkspacesForTest): void {
  test("[W6] a deleted workspace is gone with all its data, and its id is free", async (context) => {
    const { store } = await open(context);
    const id = randomUUID();
    await store.create({ id, name: "old", at: made });
    await store.changePermissions(id, (permissions) => permissions.set("run", made));
    assert.equal(await store.delete(id), true);
    assert.equal(await store.delete(id), false);
    assert.equal(await store.load(id), null);
    assert.deepEqual(await store.list(), []);
    await store.create({ id, at: later });
    assert.deepEqual(await store.permissions(id), new Map());
    assert.equal((await store.load(id))?.name, null);
  });

  test("[W6] `prepare` sees the current workspace and can cancel the deletion", async (context) => {
    const { store } = await open(context);
    await store.create({ id: "default", at: made });
    await store.touch("default", later);
    let seen: Workspace | null = null;
    const prepare = (answer: boolean) => (workspace: Workspace) => {
      seen = workspace;
      return Promise.resolve(answer);
    };
    assert.equal(await store.delete("default", prepare(false)), false);
    assert.deepEqual(seen, await store.load("default"));
    const failing = store.delete("default", () => Promise.reject(new AptoveError("bindings_damaged", "no")));
    await assert.rejects(failing, { name: "AptoveError", code: "bindings_damaged" });
    assert.equal((await store.load("default"))?.lastAccessedAt, later);
    assert.equal(await store.delete("default", prepare(true)), true);
    assert.equal(await store.load("default"), null);
  });

  test("[W6] a use during a deletion waits for its outcome", async (context) => {
    const { store, reopen } = await open(context);
    const id = randomUUID();
    await store.create({ id, at: made });
    let touched: Promise<boolean> | null = null;
    await store.delete(id, async () => {
      touched = (reopen?.() ?? store).touch(id, latest);
      await new Promise((resolve) => setImmediate(resolve));
      return true;
    });
    assert.equal(await touched, false);
    assert.equal(await store.load(id), null);
  });
}

function permissionTests(open: OpenWorkspacesForTest): void {
  test("[P4] permissions are returned unchanged, whatever their keys", async (context) => {
    const { store, reopen } = await open(context);
    await store.create({ id: "default", at: made });
    assert.deepEqual(await store.permissions("default"), new Map());
    const keys = [
      "run npm test",
      "__proto__",
      'a "b" \\ = c',
      "line\nbreak\u007f\u0000",
      "a.b",
      "é\u{1f600}",
      "format",
    ];
    await store.changePermissions("default", (permissions) => {
      for (const [index, key] of keys.entries()) permissions.set(key, made + index);
    });
    const expected = new Map(keys.map((key, index) => [key, made + index]));
    assert.deepEqual(await (reopen?.() ?? store).permissions("default"), expected);
    await store.changePermissions("default", (permissions) => void permissions.delete("a.b"));
    expected.delete("a.b");
    assert.deepEqual(await store.permissions("default"), expected);
  });

  test("[P4] [B4] concurrent permissions are all kept", async (context) => {
    const { store, reopen } = await open(context);
    const stores = [store, reopen?.() ?? store];
    await store.create({ id: "default", at: made });
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (stores[index % 2] ?? store).changePermissions("default", (now) => now.set(`${index}`, made)),
      ),
    );
    assert.equal((await store.permissions("default")).size, 20);
  });

  test("[P4] a failing change and an invalid key change nothing", async (context) => {
    const { store } = await open(context);
    await store.create({ id: "default", at: made });
    await store.changePermissions("default", (permissions) => permissions.set("kept", made));
    for (const key of ["", "\udfff", "x".repeat(5_000)]) {
      const change = store.changePermissions("default", (permissions) => permissions.set(key, made));
      await assert.rejects(change, requestInvalid);
    }
    const failing = store.changePermissions("default", (permissions) => {
      permissions.clear();
      throw new AptoveError("interrupted", "no");
    });
    await assert.rejects(failing, { name: "AptoveError", code: "interrupted" });
    assert.deepEqual(await store.permissions("default"), new Map([["kept", made]]));
  });
}

function refusalTests(open: OpenWorkspacesForTest): void {
  test("[W1] every call refuses an invalid id", async (context) => {
    const { store } = await open(context);
    const wrong = ["..", ".", "", "/", "/etc", "a/../default", "Default", "default ", "default\0", "workspace.toml"];
    // UUIDs of another version, in upper case, in braces, and without hyphens.
    const uuid = randomUUID();
    wrong.push(newId(), uuid.toUpperCase(), `{${uuid}}`, uuid.replaceAll("-", ""), `${uuid}/..`, `${uuid}\n`);
    for (const id of wrong) {
      const calls = [
        () => store.create({ id, at: made }),
        () => store.load(id),
        () => store.update(id, {}),
        () => store.touch(id, made),
        () => store.delete(id),
        () => store.loadConfig(id),
        () => store.permissions(id),
        () => store.changePermissions(id, () => undefined),
      ];
      for (const call of calls)
        await assert.rejects(call(), { name: "AptoveError", code: "workspace_invalid" }, JSON.stringify(id));
    }
    assert.deepEqual(await store.list(), []);
  });

  test("[W1] a name is one line of text", async (context) => {
    const { store } = await open(context);
    await store.create({ id: "default", name: "kept", at: made });
    for (const name of ["", "  ", "a\nb", "\u0007", "x".repeat(201), "\ud800"]) {
      await assert.rejects(store.create({ id: randomUUID(), name, at: made }), requestInvalid);
      await assert.rejects(store.update("default", { name }), requestInvalid);
      await assert.rejects(store.update("default", { provider: name }), requestInvalid);
    }
    assert.deepEqual(
      (await store.list()).map((workspace) => workspace.name),
      ["kept"],
    );
  });

  test("[W1] a missing workspace is reported as unknown", async (context) => {
    const { store } = await open(context);
    const id = randomUUID();
    await assert.rejects(store.update(id, { name: "a" }), workspaceUnknown);
    await assert.rejects(store.loadConfig(id), workspaceUnknown);
    await assert.rejects(store.permissions(id), workspaceUnknown);
    await assert.rejects(
      store.changePermissions(id, () => undefined),
      workspaceUnknown,
    );
    assert.equal(await store.touch(id, made), false);
    assert.equal(await store.delete(id, () => assert.fail("there is nothing to prepare for")), false);
    await store.create({ id, at: made });
    assert.equal(await store.loadConfig(id), null);
  });
}

function damageTests(open: OpenWorkspacesForTest): void {
  test("[W1] a damaged workspace is listed as damaged, stays unchanged, and can be deleted", async (context) => {
    const { store, damage } = await open(context);
    if (damage === null) return context.skip("nothing can damage these workspaces");
    const id = randomUUID();
    await store.create({ id, name: "lost", at: made });
    await store.create({ id: "default", name: "fine", at: made });
    await damage(id);
    await assert.rejects(store.load(id), workspaceDamaged);
    await assert.rejects(store.update(id, { name: "new" }), workspaceDamaged);
    await assert.rejects(store.touch(id, latest), workspaceDamaged);
    await assert.rejects(store.create({ id, at: later }), { name: "AptoveError", code: "workspace_exists" });
    const listed = await store.list();
    assert.deepEqual(listed.map((workspace) => workspace.id).toSorted(), [id, "default"].toSorted());
    for (const workspace of listed) assert.equal(workspace.damage === null, workspace.id === "default");
    assert.equal(await store.delete(id), true);
    assert.deepEqual(
      (await store.list()).map((workspace) => workspace.name),
      ["fine"],
    );
  });
}
