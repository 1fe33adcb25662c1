/** What a store must do with the rows of sessions. Lists and the tree of turns have files of their own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { newId } from "../../domain/ids.ts";
import type { Pin } from "../../domain/pin.ts";
import { sessionListTests } from "./session-lists.ts";
import { sessionTreeTests } from "./session-tree.ts";
import {
  ada,
  draftOf,
  openingOf,
  sampleOrgId,
  runSampleTurn,
  awkwardText,
  noon,
  readSession,
  sessionOf,
  startSession,
  type OpenRecordsForTest,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns";

export function sessionTests(open: OpenRecordsForTest<Parts>): void {
  sessionRowTests(open);
  sessionListTests(open);
  sessionTreeTests(open);
}

function sessionRowTests(open: OpenRecordsForTest<Parts>): void {
  test("[S6] a session is archived and restored, and lists show its current state", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const listed = async (archived: boolean): Promise<number> =>
      (await store.sessions.list({ orgId: sampleOrgId, userId: ada, limit: 10, archived })).sessions.length;
    const archived = await store.sessions.update(session.id, { archivedAt: noon + 5 }, noon + 5);
    assert.deepEqual(archived, { ...session, archivedAt: noon + 5, updatedAt: noon + 5 });
    assert.deepEqual(await readSession(store, session.id), archived);
    assert.deepEqual([await listed(true), await listed(false)], [1, 0]);
    assert.deepEqual(await store.turns.open(openingOf(draftOf(session))), { outcome: "archived" });
    await store.sessions.update(session.id, { archivedAt: null }, noon + 6);
    assert.deepEqual(await readSession(store, session.id), { ...session, updatedAt: noon + 6 });
    assert.deepEqual([await listed(true), await listed(false)], [0, 1]);
    await runSampleTurn(store, session.id);
    assert.equal(await store.sessions.update(newId(), { archivedAt: noon }, noon), null);
  });

  test("[S6] archiving and deleting change the times that they set and no other", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { archivedAt: noon + 1, deletedAt: noon + 2 });
    const marked = await store.sessions.update(session.id, { deletedAt: null }, noon + 3);
    assert.deepEqual(marked, { ...session, deletedAt: null, updatedAt: noon + 3 });
    assert.deepEqual(await store.sessions.update(session.id, {}, noon + 4), { ...marked, updatedAt: noon + 4 });
  });

  test("[S2] a name that the program proposes never replaces one that a user set", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { name: "Untitled", nameIsSet: false });
    const proposed = await store.sessions.update(session.id, { proposedName: "First line" }, null);
    assert.deepEqual(proposed, { ...session, name: "First line" });
    assert.deepEqual(await readSession(store, session.id), proposed);
    await store.sessions.update(session.id, { name: "mine" }, noon);
    await store.sessions.update(session.id, { proposedName: "other" }, null);
    assert.equal((await readSession(store, session.id)).name, "mine");
    assert.equal(await store.sessions.update("no-such-session", { proposedName: "nothing" }, null), null);
  });

  test("[B1] a session comes back as it was stored, with every field set or absent", async (context) => {
    const { store } = await open(context);
    const bare = sessionOf();
    const rich = sessionOf({
      name: awkwardText,
      nameIsSet: true,
      key: "null",
      description: `{"looks": "like JSON"}`,
      labels: ["", "a,b", awkwardText],
      isPublic: true,
      category: "",
      rating: 0,
      agentContextId: "[1]",
      conversationContextId: '"quoted"',
      workspaceId: newId(),
      repo: "it's/a repo",
      defaultLanguage: "de",
      metadata: { nested: { none: null, "a.b": [1.5, "2", false, {}] }, ["__proto__"]: 1, [awkwardText]: awkwardText },
      originTurnId: newId(),
      headTurnId: newId(),
      lastSequence: 12,
      lastTurnStatus: "awaiting_tool_results",
      lastTurnAt: noon + 1,
      tokensTotal: 2 ** 45,
      costUsd: 0.1 + 0.2,
      createdAt: noon - 3,
      updatedAt: noon - 2,
      activeAt: noon - 1,
      archivedAt: noon + 2,
      deletedAt: noon + 3,
    });
    for (const session of [bare, rich]) {
      await store.sessions.insert(session);
      assert.deepEqual(await store.sessions.get(session.id), session);
    }
  });

  test("[B1] an unknown id is null; a deleted session is still there", async (context) => {
    const { store } = await open(context);
    const deleted = await startSession(store, { deletedAt: noon });
    assert.equal(await store.sessions.get(newId()), null);
    assert.deepEqual(await store.sessions.get(deleted.id), deleted);
  });

  test("[B1] an object belongs to the caller: changing it changes no row", async (context) => {
    const { store } = await open(context);
    const session = sessionOf({ labels: ["a"] });
    const asItWas = structuredClone(session);
    await store.sessions.insert(session);
    session.labels.push("b");
    const found = await store.sessions.get(session.id);
    assert.deepEqual(found, asItWas);
    found?.labels.push("c");
    assert.deepEqual(await store.sessions.get(session.id), asItWas);
  });

  test("[B1] inserting an existing id is an error, and the first row stays", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { name: "first" });
    const second = { ...session, name: "second" };
    await assert.rejects(
      store.sessions.insert(second),
      (error) => error instanceof AptoveError && error.code === "storage_failed",
    );
    assert.deepEqual(await store.sessions.get(session.id), session);
  });

  test("[S1] [S9] a patch changes the fields that it names and the time of change", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { description: "old", category: "bug", rating: 3 });
    const patch = {
      key: "new-key",
      description: awkwardText,
      labels: ["x", "y"],
      isPublic: true,
      category: null,
      metadata: { theirs: [awkwardText] },
      model: "a/model",
      settings: { temperature: 0.5 },
    };
    const patched = await store.sessions.update(session.id, patch, noon + 5);
    assert.deepEqual(patched, { ...session, ...patch, updatedAt: noon + 5 });
    assert.deepEqual(await store.sessions.get(session.id), patched);
    assert.equal(await store.sessions.update(newId(), { name: "x" }, noon), null);
  });

  test("[M6] simultaneous pins are all kept as far as they fit; one is removed without the others", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const pinOf = (from: number): Pin => {
      const place = { turnId: session.id, depth: 1, part: "answer" as const, from, to: from + 400 };
      return { id: newId(), ...place, contentHash: "c", createdAt: noon };
    };
    const pins = [0, 1, 2, 3, 4].map(pinOf);
    const room = 4 * 130;
    await Promise.all(pins.map((pin) => store.sessions.update(session.id, { pins: { add: pin, room } }, noon + 1)));
    const kept = (await store.sessions.get(session.id))?.pins ?? [];
    assert.equal(kept.length, 4);
    for (const pin of kept)
      assert.deepEqual(
        pin,
        pins.find(({ id }) => id === pin.id),
      );
    const [first] = kept;
    const again = { add: { ...pinOf(first?.from ?? 0) }, room: 10_000 };
    assert.deepEqual((await store.sessions.update(session.id, { pins: again }, noon + 2))?.pins, kept);
    const left = await store.sessions.update(session.id, { pins: { remove: first?.id ?? "" } }, noon + 3);
    assert.deepEqual(left?.pins, kept.slice(1));
  });

  test("[U5] simultaneous names of turns are all kept, in the order of the turns, as far as there is room", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const name = (depth: number, words: string | null) => {
      const turnName = { turnId: `turn ${depth}`, depth, name: words };
      return store.sessions.update(session.id, { turnName }, noon + 1);
    };
    await Promise.all([3, 1, 2].map((depth) => name(depth, `name ${depth}`)));
    await name(2, "better");
    const named = await name(1, null);
    assert.deepEqual(named?.turnNames, [
      { turnId: "turn 2", depth: 2, name: "better" },
      { turnId: "turn 3", depth: 3, name: "name 3" },
    ]);
    for (let depth = 4; depth <= limits.turnNamesPerSessionMax + 2; depth += 1) await name(depth, "more");
    const full = await name(999, "one too many");
    assert.equal(full?.turnNames.length, limits.turnNamesPerSessionMax);
    assert.ok(!full.turnNames.some(({ depth }) => depth === 999));
    assert.equal((await name(2, "again"))?.turnNames[0]?.name, "again", "a full session can rename");
  });

  test("[S2] a given name is marked as set; other changes leave the name and the mark unchanged", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { name: "from the instruction" });
    const described = await store.sessions.update(session.id, { description: "d" }, noon + 1);
    assert.deepEqual([described?.name, described?.nameIsSet], ["from the instruction", false]);
    const named = await store.sessions.update(session.id, { name: "mine" }, noon + 2);
    assert.deepEqual([named?.name, named?.nameIsSet], ["mine", true]);
    const again = await store.sessions.update(session.id, { rating: 5 }, noon + 3);
    assert.deepEqual([again?.name, again?.nameIsSet], ["mine", true]);
  });

  test("[S1] simultaneous changes do not undo each other", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const patches = [{ name: "n" }, { key: "k" }, { description: "d" }, { labels: ["l"] }, { isPublic: true }];
    await Promise.all(patches.map((patch) => store.sessions.update(session.id, patch, noon + 1)));
    const { name, key, description, labels, isPublic, nameIsSet } = (await store.sessions.get(session.id)) ?? session;
    const all = { name, key, description, labels, isPublic, nameIsSet };
    assert.deepEqual(all, Object.assign({ nameIsSet: true }, ...patches));
  });
}
