import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import fc from "fast-check";
import { alice, all, testEngine, type TestEngine } from "../../../testing/engine.ts";
import { ForgedFile } from "../../../testing/forged-exports.ts";
import { hasCode } from "../../../testing/refusals.ts";
import type { Caller } from "../../domain/caller.ts";
import { AptoveError, type ErrorCode } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { FinishedTurn } from "../../domain/turn.ts";

const carol: Caller = { ...alice, userId: newId(), role: "member" };

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

/** What is stored, in whatever form: equal only where nothing was written. */
async function stored({ deps, engine }: TestEngine): Promise<unknown> {
  const keys = (await deps.blobs.list("turns/")).filter((key) => !key.includes("/progress-")).toSorted();
  const { sessions } = await engine.sessions.list(alice, {});
  const turns = await Promise.all(sessions.map(({ id }) => deps.records.turns.list(id, { limit: 100 })));
  return { keys, sessions, turns, ofCarol: (await engine.sessions.list(carol, {})).sessions };
}

/** The file is refused, and nothing was written. */
async function refuses(
  there: TestEngine,
  lines: readonly string[] | AsyncIterable<string>,
  {
    code = "import_invalid",
    detail = /./,
    caller = alice,
  }: { code?: ErrorCode; detail?: RegExp; caller?: Caller } = {},
): Promise<void> {
  const before = await stored(there);
  const source = Symbol.asyncIterator in lines ? lines : each(lines);
  await assert.rejects(there.engine.transfer.import(caller, source), hasCode(code, detail));
  assert.deepEqual(await stored(there), before);
}

async function sample(t: TestContext) {
  const here = await testEngine(t);
  const turns: FinishedTurn[] = [];
  for (const text of ["one", "two", "three", "four", "five"]) {
    const [first] = turns;
    turns.push(await here.ask(text, first === undefined ? {} : { sessionId: first.sessionId }));
  }
  const [one = assert.fail(), two = assert.fail(), three = assert.fail(), four = assert.fail(), five = assert.fail()] =
    turns;
  const lines = await all(here.engine.transfer.export(alice, { sessionId: one.sessionId }));
  return { here, there: await testEngine(t), lines, sessionId: one.sessionId, one, two, three, four, five };
}

test("[D2] a file that was cut anywhere is refused as a whole", async (t) => {
  const { there, lines } = await sample(t);
  await refuses(there, [], { detail: /empty/ });
  for (let length = 1; length < lines.length; length += 1) await refuses(there, lines.slice(0, length));
  for (const line of [1, 5, lines.length - 1]) {
    await refuses(there, [...lines.slice(0, line), (lines[line] ?? "").slice(0, -20)], { detail: /not JSON/ });
  }
  async function* broken(): AsyncGenerator<string> {
    yield* lines.slice(0, 7);
    throw new AptoveError("storage_failed", "the disk is gone");
  }
  await refuses(there, broken(), { code: "storage_failed" });
  assert.equal((await there.engine.transfer.import(alice, each(lines))).turnsImported, 5);
});

test("[D2] a file in which any one character is another is refused as a whole", async (t) => {
  const { there, lines } = await sample(t);
  const place = fc.nat({ max: lines.length - 1 }).chain((line) =>
    fc.record({
      line: fc.constant(line),
      at: fc.nat({ max: (lines[line]?.length ?? 1) - 1 }),
      other: fc.constantFrom("0", "a", " ", '"', "}", "\\", "é"),
    }),
  );
  const property = fc.asyncProperty(place, async ({ line, at, other }) => {
    const was = lines[line] ?? "";
    const altered = was.slice(0, at) + other + was.slice(at + 1);
    // The version of the program is not checked, but the seal of the lines covers it.
    fc.pre(altered !== was);
    await refuses(there, lines.with(line, altered));
  });
  await fc.assert(property, { numRuns: 150 });
});

