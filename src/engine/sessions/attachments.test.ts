import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine, type TestEngine } from "../../../testing/engine.ts";
import { localOrgId } from "../../domain/caller.ts";
import { newId } from "../../domain/ids.ts";
import { folderKey, type Session } from "../../domain/session.ts";
import type { AttachmentPlace } from "../engine.ts";

const workspaceId = "550e8400-e29b-41d4-a716-446655440000";

/** A repository that has an origin; `/projects/old` and the like are gone. */
const here: AttachmentPlace = {
  folder: "/projects/shop",
  name: "team/shop",
  isRepository: true,
  hasFolder: (path) => path === "/projects/shop" || path === "/projects/other",
  workspaceState: (id) => Promise.resolve(id === workspaceId ? "exists" : id.length === 36 ? "gone" : "label"),
};
const outsideGit: AttachmentPlace = { ...here, name: "shop", isRepository: false };

interface Start {
  folder?: string;
  repo?: string;
  workspaceId?: string;
}

async function begin({ engine }: TestEngine, { folder, ...start }: Start): Promise<Session> {
  return await engine.sessions.create(alice, {
    ...start,
    ...(folder !== undefined && { metadata: { [folderKey]: folder } }),
  });
}

/** What `find` says of a session: its causes, and whether it is certain; null if it does not give it. */
async function causesOf({ engine }: TestEngine, session: Session, place = here): Promise<[string, boolean] | null> {
  const found = (await engine.sessions.attachments.find(alice, place)).find((one) => one.session.id === session.id);
  return found === undefined ? null : [found.causes.join(), found.isCertain];
}

test("[S7] sessions that lists of this folder have are not given", async (t) => {
  const world = await testEngine(t);
  await begin(world, { folder: "/projects/shop", repo: "team/shop", workspaceId });
  await begin(world, { folder: "/projects/other", repo: "team/other" });
  await begin(world, { repo: "team/other", workspaceId: "a label" });
  assert.deepEqual(await world.engine.sessions.attachments.find(alice, here), []);
});

test("[S7] a moved folder and another name are found, and what is certain is marked", async (t) => {
  const world = await testEngine(t);
  const cases: [start: Start, place: AttachmentPlace, causes: [string, boolean] | null][] = [
    [{ folder: "/projects/shop", repo: "shop" }, here, ["name_changed", true]],
    [{ folder: "/projects/shop", repo: "me/shop" }, here, ["name_changed", true]],
    [{ folder: "/projects/shop", workspaceId: "shop" }, here, ["name_changed", true]],
    [{ folder: "/projects/shop", workspaceId }, here, ["name_changed", true]],
    [{ folder: "/projects/shop", repo: "team/other" }, here, ["name_changed", false]],
    [{ folder: "/projects/old", repo: "team/shop" }, here, ["folder_moved", true]],
    [{ folder: "/home/me/shop", repo: "shop" }, here, ["folder_moved", true]],
    [{ folder: "/projects/old", repo: "old" }, here, ["folder_moved", false]],
    [{ folder: "/projects/shop", workspaceId: "shop" }, outsideGit, null],
    [{ folder: "/projects/shop", workspaceId }, outsideGit, null],
    [{ folder: "/projects/shop", workspaceId: "store" }, outsideGit, ["name_changed", false]],
    [{ folder: "/projects/old", workspaceId: "shop" }, outsideGit, ["folder_moved", true]],
    [{ folder: "C:\\projects\\shop", workspaceId: "x" }, outsideGit, ["folder_moved", true]],
  ];
  for (const [start, place, causes] of cases) {
    assert.deepEqual(await causesOf(world, await begin(world, start), place), causes, JSON.stringify(start));
  }
});

