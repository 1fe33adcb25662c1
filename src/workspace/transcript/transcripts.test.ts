/** Finished turns in the transcript of a workspace, and what clears and shows it (W4). */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { asked } from "../../../testing/conversations.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { begunTranscript, TranscriptWorld, transcriptOwner as id } from "../../../testing/transcript-world.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { memoryTranscripts } from "../memory/memory-transcripts.ts";
import { asideTranscriptName, currentTranscriptName, transcriptNotesName } from "../transcript-store.ts";
import { createTranscripts } from "./transcripts.ts";

suite("a turn that finished", () => {
  test("[W4] is appended to session.md, which says where it comes from", async () => {
    const world = new TranscriptWorld();
    const session = world.conversations.begin({ at: Date.UTC(2026, 0, 2) });
    await world.finish(
      world.conversations.say(session, asked("one", "1\n")),
      world.conversations.say(session, asked("## User", "2")),
    );
    const head = `---\nprovider: scripted\nmodel: model-1\ncreated_at: 2026-01-02T00:00:00.000Z\nsession: ${session}\n---\n`;
    const blocks = ["User\n\none", "Assistant\n\n1\n\\", "User\n\n\\## User", "Assistant\n\n2"];
    assert.equal(await world.text(), head + blocks.map((block) => `\n## ${block}\n`).join(""));
    assert.deepEqual(await world.transcripts.nextBeginning(id), { kind: "session", sessionId: session, warnings: [] });
  });

  test("[W4] [K1] costs the same at turn 10 and at turn 1,000: no earlier text and no notes are read or written again", async () => {
    const { world, session } = await begunTranscript();
    world.touched.length = 0;
    for (let turn = 2; turn <= 1_000; turn += 1) {
      await world.finish(world.conversations.say(session, asked(`${turn}`, `${turn}`)));
    }
    // Only when the lines of the notes have become long.
    assert.deepEqual([...new Set(world.touched)], [transcriptNotesName]);
    assert.ok(world.touched.length < 5, `${world.touched.length}`);
    assert.equal(world.conversations.earlierAsked, 0);
    await world.transcripts.sync(id);
    assert.ok(((await world.store.stat(id, transcriptNotesName))?.bytes ?? 0) < 1_000);
    world.touched.length = 0;
    await world.transcripts.sync(id);
    assert.deepEqual(world.touched, []);
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
  });

  test("[W4] has no block for an empty message, and the next turn follows it", async () => {
    const { world, session } = await begunTranscript();
    await world.finish(
      world.conversations.say(session, [{ role: "assistant", text: "done" }]),
      world.conversations.say(session, []),
    );
    await world.finish(world.conversations.say(session, asked("two", "2")));
    assert.deepEqual(
      (await world.messages())?.map(({ text }) => text),
      ["one", "1", "done", "two", "2"],
    );
    assert.equal(world.conversations.earlierAsked, 0);
  });

  test("[W4] is written once, however often and late it is reported", async () => {
    const { world, session } = await begunTranscript();
    const [first, second] = [
      world.conversations.headOf(session) ?? "",
      world.conversations.say(session, asked("two", "2")),
    ];
    await world.finish(
      second,
      second,
      world.conversations.again(first),
      world.conversations.say(session, asked("three", "3")),
      second,
    );
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
    assert.equal(world.conversations.earlierAsked, 0);
  });

  test("[W4] also writes earlier turns that were missed", async () => {
    const { world, session } = await begunTranscript();
    for (const text of ["two", "three"]) world.conversations.say(session, asked(text, text));
    const before = await world.text();
    await world.finish(world.conversations.say(session, asked("four", "4")));
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
    assert.ok((await world.text())?.startsWith(before ?? "-"));
  });

  test("[W4] that continues from an earlier turn of its session leaves out the turns after that one", async () => {
    const { world, session } = await begunTranscript();
    const first = world.conversations.headOf(session);
    await world.finish(
      world.conversations.say(session, asked("two", "2")),
      world.conversations.say(session, asked("zwei", "2"), first),
    );
    await world.finish(world.conversations.say(session, asked("three", "3")));
    assert.deepEqual(
      (await world.messages())?.map(({ text }) => text),
      ["one", "1", "zwei", "2", "three", "3"],
    );
    await world.finish(world.conversations.say(session, asked("again", "1"), null));
    assert.deepEqual(await world.messages(), asked("again", "1"));
    assert.equal(await world.store.stat(id, asideTranscriptName(session)), null);
  });

  test("[W4] makes its session the one in session.md; the other session's file is moved", async () => {
    const { world, session } = await begunTranscript();
    const other = world.conversations.begin();
    for (const text of ["a", "b", "c"]) {
      await world.finish(world.conversations.say(other, asked(text, text)));
      assert.deepEqual(await world.messages(), world.conversations.messagesOf(other));
      assert.deepEqual(await world.messages(asideTranscriptName(session)), world.conversations.messagesOf(session));
      await world.finish(world.conversations.say(session, asked(text, text)));
      assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
      assert.deepEqual(await world.messages(asideTranscriptName(other)), world.conversations.messagesOf(other));
    }
    assert.equal(world.conversations.earlierAsked, 0);
  });

  test("[W3] of a fork begins with a copy of its origin's file", async () => {
    const { world, session } = await begunTranscript();
    const fork = world.conversations.begin({ at: 5, below: world.conversations.headOf(session) });
    await world.finish(
      world.conversations.say(fork, asked("fork", "f")),
      world.conversations.say(session, asked("two", "2")),
    );
    assert.equal(world.conversations.earlierAsked, 0);
    assert.deepEqual(await world.messages(asideTranscriptName(fork)), world.conversations.messagesOf(fork));
    assert.match(
      (await world.text(asideTranscriptName(fork))) ?? "",
      new RegExp(`created_at: 1970-01-01T00:00:00.005Z\nsession: ${fork}\n`),
    );
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
    const late = world.conversations.begin({ below: world.conversations.headOf(fork) });
    await world.store.remove(id, asideTranscriptName(fork));
    await world.finish(world.conversations.say(late, asked("late", "l")));
    assert.equal(world.conversations.earlierAsked, 1);
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(late));
  });

  test("[W4] keeps the transcripts of the newest sessions, and every one that a person changed", async () => {
    const { world, session } = await begunTranscript();
    const sessions = Array.from({ length: limits.transcriptsMax }, () => world.conversations.begin());
    const [changed = "", ...others] = sessions;
    for (const each of sessions) await world.finish(world.conversations.say(each, asked(each, "x")));
    assert.equal(await world.store.stat(id, asideTranscriptName(session)), null);
    await world.store.write(id, asideTranscriptName(changed), { content: Buffer.from("## User\n\nmine\n") });
    const last = world.conversations.begin();
    await world.finish(world.conversations.say(last, asked("last", "x")));
    assert.deepEqual(await world.messages(asideTranscriptName(changed)), [{ role: "user", text: "mine" }]);
    for (const each of others)
      assert.deepEqual(await world.messages(asideTranscriptName(each)), world.conversations.messagesOf(each));
    await world.finish(world.conversations.say(session, asked("two", "2")));
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
  });

  test("[W4] of any size keeps the notes small enough to be read again", async () => {
    const { world, session } = await begunTranscript();
    let largest = 0;
    const most = limits.transcriptAppendCharactersMax - 100;
    for (const characters of [most, most, limits.transcriptAppendCharactersMax]) {
      await world.finish(world.conversations.say(session, asked("long", "\0".repeat(characters))));
      largest = Math.max(largest, (await world.store.stat(id, transcriptNotesName))?.bytes ?? 0);
      assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
    }
    assert.ok(largest > most && largest < limits.transcriptBytesMax / 2, `${largest}`);
    assert.equal(world.conversations.earlierAsked, 1);
  });

  test("[W1] outside of any workspace is written nowhere, without a report", async () => {
    const world = new TranscriptWorld(memoryTranscripts({ has: () => false }));
    const turn = world.conversations.say(world.conversations.begin(), asked("one", "1"));
    for (const workspaceId of ["default", "my laptop", ".."])
      await world.transcripts.turnsFinished(workspaceId, [turn]);
    assert.deepEqual(world.reports, []);
    const isUnknown = hasCode("workspace_unknown");
    await assert.rejects(world.transcripts.nextBeginning(id), isUnknown);
    await assert.rejects(world.transcripts.clear(id), isUnknown);
  });

  test("[W4] that cannot be written is reported, and the next turn writes it", async () => {
    const { world, session } = await begunTranscript();
    const broken = { ...world.store, locked: world.store.locked.bind(world.store) };
    broken.stat = () => Promise.reject(new AptoveError("storage_full", "no room"));
    broken.read = world.store.read.bind(world.store);
    const transcripts = createTranscripts({
      store: broken,
      now: () => 0,
      report: (message) => world.reports.push(message),
    });
    await transcripts.turnsFinished(id, [world.conversations.say(session, asked("two", "2"))]);
    assert.equal(world.reports.length, 1);
    const unreadable = {
      ...world.conversations.say(session, asked("three", "3")),
      earlier: () => Promise.reject(new AptoveError("blob_missing", "gone")),
    };
    await world.finish(unreadable);
    assert.equal(world.reports.length, 2);
    await world.finish(world.conversations.say(session, asked("four", "4")));
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
  });
});

