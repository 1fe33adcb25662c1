import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { childPath } from "../../testing/children/path.ts";
import { hasCode } from "../../testing/refusals.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { limits } from "../domain/limits.ts";
import type { BindingStore } from "./binding-store.ts";
import { dataFolderAt, type DataFolder } from "../configuration/data-folder.ts";
import { fileBindings } from "./files/file-bindings.ts";
import { fileWorkspaces } from "./files/file-workspaces.ts";
import { workspacePaths } from "./files/workspace-paths.ts";
import { Permissions } from "./permissions.ts";
import type { WorkspaceStore } from "./workspace-store.ts";
import { Workspaces, type GcRequest } from "./workspaces.ts";

const dayMs = 86_400_000;
const start = Date.parse("2026-02-15T10:30:00Z");

interface World {
  folder: DataFolder;
  store: WorkspaceStore;
  bindings: BindingStore;
  workspaces: Workspaces;
  /** The operations on the stores during a deletion, in their order. */
  steps: string[];
  clock: { now: number };
}

async function world(context: TestContext): Promise<World> {
  const folder = dataFolderAt(await temporaryFolder(context));
  const [store, bindings] = [fileWorkspaces(folder), fileBindings(folder)];
  const steps: string[] = [];
  const clock = { now: start };
  const unbindWorkspace = bindings.unbindWorkspace.bind(bindings);
  bindings.unbindWorkspace = async (id) => {
    steps.push(`bindings, with ${(await readdir(workspacePaths(folder, id).folder)).length} entries left`);
    return await unbindWorkspace(id);
  };
  const workspaces = new Workspaces({
    store,
    bindings,
    transcripts: {
      locked: (_workspaceId, body) => body(),
      removeAll: async (id) => {
        const { session } = workspacePaths(folder, id);
        steps.push(`transcript, with ${(await bindings.list()).length} bindings left`);
        await rm(session);
      },
    },
    now: () => clock.now,
  });
  return { folder, store, bindings, workspaces, steps, clock };
}

function gcOf(request: Partial<GcRequest>): GcRequest {
  return { maxAgeDays: 90, dryRun: false, isRunning: () => Promise.resolve(false), ...request };
}

test("[W2] a device keeps its workspace, and each device has its own", async (t) => {
  const { workspaces, bindings, clock } = await world(t);
  const phone = await workspaces.resolve("phone");
  const tablet = await workspaces.resolve("tablet");
  clock.now += dayMs;
  assert.equal((await workspaces.resolve("phone")).id, phone.id);
  assert.notEqual(phone.id, tablet.id);
  assert.equal(await bindings.resolve("phone"), phone.id);
  assert.deepEqual(
    (await workspaces.list()).map(({ id }) => id),
    [phone.id, tablet.id],
  );
});

test("[W2] a device that was bound explicitly gets that workspace, even if it is shared", async (t) => {
  const { workspaces, bindings } = await world(t);
  const { id } = await workspaces.create({ name: "ours", provider: "anthropic" });
  await bindings.bind("phone", id);
  await bindings.bind("tablet", id);
  for (const device of ["phone", "tablet"]) {
    const { name, provider } = await workspaces.resolve(device);
    assert.deepEqual([name, provider], ["ours", "anthropic"]);
  }
});

test("[W2] two first connections from two processes make one workspace and lose no other binding", async (t) => {
  const { folder, bindings, workspaces } = await world(t);
  await bindings.bind("other", "default");
  const child = childPath("connect-device.ts");
  const started = ["phone", "phone", "tablet"].map((device) => {
    const stdio: ["pipe", "pipe", "inherit"] = ["pipe", "pipe", "inherit"];
    const one = spawn(process.execPath, [child, folder.dir, device], { stdio });
    t.after(() => one.kill("SIGKILL"));
    return { one, lines: createInterface({ input: one.stdout })[Symbol.asyncIterator]() };
  });
  for (const { lines } of started) assert.equal((await lines.next()).value, "ready");
  for (const { one } of started) one.stdin.write("go\n");
  const own = workspaces.resolve("phone");
  const [first, second, tablet] = await Promise.all(
    started.map(async ({ lines }) => (await lines.next()).value as string),
  );
  assert.equal(first, second);
  assert.equal((await own).id, first);
  assert.notEqual(tablet, first);
  const ids = (await workspaces.list()).map(({ id }) => id);
  assert.deepEqual(ids.toSorted(), [first, tablet].toSorted());
  assert.equal((await bindings.list()).length, 3);
});

test("[W2] a bound workspace that is missing on disk is made again under its id, empty, for all its devices", async (t) => {
  const { workspaces, bindings, folder } = await world(t);
  const { id } = await workspaces.resolve("phone");
  await bindings.bind("tablet", id);
  await rm(workspacePaths(folder, id).folder, { recursive: true });
  const found = await Promise.all(["phone", "tablet", "phone"].map((device) => workspaces.resolve(device)));
  assert.deepEqual(new Set(found.map((workspace) => workspace.id)), new Set([id]));
  assert.equal((await bindings.list()).length, 2);
});