test("[S7] attaching gives a session the folder, the name and a workspace that exists, and then a list has it", async (t) => {
  const world = await testEngine(t);
  const { engine } = world;
  const moved = await begin(world, { folder: "/projects/old", repo: "old", workspaceId: newId() });
  assert.deepEqual(await causesOf(world, moved), ["folder_moved,workspace_gone", false]);
  const attached = await engine.sessions.attachments.attach(alice, moved.id, here);
  assert.deepEqual(
    [attached.metadata[folderKey], attached.repo, attached.workspaceId],
    ["/projects/shop", "team/shop", "default"],
  );
  assert.deepEqual([attached.name, attached.userId, attached.activeAt], [moved.name, moved.userId, moved.activeAt]);
  const { sessions } = await engine.sessions.list(alice, { repo: "team/shop" });
  assert.deepEqual(sessions, [attached]);
  const labelled = await begin(world, { folder: "/projects/shop", workspaceId: "shop" });
  assert.equal((await engine.sessions.attachments.attach(alice, labelled.id, here)).workspaceId, null);
  const outside = await begin(world, { folder: "/projects/old", repo: "old", workspaceId });
  const place = { ...outsideGit, workspaceState: here.workspaceState };
  const { repo, workspaceId: kept } = await engine.sessions.attachments.attach(alice, outside.id, place);
  assert.deepEqual([repo, kept], [null, workspaceId]);
  await assert.rejects(engine.sessions.attachments.attach(alice, moved.id, here), { code: "not_found" });
  await assert.rejects(engine.sessions.attachments.attach(alice, newId(), here), { code: "not_found" });
});

test("[S7] [B2] sessions whose owner the records do not know are the owner's of the data folder", async (t) => {
  const world = await testEngine(t);
  const { engine, deps } = world;
  for (const lost of [{ userId: newId() }, { userId: newId(), orgId: newId() }]) {
    const session = { ...(await begin(world, {})), ...lost, id: newId() };
    await deps.records.sessions.insert(session);
    await assert.rejects(engine.sessions.get(alice, session.id), { code: "not_found" });
    assert.deepEqual(await causesOf(world, session), ["owner_unknown", true]);
    await engine.sessions.attachments.attach(alice, session.id, here);
    const { userId, orgId } = await engine.sessions.get(alice, session.id);
    assert.deepEqual([userId, orgId], [alice.userId, alice.orgId]);
  }
});

test("[S7] [H4] another person's private session must be named, and nothing of another org is ever given", async (t) => {
  const world = await testEngine(t);
  const { engine, deps } = world;
  const at = { createdAt: 0, email: null, externalId: null, disabledAt: null };
  const [orgId, bob, eve] = [newId(), newId(), newId()];
  await deps.records.people.insertOrg({ id: orgId, name: "other", createdAt: 0, suspendedAt: null });
  await deps.records.people.insertUser({ id: bob, orgId: localOrgId, name: "Bob", role: "member", ...at });
  await deps.records.people.insertUser({ id: eve, orgId, name: "Eve", role: "member", ...at });
  const base = await begin(world, {});
  const bobs = { ...base, id: newId(), userId: bob };
  const shared = { ...bobs, id: newId(), isPublic: true, workspaceId: newId() };
  const eves = { ...base, id: newId(), orgId, userId: eve };
  for (const session of [bobs, shared, eves]) await deps.records.sessions.insert(session);
  const found = await engine.sessions.attachments.find(alice, here);
  assert.deepEqual(
    found.map(({ session, causes, ownerName, isCertain }) => [session.id, causes, ownerName, isCertain]),
    [[bobs.id, ["other_owner"], "Bob", false]],
  );
  for (const { id } of [shared, eves]) {
    await assert.rejects(engine.sessions.attachments.attach(alice, id, here), { code: "not_found" });
  }
  assert.deepEqual(await deps.records.sessions.get(eves.id), eves);
});

test("[S7] [S6] removed sessions are not given", async (t) => {
  const world = await testEngine(t);
  const session = await begin(world, { folder: "/projects/old", repo: "team/shop" });
  await world.engine.tree.remove(alice, session.id);
  assert.equal(await causesOf(world, session), null);
});

test("[S7] [H4] only the owner of the data folder may find and attach, and the audit log has it", async (t) => {
  const world = await testEngine(t);
  const { engine } = world;
  const session = await begin(world, { folder: "/projects/old", repo: "team/shop" });
  const others = [
    { ...alice, role: "member" as const },
    { ...alice, orgId: newId() },
    { ...alice, keyId: newId() },
    { ...alice, deviceId: "phone", workspaceId },
  ];
  for (const caller of others) {
    await assert.rejects(engine.sessions.attachments.find(caller, here), { code: "forbidden" });
    await assert.rejects(engine.sessions.attachments.attach(caller, session.id, here), { code: "forbidden" });
  }
  await engine.sessions.attachments.attach(alice, session.id, here);
  const { entries } = await engine.audit.list(alice, { action: "session.attach" });
  assert.ok(entries.every(({ targetId }) => targetId === session.id));
  assert.deepEqual(entries.map(({ outcome }) => outcome).toSorted(), ["done", "forbidden", "forbidden", "forbidden"]);
});