test("[D2] lines that were doubled, left out, swapped, or put behind the end are refused", async (t) => {
  const { there, lines } = await sample(t);
  for (let at = 1; at < lines.length - 1; at += 1) {
    const line = lines[at] ?? "";
    await refuses(there, lines.toSpliced(at, 0, line));
    await refuses(there, lines.toSpliced(at, 1));
    await refuses(there, lines.with(at, lines[at + 1] ?? "").with(at + 1, line));
  }
  await refuses(there, [...lines, lines[1] ?? ""], { detail: /after the end/ });
  await refuses(there, [...lines, ...lines], { detail: /after the end/ });
  assert.equal((await there.engine.transfer.import(alice, each([...lines, ""]))).turnsImported, 5);
});

test("[B2] [D2] a file of a newer format is refused, and the error differs from that for a file that is no export", async (t) => {
  const { there, lines } = await sample(t);
  await refuses(there, ['{"aptove":"export","format":4,"version":"9.9","more":1}', ...lines.slice(1)], {
    code: "import_newer",
    detail: /format 4.*up to 3/,
  });
  const none = [
    "",
    "null",
    "[]",
    "{}",
    '{"aptove":"export"}',
    '{"aptove":"export","format":0,"version":"1"}',
    '{"aptove":"export","format":"1","version":"1"}',
    '{"aptove":"config","format":1,"version":"1"}',
    "\u0000\u0001\ufffd\ufffd",
    "PK\u0003\u0004",
    "\ud800",
    "two\nlines",
    `"${"x".repeat(1_000)}"`,
    "[".repeat(100_000),
  ];
  for (const line of none) await refuses(there, [line, ...lines.slice(1)], { detail: /line 1/ });
});

test("a line of 50 MB is not taken", async (t) => {
  const { there, lines } = await sample(t);
  const long = JSON.stringify({ kind: "part", base64: "A".repeat(50_000_000) });
  await refuses(there, [...lines.slice(0, 3), long], { detail: new RegExp(`line 4.*${limits.importLineBytesMax}`) });
});