test("[W2] a client without a device gets `default`, which is made once on first use", async (t) => {
  const { workspaces } = await world(t);
  assert.deepEqual(await workspaces.list(), []);
  const found = await Promise.all(Array.from({ length: 6 }, () => workspaces.resolve(null)));
  assert.deepEqual(new Set(found.map(({ id }) => id)), new Set(["default"]));
  assert.deepEqual(
    (await workspaces.listBound()).flatMap(({ devices }) => devices),
    [],
  );
});

test("[W1] [W2] a damaged workspace and damaged bindings are errors for the device, and stay unchanged", async (t) => {
  const { workspaces, folder } = await world(t);
  const { id } = await workspaces.resolve("phone");
  const { workspace } = workspacePaths(folder, id);
  await writeFile(workspace, "uuid =");
  await assert.rejects(workspaces.resolve("phone"), hasCode("workspace_damaged"));
  assert.equal(await readFile(workspace, "utf8"), "uuid =");
  await writeFile(folder.bindings, "[bindings");
  await assert.rejects(workspaces.resolve("phone"), hasCode("bindings_damaged"));
  await assert.rejects(workspaces.resolve("new"), hasCode("bindings_damaged"));
  await assert.rejects(workspaces.delete(id, { isRunning: async () => false }), hasCode("bindings_damaged"));
  assert.equal(await readFile(folder.bindings, "utf8"), "[bindings");
  assert.equal((await readdir(folder.workspaces)).length, 1);
});

test("[W1] an id that leads out of the folder is refused, and files there stay", async (t) => {
  const { workspaces, folder } = await world(t);
  await writeFile(folder.config, "");
  for (const id of ["..", "../..", "/", "default/..", "."]) {
    await assert.rejects(workspaces.use(id), hasCode("workspace_invalid"));
    await assert.rejects(workspaces.find(id), hasCode("workspace_invalid"));
    await assert.rejects(workspaces.delete(id, { isRunning: async () => false }), hasCode("workspace_invalid"));
  }
  assert.deepEqual(await readdir(folder.dir), ["config.toml"]);
});

test("[W6] every use is marked, at most once a minute, and an unknown workspace is not created", async (t) => {
  const { workspaces, store, clock } = await world(t);
  const { id } = await workspaces.resolve("phone");
  const markOf = async (): Promise<number | undefined> => (await store.load(id))?.lastAccessedAt;
  clock.now = start + limits.useMarkMs - 1;
  await workspaces.use(id);
  assert.equal(await markOf(), start);
  clock.now = start + limits.useMarkMs;
  assert.equal((await workspaces.use(id)).lastAccessedAt, clock.now);
  assert.equal(await markOf(), clock.now);
  clock.now += limits.useMarkMs;
  await workspaces.resolve("phone");
  assert.equal(await markOf(), clock.now);
  clock.now += limits.useMarkMs;
  await workspaces.find(id);
  assert.equal(await markOf(), clock.now - limits.useMarkMs);
  await assert.rejects(workspaces.use(randomUUID()), hasCode("workspace_unknown"));
  assert.equal((await workspaces.list()).length, 1);
});

test("[W6] deleting unbinds the devices, then takes the transcript, then the folder", async (t) => {
  const { workspaces, bindings, steps, folder } = await world(t);
  const { id } = await workspaces.resolve("phone");
  await bindings.bind("tablet", id);
  await workspaces.resolve("other");
  await workspaces.delete(id, { isRunning: async () => false });
  assert.deepEqual(steps, ["bindings, with 5 entries left", "transcript, with 1 bindings left"]);
  assert.deepEqual(await readdir(folder.workspaces), [await bindings.resolve("other")]);
  await assert.rejects(workspaces.delete(id, { isRunning: async () => false }), hasCode("workspace_unknown"));
  const again = await workspaces.resolve("phone");
  assert.notEqual(again.id, id);
});

test("[W6] a workspace that was used after a person looked at it is not deleted, and keeps its devices", async (t) => {
  const { workspaces, clock } = await world(t);
  const seen = await workspaces.resolve("phone");
  clock.now += dayMs;
  await workspaces.resolve("phone");
  const conditions = { isRunning: async () => false, unusedSince: seen.lastAccessedAt };
  await assert.rejects(workspaces.delete(seen.id, conditions), hasCode("workspace_busy", "after you looked at it"));
  assert.deepEqual(
    (await workspaces.listBound()).map(({ id, devices }) => [id, devices]),
    [[seen.id, ["phone"]]],
  );
  await workspaces.delete(seen.id, { ...conditions, unusedSince: clock.now });
  assert.deepEqual(await workspaces.listBound(), []);
});

