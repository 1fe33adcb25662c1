/** Workspaces over HTTP: who sees which, how they are made and deleted, and what each keeps (W1, W5, W6, P4). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testDoor, type TestDoor } from "../../../../testing/http-door.ts";
import { managedWorkspaces, type ManagedForTest } from "../../../../testing/managed-workspaces.ts";
import { newId } from "../../../domain/ids.ts";
import type { Session } from "../../../domain/session.ts";
import type { Script } from "../../../providers/scripted/scripted.ts";
import { currentTranscriptName } from "../../../workspace/transcript-store.ts";

const minuteMs = 60_000;

interface World extends TestDoor, ManagedForTest {
  /** Begins the next session of the workspace. */
  begin(workspaceId: string): Promise<Session>;
}

async function world(t: TestContext, script: Script = () => "Noted."): Promise<World> {
  const managed = managedWorkspaces(() => door.deps);
  const door: TestDoor = await testDoor(t, { workspaces: managed.parts, script });
  const begin = async (workspaceId: string): Promise<Session> =>
    (await door.engine.workspaceSessions.begin(door.admin, { workspaceId })).session;
  return { ...door, ...managed, begin };
}

test("[W1] [W4] [H2] a workspace is made, listed with its devices and its current session, and shown", async (t) => {
  const { client, bindings, begin, clock } = await world(t);
  const { workspaces, execute } = client();
  assert.deepEqual(await workspaces.list(), []);
  const made = await workspaces.create({ name: "project-x", provider: "scripted" });
  assert.match(made.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  assert.deepEqual(
    [made.name, made.provider, made.devices, made.damage, made.transcript?.sessionId],
    ["project-x", "scripted", [], null, null],
  );
  await bindings.bind("Ada's phone", made.id);
  clock.now += 2 * minuteMs;
  const answer = await execute({ instruction: "Which tests are slow?", workspaceId: made.id });
  const [listed, ...others] = await workspaces.list();
  assert.deepEqual(others, []);
  assert.deepEqual(listed?.devices, ["Ada's phone"]);
  assert.equal(listed.transcript?.sessionId, answer.sessionId);
  // The boot prompt, the instruction and the answer.
  assert.deepEqual([listed.transcript.messages, listed.transcript.isEdited], [3, false]);
  assert.equal(listed.lastAccessedAt, new Date(clock.now).toISOString());
  assert.deepEqual(await workspaces.get(made.id), listed);
  assert.equal((await begin(made.id)).originTurnId, answer.turnId);
});

test("[W1] [H3] bad requests about workspaces are refused with a code", async (t) => {
  const { refused, client, person } = await world(t);
  await refused("request_invalid", "POST /api/workspaces", { json: { name: "two\nlines" } });
  await refused("request_invalid", "POST /api/workspaces", { json: { name: "x", path: "/etc" } });
  await refused("provider_unknown", "POST /api/workspaces", { json: { provider: "missing" } });
  await refused("forbidden", "POST /api/workspaces", { json: {}, as: await person("member") });
  await refused("forbidden", "POST /api/workspaces", { json: {}, as: await person("admin", newId()) });
  for (const id of ["..%2F..", "default", "00000000-0000-4000-8000-000000000000"]) {
    await refused("workspace_unknown", `GET /api/workspaces/${id}`);
  }
  await refused("workspace_invalid", "GET /api/workspaces/..%2F../transcript");
  await refused("workspace_unknown", "GET /api/workspaces/default/transcript");
  await refused("workspace_unknown", "DELETE /api/workspaces/default");
  const { id } = await client().workspaces.create();
  await refused("workspace_unknown", `GET /api/workspaces/${id}`, { as: await person("member") });
  await refused("forbidden", `DELETE /api/workspaces/${id}`, { as: await person("reader") });
  assert.deepEqual(await client({ key: (await person("member")).key }).workspaces.list(), []);
});

test("[P3] [H4] a device of an admin sees its own workspace only, and deletes none", async (t) => {
  const { engine, admin, client, refused } = await world(t);
  const { workspaces } = client();
  const [own, other] = [await workspaces.create({ name: "own" }), await workspaces.create({ name: "other" })];
  const { code } = await engine.devices.pair(admin, { workspaceId: own.id });
  const { token } = await engine.devices.claim({ code, name: "phone" });
  const as = { ...admin, key: token };
  const onDevice = client({ key: token }).workspaces;
  assert.deepEqual(
    (await onDevice.list()).map(({ id }) => id),
    [own.id],
  );
  assert.equal((await onDevice.get(own.id)).name, "own");
  const { hash } = await onDevice.transcript(own.id);
  await onDevice.correctTranscript(own.id, { text: "## User\n\nhi\n", expectedHash: hash ?? "" });
  for (const line of ["GET", "DELETE"])
    await refused("workspace_unknown", `${line} /api/workspaces/${other.id}`, { as });
  for (const part of ["transcript", "permissions", "memory"]) {
    await refused("workspace_unknown", `GET /api/workspaces/${other.id}/${part}`, { as });
  }
  await refused("forbidden", `DELETE /api/workspaces/${own.id}`, { as });
  await refused("forbidden", "POST /api/workspaces", { as, json: {} });
});

test("[W5] a correction over HTTP is what the next session begins with", async (t) => {
  const { client, begin, engine, admin } = await world(t);
  const { workspaces, execute } = client();
  const { id } = await workspaces.create();
  await execute({ instruction: "Use Go.", workspaceId: id });
  const shown = await workspaces.transcript(id);
  assert.match(shown.text ?? "", /## User\n\nUse Go\.\n\n## Assistant\n\nNoted\.\n$/);
  const text = (shown.text ?? "").replace("Use Go.", "Use Rust.");
  const corrected = await workspaces.correctTranscript(id, { text, expectedHash: shown.hash ?? "" });
  assert.equal(corrected.text, text);
  assert.equal((await workspaces.get(id)).transcript?.isEdited, true);
  const next = await begin(id);
  const history = await engine.turns.history(admin, next.originTurnId ?? "");
  assert.match(JSON.stringify(history), /Use Rust\./);
  assert.doesNotMatch(JSON.stringify(history), /Use Go\./);
});

test("[W5] [H3] a correction of a file that changed, or that cannot be parsed, is refused and changes nothing", async (t) => {
  const { client, refused, transcripts } = await world(t);
  const { workspaces } = client();
  const { id } = await workspaces.create();
  const { hash } = await workspaces.transcript(id);
  const content = Buffer.from("## User\n\nfrom an editor\n");
  await transcripts.write(id, currentTranscriptName, { content });
  const line = `PUT /api/workspaces/${id}/transcript`;
  await refused("transcript_changed", line, { json: { text: "## User\n\nmine\n", expectedHash: hash } });
  const now = await workspaces.transcript(id);
  assert.equal(now.text, content.toString());
  const problem = await refused("transcript_invalid", line, { json: { text: "\nhello\n", expectedHash: now.hash } });
  assert.equal(problem["line"], 2);
  assert.deepEqual(await workspaces.transcript(id), now);
});

test("[W5] [H3] of two first corrections at once over HTTP one is written, and the other one conflicts", async (t) => {
  const { client } = await world(t);
  const { workspaces } = client();
  const { id } = await workspaces.create();
  const { hash } = await workspaces.transcript(id);
  const texts = ["## User\n\nmine\n", "## User\n\nyours\n"];
  const outcomes = await Promise.allSettled(
    texts.map((text) => workspaces.correctTranscript(id, { text, expectedHash: hash ?? "" })),
  );
  const written = outcomes.findIndex(({ status }) => status === "fulfilled");
  const codes = outcomes.flatMap((one) => (one.status === "rejected" ? [(one.reason as { code: string }).code] : []));
  assert.deepEqual(codes, ["transcript_changed"]);
  assert.equal((await workspaces.transcript(id)).text, texts[written]);
});

test("[W6] a workspace is deleted unless a turn runs there or it was used since; its sessions stay", async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const script: Script = (_call, n) => (n === 3 ? [{ says: ["it begins", released, " and ends"] }] : "Noted.");
  const { client, refused, bindings, clock, engine, admin, start } = await world(t, script);
  const { workspaces, sessions, execute } = client();
  const seen = await workspaces.create();
  const { id } = seen;
  const { sessionId } = await execute({ instruction: "hello", workspaceId: id });
  await bindings.bind("phone", id);
  clock.now += 2 * minuteMs;
  await execute({ instruction: "again", sessionId });
  await refused("workspace_busy", `DELETE /api/workspaces/${id}?unusedSince=${seen.lastAccessedAt}`);
  // The turn of another person of the org, whose sessions the caller does not see.
  const slow = await start("slowly", { workspaceId: id });
  await refused("workspace_busy", `DELETE /api/workspaces/${id}`);
  release();
  await slow.finished;
  await workspaces.delete(id, { unusedSince: (await workspaces.get(id)).lastAccessedAt });
  await refused("workspace_unknown", `GET /api/workspaces/${id}`);
  assert.deepEqual(await bindings.list(), []);
  assert.equal((await sessions.get(sessionId)).workspaceId, id);
  const { entries } = await engine.audit.list(admin, {});
  assert.deepEqual(
    entries.filter(({ action }) => action === "workspace.delete").map(({ outcome }) => outcome),
    ["done", "workspace_busy", "workspace_busy"],
  );
});

test("[P4] permissions of a workspace are listed and removed", async (t) => {
  const { client, refused, permissions, engine, admin } = await world(t);
  const { workspaces } = client();
  const { id } = await workspaces.create();
  const key = 'run npm test in "/srv/shop & more"';
  await permissions.allow(id, key);
  await permissions.allow(id, "edit");
  assert.deepEqual((await workspaces.permissions(id)).map((one) => one.key).toSorted(), ["edit", key].toSorted());
  await workspaces.forgetPermission(id, key);
  assert.equal(await permissions.isAllowed(id, key), false);
  assert.equal(await permissions.isAllowed(id, "edit"), true);
  await refused("not_found", `DELETE /api/workspaces/${id}/permissions?key=none`);
  const { entries } = await engine.audit.list(admin, {});
  assert.doesNotMatch(JSON.stringify(entries), /npm test/);
});