suite("clearing and showing", () => {
  test("[L2] clear moves the transcript, and the next session begins empty", async () => {
    const { world, session } = await begunTranscript();
    await world.transcripts.clear(id);
    assert.deepEqual(await world.transcripts.nextBeginning(id), { kind: "empty", warnings: [] });
    assert.deepEqual(await world.messages(asideTranscriptName(session)), world.conversations.messagesOf(session));
    await world.finish(world.conversations.say(session, asked("two", "2")));
    assert.equal(await world.store.stat(id, currentTranscriptName), null);
    assert.deepEqual(await world.messages(asideTranscriptName(session)), world.conversations.messagesOf(session));
    assert.equal(world.conversations.earlierAsked, 0);
    const next = world.conversations.begin({ at: world.now });
    await world.finish(world.conversations.say(next, asked("new", "n")));
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(next));
    await world.transcripts.clear(id);
    await world.transcripts.clear(id);
    assert.deepEqual(await world.messages(asideTranscriptName(next)), world.conversations.messagesOf(next));
  });

  test("[L2] clear keeps a person's text under another name", async () => {
    const { world } = await begunTranscript();
    await world.edit("## User\n\nmine\n");
    await world.transcripts.clear(id);
    await world.edit("Dear diary");
    await world.transcripts.clear(id);
    assert.equal(await world.text("session.19700101T000001.000Z.edited.md"), "## User\n\nmine\n");
    assert.equal(await world.text("session.19700101T000001.000Z.unreadable.md"), "Dear diary");
    assert.deepEqual(await world.transcripts.nextBeginning(id), { kind: "empty", warnings: [] });
  });

  test("[L2] show describes session.md without reading an unchanged file", async () => {
    const world = new TranscriptWorld();
    const isNew = { sessionId: null, messages: 0, bytes: 0, isEdited: false };
    assert.deepEqual(await world.transcripts.show(id), isNew);
    await world.edit("");
    assert.deepEqual(await world.transcripts.show(id), isNew);
    const session = world.conversations.begin();
    await world.finish(world.conversations.say(session, asked("one", "1")));
    const bytes = (await world.store.stat(id, currentTranscriptName))?.bytes;
    world.touched.length = 0;
    assert.deepEqual(await world.transcripts.show(id), { sessionId: session, messages: 2, bytes, isEdited: false });
    assert.deepEqual(world.touched, []);
    await world.edit("## User\n\nmine\n");
    assert.deepEqual(await world.transcripts.show(id), { sessionId: session, messages: 1, bytes: 14, isEdited: true });
    await world.edit("what?");
    assert.deepEqual(await world.transcripts.show(id), {
      sessionId: session,
      messages: null,
      bytes: 5,
      isEdited: true,
    });
  });
});
