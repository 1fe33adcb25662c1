import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { hasCode } from "../../../testing/refusals.ts";
import { all, testEngine, type TestEngine, type TestEngineOptions } from "../../../testing/engine.ts";
import { builtInBootPrompt } from "../../domain/context.ts";
import type { Caller } from "../../domain/caller.ts";
import type { HistoryItem } from "../../domain/history.ts";
import { newId } from "../../domain/ids.ts";
import { endOfRound } from "../../system/rounds.ts";
import { memoryTranscripts } from "../../workspace/memory/memory-transcripts.ts";
import { currentTranscriptName, type TranscriptStore } from "../../workspace/transcript-store.ts";
import { createTranscripts } from "../../workspace/transcript/transcripts.ts";
import type { WorkspaceParts } from "../dependencies.ts";
import { instructionOf } from "../turn/request/envelope.ts";

const workspaceId = "default";

interface World extends TestEngine {
  store: TranscriptStore;
  /** The reports about transcripts. */
  reports: string[];
  read(): Promise<string>;
  edit(text: string | Uint8Array): Promise<void>;
  begin(more?: { fresh?: boolean }): ReturnType<TestEngine["engine"]["workspaceSessions"]["begin"]>;
  /** What the model was given by its last call, as people write it. */
  given(): string[];
}

async function world(t: TestContext, parts: TestEngineOptions = {}): Promise<World> {
  const store = memoryTranscripts();
  const reports: string[] = [];
  const transcripts = createTranscripts({ store, now: Date.now, report: (message) => void reports.push(message) });
  // As compose.ts puts them together: the settings are the engine's own.
  const workspaces: WorkspaceParts = {
    ofDevice: () => assert.fail("no device is paired here"),
    boundTo: () => assert.fail("no device is paired here"),
    bind: () => assert.fail("no device is paired here"),
    settings: async (id) => (id === workspaceId ? made.deps : null),
    nextBeginning: (id) => transcripts.nextBeginning(id),
    turnsFinished: (id, turns) => transcripts.turnsFinished(id, turns),
    settle: (id) => transcripts.sync(id),
  };
  const made: TestEngine = await testEngine(t, {
    workspaces,
    conversation: { bootPrompt: builtInBootPrompt },
    ...parts,
  });
  const { engine, caller, provider } = made;
  // Begins nothing, and waits for what is being written.
  const settled = () => engine.workspaceSessions.begin(caller, { workspaceId });
  return {
    ...made,
    store,
    reports,
    read: async () => {
      await settled();
      return Buffer.from((await store.read(workspaceId, currentTranscriptName))?.content ?? "").toString();
    },
    edit: async (text) => {
      await settled();
      await store.write(workspaceId, currentTranscriptName, { content: Buffer.from(text) });
    },
    begin: (more = {}) => engine.workspaceSessions.begin(caller, { workspaceId, ...more }),
    given: () => wordsOf(provider.exchanges.at(-1)?.context ?? []),
  };
}

function wordsOf(items: readonly HistoryItem[]): string[] {
  return items.map((item) => (item.type === "user" ? instructionOf(item) : item.type === "assistant" ? item.text : ""));
}

test("[W3] [K1] each session of a workspace has an id of its own, and goes on where the one before it was", async (t) => {
  const { begin, ask, given } = await world(t);
  const first = (await begin()).session;
  assert.equal(first.originTurnId, null);
  const one = await ask("one", { sessionId: first.id });
  const second = (await begin()).session;
  assert.notEqual(second.id, first.id);
  assert.equal(second.originTurnId, one.id);
  await ask("two", { sessionId: second.id });
  assert.deepEqual(
    given().filter((_text, index) => index % 2 === 0),
    ["one", "two"],
  );
  const fresh = (await begin({ fresh: true })).session;
  await ask("alone", { sessionId: fresh.id });
  assert.deepEqual(given(), ["alone"]);
});

test("[W3] a session that got no turn does not move the workspace, and a turn of an older one does", async (t) => {
  const { begin, ask } = await world(t);
  const first = (await begin()).session;
  const one = await ask("one", { sessionId: first.id });
  const second = (await begin()).session;
  assert.equal((await begin()).session.originTurnId, one.id);
  await ask("two", { sessionId: second.id });
  const three = await ask("three", { sessionId: first.id });
  assert.equal((await begin()).session.originTurnId, three.id);
});

