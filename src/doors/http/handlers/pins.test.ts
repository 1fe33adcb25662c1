import assert from "node:assert/strict";
import { test } from "node:test";
import { testDoor } from "../../../../testing/http-door.ts";

test("[M6] [H2] a passage is pinned, listed and unpinned by its routes, and the manifest of the next turn has it", async (t) => {
  const { client, refused } = await testDoor(t, { script: () => "the key rotates on Tuesday" });
  const api = client();
  const { sessionId, turnId } = await api.execute({ instruction: "when?" });
  const pin = await api.sessions.pin(sessionId, { turnId, text: "on Tuesday" });
  const passage = { turnId, part: "answer", from: 16, to: 26 };
  assert.partialDeepStrictEqual(pin, { ...passage, number: 1, text: "on Tuesday", isInHistory: true });
  assert.deepEqual(await api.sessions.pin(sessionId, { turnId, part: "answer", from: 16, to: 26 }), pin);
  assert.deepEqual(await api.sessions.pins(sessionId), [pin]);
  const next = await api.execute({ instruction: "and then?", sessionId, compact: true });
  const { manifest } = await api.turns.get(next.turnId);
  const { contentHash } = pin;
  assert.deepEqual(manifest.pins, [{ ...passage, contentHash, given: "passage", wasSent: true }]);
  const at = `POST /api/sessions/${sessionId}/pins`;
  await refused("pin_invalid", at, { json: { turnId, text: "on Monday" } });
  await refused("request_invalid", at, { json: { turnId, part: "all" } });
  assert.deepEqual(await api.sessions.unpin(sessionId, pin.id), []);
  assert.deepEqual(await api.sessions.unpin(sessionId, pin.id), []);
});

test("[U5] [H2] a turn is named and renamed by its routes; a fork takes over the names above it and keeps its own; an import has them", async (t) => {
  const { client, refused, engine, admin } = await testDoor(t);
  const api = client();
  const first = await api.execute({ instruction: "one" });
  const { sessionId } = first;
  const second = await api.execute({ instruction: "two", sessionId });
  await api.sessions.nameTurn(sessionId, second.turnId, "a dead end");
  const names = await api.sessions.nameTurn(sessionId, first.turnId, "  a good\nstart ");
  assert.deepEqual(names, [
    { turnId: first.turnId, name: "a good start" },
    { turnId: second.turnId, name: "a dead end" },
  ]);
  const fork = await api.sessions.create({ forkOf: first.turnId });
  assert.deepEqual(await api.sessions.turnNames(fork.id), names.slice(0, 1));
  await api.sessions.nameTurn(fork.id, first.turnId, "the origin");
  assert.deepEqual((await api.sessions.graph(fork.id)).names, [{ turnId: first.turnId, name: "the origin" }]);
  assert.deepEqual((await api.sessions.graph(sessionId)).names, names);
  const at = `PUT /api/sessions/${sessionId}/turn-names`;
  for (const name of ["", " ", "x".repeat(81)])
    await refused("request_invalid", `${at}/${first.turnId}`, { json: { name } });
  const other = await api.execute({ instruction: "elsewhere" });
  await refused("not_found", `${at}/${other.turnId}`, { json: { name: "x" } });
  assert.deepEqual(await api.sessions.nameTurn(sessionId, second.turnId, null), names.slice(0, 1));
  const there = await testDoor(t);
  await there.engine.transfer.import(there.admin, engine.transfer.export(admin, { sessionId }));
  assert.deepEqual(await there.client().sessions.turnNames(sessionId), names.slice(0, 1));
});

test("[U5] [S1] the name of a turn, and one that a person sets for a session, is one line without control characters", async (t) => {
  const { client } = await testDoor(t);
  const api = client();
  const { sessionId, turnId } = await api.execute({ instruction: "x" });
  const names: [given: string, kept: string][] = [
    ["\u001b[31mred\u0007", "[31mred"],
    ["a\u0001b", "a b"],
    ["two\r\nlines\u2028three", "two lines three"],
    ["back\u0008\u007f\u009bspace", "back space"],
    // These only turn the direction of writing, and the page isolates them.
    ["\u202eright\u202c \u2067left\u2069", "\u202eright\u202c \u2067left\u2069"],
    ["👩‍👩‍👧 שלום", "👩‍👩‍👧 שלום"],
  ];
  for (const [given, kept] of names) {
    assert.deepEqual(await api.sessions.nameTurn(sessionId, turnId, given), [{ turnId, name: kept }]);
    assert.equal((await api.sessions.update(sessionId, { name: given })).name, kept);
    assert.equal((await api.sessions.create({ name: given })).name, kept);
    const { sessionId: made } = await api.execute({ instruction: "x", session: { name: given } });
    assert.equal((await api.sessions.get(made)).name, kept);
  }
});