test("[W6] gc deletes workspaces that were unused for that long, and its dry run shows the same list", async (t) => {
  const { workspaces, bindings, clock } = await world(t);
  const old = await workspaces.resolve("old phone");
  const running = await workspaces.create({ name: "running" });
  await workspaces.use("default");
  clock.now = start + 30 * dayMs;
  const young = await workspaces.resolve("phone");
  clock.now = start + 90 * dayMs + 1;
  const isRunning = (id: string): Promise<boolean> => Promise.resolve(id === running.id);
  const shown = await workspaces.gc(gcOf({ dryRun: true, isRunning }));
  assert.equal((await workspaces.list()).length, 4);
  const taken = await workspaces.gc(gcOf({ isRunning }));
  assert.deepEqual(shown, taken);
  assert.deepEqual(
    taken.map(({ id }) => id),
    [old.id],
  );
  const left = (await workspaces.list()).map(({ id }) => id);
  assert.deepEqual(left.toSorted(), [running.id, "default", young.id].toSorted());
  assert.deepEqual(await bindings.list(), [{ deviceId: "phone", workspaceId: young.id }]);
  assert.deepEqual(await workspaces.gc(gcOf({ isRunning })), []);
});

test("[W6] a use spares a workspace for an hour, whatever age is requested", async (t) => {
  const { workspaces, clock } = await world(t);
  const { id } = await workspaces.create();
  clock.now += limits.recentUseMs;
  assert.deepEqual(await workspaces.gc(gcOf({ maxAgeDays: 0 })), []);
  clock.now += 1;
  assert.deepEqual(
    (await workspaces.gc(gcOf({ maxAgeDays: 0 }))).map((workspace) => workspace.id),
    [id],
  );
});

test("[W6] a workspace that is used while gc runs stays, with its devices", async (t) => {
  const { workspaces, bindings, clock } = await world(t);
  const { id } = await workspaces.resolve("phone");
  clock.now += 100 * dayMs;
  let looks = 0;
  const isRunning = async (): Promise<boolean> => {
    looks += 1;
    // This runs between the first check and the one under the lock.
    if (looks === 1) await workspaces.use(id);
    return false;
  };
  assert.deepEqual(await workspaces.gc(gcOf({ isRunning })), []);
  assert.equal((await workspaces.find(id)).id, id);
  assert.equal(await bindings.resolve("phone"), id);
});

test("[W6] a damaged workspace is never collected", async (t) => {
  const { workspaces, folder, clock } = await world(t);
  const { id } = await workspaces.create();
  await writeFile(workspacePaths(folder, id).workspace, "uuid =");
  clock.now = Date.now() + 1_000 * dayMs;
  assert.deepEqual(await workspaces.gc(gcOf({})), []);
  assert.equal((await workspaces.list())[0]?.id, id);
  await workspaces.delete(id, { isRunning: async () => false });
  assert.deepEqual(await workspaces.list(), []);
});

test("[P4] a permanent permission holds in its workspace until it is removed", async (t) => {
  const { workspaces, store, clock, folder } = await world(t);
  const [one, other] = [await workspaces.create(), await workspaces.create()];
  const permissions = new Permissions({ store, now: () => clock.now });
  assert.equal(await permissions.isAllowed(one.id, "run npm test"), false);
  await permissions.allow(one.id, "run npm test");
  clock.now += 1;
  await permissions.allow(one.id, "edit");
  await permissions.allow(one.id, "run npm test");
  // The next start and another process see the same.
  const again = new Permissions({ store: fileWorkspaces(folder), now: Date.now });
  assert.equal(await again.isAllowed(one.id, "edit"), true);
  assert.equal(await permissions.isAllowed(other.id, "edit"), false);
  assert.deepEqual(await permissions.list(one.id), [
    { key: "run npm test", allowedAt: start },
    { key: "edit", allowedAt: start + 1 },
  ]);
  assert.equal(await permissions.forget(one.id, "edit"), true);
  assert.equal(await permissions.forget(one.id, "edit"), false);
  assert.equal(await permissions.isAllowed(one.id, "edit"), false);
});

test("[P4] a workspace that does not exist allows nothing and stores nothing", async (t) => {
  const { store, folder } = await world(t);
  const permissions = new Permissions({ store, now: Date.now });
  assert.equal(await permissions.isAllowed(randomUUID(), "edit"), false);
  await assert.rejects(permissions.allow("default", "edit"), hasCode("workspace_unknown"));
  await assert.rejects(permissions.list("default"), hasCode("workspace_unknown"));
  await assert.rejects(permissions.isAllowed("..", "edit"), hasCode("workspace_invalid"));
  assert.deepEqual(await readdir(folder.dir), []);
});