test("[W4] session.md has what was asked and answered in the current session, whichever door asked; the store has the rest", async (t) => {
  const { ask, read } = await world(t);
  const first = await ask("what is\n## User\nhere?", { workspaceId });
  await ask("and there?", { sessionId: first.sessionId });
  const text = await read();
  assert.match(text, /^---\n/);
  assert.equal(text.split("\n## User\n").length - 1, 2);
  assert.equal(text.split("\n## Assistant\n").length - 1, 2);
});

test("[W5] what a person wrote into session.md is where the next session begins, once", async (t) => {
  const { begin, ask, edit, given, read, engine, caller } = await world(t);
  await ask("one", { workspaceId });
  const reports =
    "## User\n\nWho am I?\n\n## Assistant\n\nYou are Ada.\n\n## User\n\nAnd you?\n\n## Assistant\n\nA friend.\n";
  await edit(reports);
  const { session } = await begin();
  const turn = await ask("go on", { sessionId: session.id });
  assert.deepEqual(given(), ["Who am I?", "You are Ada.", "And you?", "A friend.", "go on"]);
  const again = (await begin()).session;
  assert.equal(again.originTurnId, turn.id);
  assert.ok((await read()).includes("You are Ada."));
  const lineage = await engine.turns.lineage(caller, turn.id);
  assert.deepEqual(
    lineage.map(({ provider, instructionSummary }) => [provider, instructionSummary]),
    [
      ["import", "Who am I?"],
      ["scripted", "go on"],
    ],
  );
});

test("[W5] the imported turn is a turn like others: it is read, found, verified and moved to another store", async (t) => {
  const { engine, caller } = await world(t);
  const { id } = await engine.workspaceSessions.import(caller, {
    messages: [
      { role: "assistant", text: "I speak first." },
      { role: "system", text: "Be brief about herons." },
      { role: "assistant", text: "" },
      { role: "assistant", text: "Yes." },
    ],
  });
  const session = await engine.sessions.get(caller, id);
  assert.equal(session.headTurnId, id);
  const reader = await engine.turns.read(caller, id);
  assert.equal(await reader.answer(), "I speak first.\n\nYes.");
  const events = await all(await engine.turns.events(caller, id, { afterSeq: 0 }));
  assert.deepEqual(
    events.flatMap(({ event }) => (event.type === "steered" ? [event.text] : [])),
    ["Be brief about herons."],
  );
  assert.equal((await engine.tree.search(caller, { text: "brief" })).length, 0, "it is no answer and no instruction");
  assert.equal((await engine.tree.search(caller, { text: "speak" })).length, 1);
  assert.equal((await engine.explain.verify(caller, id)).fault, null);
  const lines = await all(engine.transfer.export(caller, { sessionId: id }));
  const other = await testEngine(t);
  const report = await other.engine.transfer.import(
    other.caller,
    (async function* () {
      yield* lines;
    })(),
  );
  assert.equal(report.turnsImported, 1);
  const refused = engine.workspaceSessions.import(caller, { messages: [{ role: "user", text: " " }] });
  await assert.rejects(refused, hasCode("instruction_empty"));
});

test("[W5] what cannot be read is kept aside, and the session begins empty with a warning", async (t) => {
  const { begin, ask, edit, store, reports } = await world(t);
  await ask("one", { workspaceId });
  await edit(Buffer.from([0x23, 0xff, 0x00]));
  const { session, warnings } = await begin();
  assert.equal(session.originTurnId, null);
  assert.equal(warnings.length, 1);
  assert.equal(reports.length, 1);
  assert.equal(await store.stat(workspaceId, currentTranscriptName), null);
});

test("[W3] [S6] where the last session was deleted the next begins empty, and says so; an unknown workspace is refused", async (t) => {
  const { begin, ask, engine, caller } = await world(t);
  const turn = await ask("one", { workspaceId });
  await begin();
  await engine.tree.remove(caller, turn.sessionId);
  const { session, warnings } = await begin();
  assert.equal(session.originTurnId, null);
  assert.match(warnings[0] ?? "", /no longer exists/);
  await assert.rejects(engine.workspaceSessions.begin(caller, { workspaceId: ".." }), hasCode("workspace_unknown"));
});