/** A file by an author who knows the format: everything is sealed again, and it must still be refused. */
const forgeries: [string, RegExp, (file: ForgedFile, at: Awaited<ReturnType<typeof sample>>) => void][] = [
  ["unknown kinds", /kind "key"/, (file) => file.lines.splice(2, 0, { kind: "key" } as never)],
  [
    "a blob that is none of the turn",
    /key of a turn's blob/,
    (file, { one }) => {
      file.blob(one.blobs.run).key = "sessions/x.json";
    },
  ],
  [
    "a key that leaves the folder",
    /key of a turn's blob/,
    (file, { one }) => {
      file.blob(one.blobs.run).key = `turns/${one.id}/../run.json`;
    },
  ],
  [
    "a blob of another turn",
    /does not precede it/,
    (file, { one }) => {
      file.row(1).blobs.run = one.blobs.run;
    },
  ],
  [
    "a blob with another turn's content",
    /belongs to another turn/,
    (file, { one, two }) => {
      file.edit(two.blobs.run, (run) => (run.turnId = one.id));
    },
  ],
  [
    "a state that builds on a turn elsewhere",
    /does not build on the turn of depth 4/,
    (file, { five }) => {
      file.edit(five.blobs.state, (state) => (state.base = newId()));
    },
  ],
  [
    "a state that builds on a turn beside the right one",
    /does not build on the turn of depth 2/,
    (file, at) => {
      file.edit(at.three.blobs.state, (state) => (state.base = at.one.id));
    },
  ],
  [
    "a state that leaves turns out",
    /not the history/,
    (file, { four }) => {
      file.edit(four.blobs.state, (state) => (state.entries as unknown[]).shift());
    },
  ],
  [
    "a request that builds on a turn elsewhere",
    /not an ancestor/,
    (file, { five }) => {
      file.edit(five.blobs.opening, (opening) => (opening.base = newId()));
    },
  ],
  ["half a token", /input.*whole number/, (file) => (file.row(1).run.usage.input = 1.5)],
  ["a wrong depth", /depth/, (file) => (file.row(2).depth = 9)],
  [
    "a first turn with another id",
    /session's id/,
    (file, { one }) => file.rename(`"id":"${one.id}","sess`, `"id":"${newId()}","sess`),
  ],
  ["a later turn with the session's id", /session's id/, (file) => (file.row(0).sequence = 9)],
  ["a number twice", /number 2/, (file) => (file.row(2).sequence = 2)],
  ["a turn that continues itself", /depends on/, (file) => (file.row(0).parentId = file.row(0).id)],
  ["a parent that comes later", /depends on/, (file, { three }) => (file.row(1).parentId = three.id)],
  ["a turn of no session", /its session/, (file) => (file.row(1).sessionId = newId())],
  ["a head that is not there", /head/, (file) => (file.session.headTurnId = newId())],
  ["an origin that is not there", /origin/, (file) => (file.session.originTurnId = newId())],
  ["an origin that is its own head", /origin/, (file, { five }) => (file.session.originTurnId = five.id)],
  ["an origin that is its own first turn", /origin/, (file, { one }) => (file.session.originTurnId = one.id)],
  [
    "a turn that is named twice",
    /turnNames names a turn twice/,
    (file, { one: { id: turnId, depth } }) =>
      (file.session.turnNames = ["a", "b"].map((name) => ({ turnId, depth, name }))),
  ],
  ["a temperature that no door takes", /temperature/, (file) => (file.session.settings = { temperature: 1e308 })],
  ["a negative top p", /topP/, (file) => (file.session.settings = { topP: -0.1 })],
  ["a negative limit", /maxOutputTokens.*from 1/, (file) => (file.session.settings = { maxOutputTokens: -5 })],
  ["a turn that still runs", /status/, (file) => Object.assign(file.row(4), { status: "pending" })],
  ["a field that is not known", /digset/, (file) => Object.assign(file.row(0), { digset: 1 })],
  [
    "a field that is missing",
    /answerSummary/,
    (file) => void delete (file.row(0) as { answerSummary?: 1 }).answerSummary,
  ],
  ["a number that is text", /createdAt/, (file) => Object.assign(file.row(0), { createdAt: "1" })],
  ["an id that is a path", /\.id is not an id/, (file) => Object.assign(file.session, { id: "../../etc" })],
  ["a code that is none", /failures|status|stopReason/, (file) => Object.assign(file.row(0), { stopReason: "why" })],
  ["an owner", /userId/, (file) => Object.assign(file.session, { userId: newId() })],
  ["a name that is a book", /name/, (file) => (file.session.name = "x".repeat(limits.fieldCharactersMax + 1))],
  [
    "metadata without end",
    /metadata/,
    (file) => {
      file.session.metadata = JSON.parse(`{"a":${"[".repeat(5_000)}${"]".repeat(5_000)}}`) as Record<string, unknown>;
    },
  ],
  ["steps of another turn", /steps/, (file, { two }) => Object.assign(file.steps(0)[0] ?? {}, { turnId: two.id })],
  [
    "events that are none",
    /events\[0\]/,
    (file, { one }) => {
      file.edit(one.blobs.run, (run) => (run.events = [{ type: "nonsense" }]));
    },
  ],
  ["an answer without a run", /no run or no state/, (file) => (file.row(4).blobs.run = null)],
];

for (const [what, detail, forge] of forgeries) {
  test(`[D2] [H4] an import refuses ${what}, however well it is sealed`, async (t) => {
    const at = await sample(t);
    const file = new ForgedFile(at.lines);
    forge(file, at);
    await refuses(at.there, file.sealed(), { detail });
  });
}

test("[D2] [T6] a fork begins below its origin in the file, too, and not below a turn of its own", async (t) => {
  const { here, there, lines, one, two, three, sessionId } = await sample(t);
  const fork = await here.ask("another three", { fork: { turnId: two.id } });
  const forked = await all(here.engine.transfer.export(alice, { sessionId: fork.sessionId }));
  for (const origin of [null, one.id, three.id, fork.id]) {
    const file = new ForgedFile(forked);
    Object.assign(file.sessions[1] ?? {}, { originTurnId: origin });
    await refuses(there, file.sealed(), { detail: /at another turn than the session's origin/ });
  }
  await there.engine.transfer.import(alice, each(await all(here.engine.transfer.export(alice, { turnId: two.id }))));
  const rest = new ForgedFile(lines);
  for (const { id } of [one, two]) rest.drop(id);
  rest.session.originTurnId = one.id;
  await refuses(there, rest.sealed({ digests: false }), { detail: /begins below a turn of its own/ });
  assert.equal((await there.engine.transfer.import(alice, each(forked))).turnsImported, 1);
  assert.equal((await there.engine.explain.verify(alice, fork.sessionId)).turnsChecked, 3);
  assert.equal((await there.engine.explain.verify(alice, sessionId)).turnsChecked, 2);
});

test("[D2] [T6] turns are not added to a session that begins elsewhere here", async (t) => {
  const { here, there, lines, two } = await sample(t);
  await there.engine.transfer.import(alice, each(lines));
  const fork = await here.engine.sessions.create(alice, { forkOf: two.id });
  await there.deps.records.sessions.insert({ ...fork, originTurnId: null });
  await here.ask("another three", { sessionId: fork.id });
  const forked = await all(here.engine.transfer.export(alice, { sessionId: fork.id }));
  await refuses(there, forked, { code: "import_conflict", detail: /begins below another turn here/ });
});

test("[S2] a session whose name an earlier version left blank is imported with its id as its name", async (t) => {
  const { there, lines, sessionId } = await sample(t);
  const file = new ForgedFile(lines);
  file.session.name = " \u2028";
  const report = await there.engine.transfer.import(alice, each(file.sealed()));
  assert.deepEqual(report.sessions, [{ id: sessionId, name: sessionId, isNew: true }]);
  assert.equal((await there.engine.sessions.get(alice, sessionId)).name, sessionId);
});

test("[D2] turns that were changed are refused, though the file is sealed again", async (t) => {
  const { there, lines, two } = await sample(t);
  const changes: ((file: ForgedFile) => void)[] = [
    (file) => Object.assign(file.row(1), { answerSummary: "No." }),
    (file) => Object.assign(file.row(1), { digest: null }),
    (file) => Object.assign(file.steps(1)[0] ?? {}, { responseId: "other" }),
    (file) => file.edit(two.blobs.run, (run) => (run.events as unknown[]).splice(1, 1)),
    (file) => void file.steps(1).pop(),
  ];
  for (const change of changes) {
    const file = new ForgedFile(lines);
    change(file);
    await refuses(there, file.sealed({ digests: false }), {
      detail: new RegExp(`the digest of turn ${two.id} does not match`),
    });
  }
});

test("turns that rest on others come only where those are, and may be seen and continued", async (t) => {
  const { here, there, lines, one, two } = await sample(t);
  const file = new ForgedFile(lines);
  file.drop(one.id);
  file.drop(two.id);
  const rest = file.sealed({ digests: false });
  await refuses(there, rest, { detail: new RegExp(`depends on the turn ${two.id}`) });

  const branch = await all(here.engine.transfer.export(alice, { turnId: two.id }));
  await there.engine.transfer.import(alice, each(branch));
  const report = await there.engine.transfer.import(alice, each(rest));
  assert.deepEqual([report.turnsImported, report.sessions[0]?.isNew], [3, false]);
  assert.equal((await there.engine.explain.verify(alice, one.sessionId)).turnsChecked, 5);
  const next = await (await there.engine.turns.run(alice, { instruction: "six", sessionId: one.sessionId })).finished;
  assert.equal(next.depth, 6);
});

test("[H4] a file that continues another user's turns gives no access to them", async (t) => {
  const { there, lines, one, two, sessionId } = await sample(t);
  await there.engine.transfer.import(alice, each(lines));
  const file = new ForgedFile(lines);
  file.drop(one.id);
  file.drop(two.id);
  const own = newId();
  file.session.id = own;
  file.session.headTurnId = null;
  for (const { turn } of file.turns) Object.assign(turn, { sessionId: own });
  for (const { turn } of [...file.turns]) file.rename(turn.id, newId());
  await refuses(there, file.sealed({ digests: false }), { detail: /depends on/, caller: carol });
  const fork = new ForgedFile(lines.slice(0, 2).concat(lines.slice(-1)));
  Object.assign(fork.session, { id: own, headTurnId: null, originTurnId: two.id });
  await refuses(there, fork.sealed(), { detail: /depends on/, caller: carol });
  await there.engine.sessions.update(alice, sessionId, { isPublic: true });
  assert.equal((await there.engine.transfer.import(carol, each(fork.sealed()))).sessions[0]?.isNew, true);
});

test("a turn that is here with another content is a conflict, and nothing of the file is taken", async (t) => {
  const { there, lines, three, sessionId } = await sample(t);
  await there.engine.transfer.import(alice, each(lines));
  const file = new ForgedFile(lines);
  Object.assign(file.row(2), { answerSummary: "Something else." });
  await refuses(there, file.sealed(), {
    code: "import_conflict",
    detail: new RegExp(`turn ${three.id} is already stored`),
  });
  const extended = new ForgedFile(lines);
  Object.assign(extended.row(4), { rerunOf: newId() });
  extended.session.name = "Another";
  await refuses(there, extended.sealed(), { code: "import_conflict" });
  assert.equal((await there.engine.sessions.get(alice, sessionId)).name, "one");
});

test("[D2] [S7] an import refuses a time beyond the year 9999 in any place, because lists could not write it", async (t) => {
  const { there, lines, one } = await sample(t);
  const pin = { turnId: one.id, part: "answer", from: 0, to: 1, contentHash: "0".repeat(64), id: newId(), depth: 1 };
  const places: [RegExp, (file: ForgedFile, at: number) => void][] = [
    [/createdAt/, (file, at) => (file.session.createdAt = at)],
    [/updatedAt/, (file, at) => (file.session.updatedAt = at)],
    [/archivedAt/, (file, at) => (file.session.archivedAt = at)],
    [/pins\[0\]\.createdAt/, (file, at) => Object.assign(file.session, { pins: [{ ...pin, createdAt: at }] })],
    [/createdAt/, (file, at) => (file.row(0).createdAt = at)],
    [/statusAt/, (file, at) => (file.row(1).statusAt = at)],
    [/answeredAt/, (file, at) => (file.row(1).answeredAt = at)],
    [/hiddenAt/, (file, at) => Object.assign(file.row(4), { hiddenAt: at })],
    [/expiresAt/, (file, at) => Object.assign(file.row(4).chain, { expiresAt: at })],
    [/startedAt/, (file, at) => Object.assign(file.steps(4)[0] ?? {}, { startedAt: at })],
    [/endedAt/, (file, at) => Object.assign(file.steps(4)[0] ?? {}, { endedAt: at })],
  ];
  for (const [detail, set] of places) {
    for (const at of [9_000_000_000_000_000, 253_402_300_800_000, -1, 1.5]) {
      const file = new ForgedFile(lines);
      set(file, at);
      await refuses(there, file.sealed(), { detail });
    }
  }
});

/** The one answer for everything that the caller may not see. It does not name what has the id (H4). */
const unusable = /^an id in the file cannot be used here; nothing was imported$/;

test("[S4] [H4] a session may not have the id of another user's turn", async (t) => {
  const { there, lines, two } = await sample(t);
  await there.engine.transfer.import(alice, each(lines));
  const fork = new ForgedFile(lines.slice(0, 2).concat(lines.slice(-1)));
  Object.assign(fork.session, { id: two.id, headTurnId: null });
  await refuses(there, fork.sealed(), { code: "import_conflict", detail: unusable, caller: carol });
});

test("turns that were never sealed are compared by their content", async (t) => {
  const here = await testEngine(t, { script: () => [{ fails: "provider_rejected" }] });
  const failed = await here.ask("one");
  const file = new ForgedFile(await all(here.engine.transfer.export(alice, { sessionId: failed.sessionId })));
  Object.assign(file.row(0), { digest: null });
  const lines = file.sealed();
  const there = await testEngine(t);
  await there.engine.transfer.import(alice, each(lines));
  assert.equal((await there.engine.transfer.import(alice, each(lines))).turnsKnown, 1);
  file.edit(failed.blobs.opening, (opening) => (opening.instruction = "two"));
  await refuses(there, file.sealed(), { code: "import_conflict" });
});

test("[S5] a session that went on elsewhere goes on here; one that went on here too is a conflict", async (t) => {
  const { here, there, lines, one, sessionId } = await sample(t);
  await there.engine.transfer.import(alice, each(lines));
  const six = await here.ask("six", { sessionId });
  const longer = await all(here.engine.transfer.export(alice, { sessionId }));
  const other = await testEngine(t);
  await other.engine.transfer.import(alice, each(lines));
  await other.engine.tree.moveHead(alice, { sessionId, from: six.parentId, to: one.id });

  assert.equal((await there.engine.transfer.import(alice, each(longer))).turnsImported, 1);
  assert.deepEqual(await there.engine.sessions.get(alice, sessionId), await here.engine.sessions.get(alice, sessionId));
  assert.equal((await there.engine.transfer.import(alice, each(lines))).turnsKnown, 5);
  assert.equal((await there.engine.sessions.get(alice, sessionId)).headTurnId, six.id);

  await other.engine.transfer.import(alice, each(longer));
  assert.equal((await other.engine.sessions.get(alice, sessionId)).headTurnId, six.id, "below the head that it had");
  const apart = await testEngine(t);
  await apart.engine.transfer.import(alice, each(lines));
  await apart.ask("another six", { sessionId });
  await refuses(apart, longer, { code: "import_conflict", detail: /continued differently here: turn 6/ });
});

test("[S6] [T5] a session that is archived, removed or busy takes no imported turns", async (t) => {
  const { here, lines, sessionId } = await sample(t);
  await here.ask("six", { sessionId });
  const longer = await all(here.engine.transfer.export(alice, { sessionId }));
  const never = new Promise<void>(() => {});
  const there = await testEngine(t, { remembers: false, script: () => [{ waits: never }] });
  await there.engine.transfer.import(alice, each(lines));
  await there.engine.tree.archive(alice, sessionId);
  await refuses(there, longer, { code: "session_archived" });
  assert.equal((await there.engine.transfer.import(alice, each(lines))).turnsKnown, 5);
  await there.engine.tree.unarchive(alice, sessionId);
  const running = await there.start("six here", { sessionId });
  await refuses(there, longer, { code: "session_busy" });
  await there.engine.turns.interrupt(alice, { sessionId });
  await running.finished;
  await there.engine.tree.remove(alice, sessionId);
  await refuses(there, longer, { code: "import_conflict" });
});

test("[S3] [H4] a session that is another's, or of another org, is not added to; a reader imports nothing", async (t) => {
  const { here, there, lines, sessionId } = await sample(t);
  await there.engine.transfer.import(alice, each(lines));
  await here.ask("six", { sessionId });
  const longer = await all(here.engine.transfer.export(alice, { sessionId }));
  await refuses(there, longer, { code: "import_conflict", detail: unusable, caller: carol });
  const dave = { ...carol, orgId: newId(), role: "admin" as const };
  await refuses(there, lines, { code: "import_conflict", detail: unusable, caller: dave });
  await refuses(there, lines, { code: "forbidden", caller: { ...alice, role: "reader" } });
});