test("[H4] for a user who does not own the data folder the id of a workspace is a label: no settings, no transcript, no session of it", async (t) => {
  const { engine, caller, deps, store } = await world(t);
  const member: Caller = { ...caller, userId: newId(), role: "member" };
  Object.assign(deps.workspaces ?? assert.fail(), { settings: () => assert.fail("no settings are read") });
  const turn = await (await engine.turns.run(member, { instruction: "one", workspaceId })).finished;
  assert.equal(turn.workspaceId, workspaceId);
  await assert.rejects(engine.workspaceSessions.begin(member, { workspaceId }), hasCode("workspace_unknown"));
  await engine.close();
  assert.equal(await store.stat(workspaceId, currentTranscriptName), null);
});

test("[W4] [T12] a failed turn is in the transcript with its end, and the next turn follows the one before it", async (t) => {
  const { ask, read, reports } = await world(t, {
    script: (call) => {
      const text = JSON.stringify(call.items.at(-1));
      return text.includes("break") ? [{ fails: "provider_rejected", message: "no more" }] : "fine";
    },
  });
  const words = async (): Promise<string> => (await read()).replace(/^---\n[^]*?\n---\n/, "");
  const failed = await ask("break first", { workspaceId });
  assert.equal(failed.status, "failed");
  assert.equal(
    await words(),
    "\n## User\n\nbreak first\n\n## System\n\nThe turn failed: no more (provider_rejected)\n",
  );
  const { sessionId } = failed;
  await ask("one", { workspaceId, sessionId });
  await ask("break again", { workspaceId, sessionId });
  await ask("two", { workspaceId, sessionId });
  const roles = (await words()).match(/^## \w+\n\n.*$/gm)?.map((block) => block.replace("\n\n", ": "));
  assert.deepEqual(roles, [
    "## User: break first",
    "## System: The turn failed: no more (provider_rejected)",
    "## User: one",
    "## Assistant: fine",
    "## User: break again",
    "## System: The turn failed: no more (provider_rejected)",
    "## User: two",
    "## Assistant: fine",
  ]);
  assert.deepEqual(reports, []);
});

test("[W4] a turn is in session.md a moment after its end, a failed one too, and no end waits for the disk", async (t) => {
  const { engine, deps, store, ask } = await world(t, {
    script: (call) =>
      JSON.stringify(call.items.at(-1)).includes("break")
        ? [{ fails: "provider_rejected", message: "no more" }]
        : "fine",
  });
  const pauses: AbortSignal[] = [];
  let syncs = 0;
  const sync = store.sync.bind(store);
  store.sync = (id) => ((syncs += 1), sync(id));
  deps.sleep = (_ms, signal) => {
    if (signal !== undefined) pauses.push(signal);
    return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
  };
  const text = async (): Promise<string> => {
    for (let round = 0; round < 20; round += 1) await endOfRound();
    return Buffer.from((await store.read(workspaceId, currentTranscriptName))?.content ?? "").toString();
  };
  await ask("one", { workspaceId });
  assert.match(await text(), /## User\n\none\n\n## Assistant\n\nfine\n$/);
  await ask("break", { workspaceId });
  assert.match(await text(), /## User\n\nbreak\n\n## System\n\nThe turn failed: no more \(provider_rejected\)\n$/);
  assert.equal(syncs, 0);
  await engine.close();
  assert.equal(syncs, 1);
  assert.ok(pauses.every(({ aborted }) => aborted));
});

test("[W4] a turn ends although a process holds its transcript, which a person gets with the turn", async (t) => {
  const { engine, caller, store, read } = await world(t);
  const held = Promise.withResolvers<void>();
  const holder = store.locked(workspaceId, () => held.promise);
  const { finished } = await engine.turns.run(caller, { instruction: "one", workspaceId });
  assert.equal((await finished).status, "completed");
  assert.equal(await store.stat(workspaceId, currentTranscriptName), null);
  const transcript = read();
  held.resolve();
  await holder;
  assert.match(await transcript, /## User\n\none\n/);
});

test("[W4] a transcript begins with the boot prompt as ## System if it is not the built-in one", async (t) => {
  const { ask, read } = await world(t, { conversation: { bootPrompt: "Answer in verse." } });
  await ask("one", { workspaceId });
  assert.match(await read(), /^---\n[^]*\n---\n\n## System\n\nAnswer in verse\.\n\n## User\n\none\n/);
});
