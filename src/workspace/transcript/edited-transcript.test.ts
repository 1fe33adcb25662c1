/** A transcript that a person edited, or that cannot be read (W5). */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { asked } from "../../../testing/conversations.ts";
import { begunTranscript, TranscriptWorld, transcriptOwner as id } from "../../../testing/transcript-world.ts";
import { limits } from "../../domain/limits.ts";
import { asideTranscriptName, currentTranscriptName } from "../transcript-store.ts";

suite("a person's edit of session.md", () => {
  test("[W5] is the start of the next session, and no byte of it is changed", async () => {
    const { world, session } = await begunTranscript();
    const file = "## User\n\nsomething else\n\n\n\n## assistant\nindeed";
    await world.edit(file);
    const beginning = await world.edited();
    assert.deepEqual(beginning.messages, asked("something else", "indeed"));
    const imported = world.conversations.begin({ at: 2_000 });
    await beginning.adopt(world.conversations.say(imported, beginning.messages));
    assert.equal(await world.text(), file);
    assert.deepEqual(await world.transcripts.nextBeginning(id), { kind: "session", sessionId: imported, warnings: [] });
    const next = world.conversations.begin({ at: 2_001, below: world.conversations.headOf(imported) });
    await world.finish(world.conversations.say(next, asked("two", "2")));
    assert.ok((await world.text())?.endsWith(`---\n${file}\n\n## User\n\ntwo\n\n## Assistant\n\n2\n`));
    assert.equal(await world.text(asideTranscriptName(imported)), file);
    await world.finish(
      world.conversations.say(imported, asked("three", "3")),
      world.conversations.say(session, asked("x", "y")),
    );
    assert.deepEqual(await world.messages(asideTranscriptName(imported)), world.conversations.messagesOf(imported));
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
  });

  test("[W5] stays in session.md while turns continue, which are written to other files", async () => {
    const { world, session } = await begunTranscript();
    const other = world.conversations.begin();
    const file = `${await world.text()}\n## User\n\nand this\n`;
    await world.edit(file);
    await world.finish(
      world.conversations.say(session, asked("two", "2")),
      world.conversations.say(other, asked("a", "b")),
    );
    world.touched.length = 0;
    world.conversations.earlierAsked = 0;
    await world.finish(world.conversations.say(session, asked("three", "3")));
    assert.deepEqual(world.touched, []);
    assert.equal(world.conversations.earlierAsked, 0);
    assert.equal(await world.text(), file);
    assert.deepEqual(await world.messages(asideTranscriptName(session)), world.conversations.messagesOf(session));
    assert.deepEqual(await world.messages(asideTranscriptName(other)), world.conversations.messagesOf(other));
    await world.edit(`${file}\n## User\n\nand that\n`);
    await world.finish(world.conversations.say(session, asked("four", "4")));
    const beginning = await world.edited();
    assert.deepEqual(
      beginning.messages.slice(2).map(({ text }) => text),
      ["and this", "and that"],
    );
    const imported = world.conversations.begin();
    await beginning.adopt(world.conversations.say(imported, beginning.messages));
    assert.equal((await world.transcripts.nextBeginning(id)).kind, "session");
    await world.finish(world.conversations.say(session, asked("five", "5")));
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
    assert.deepEqual(await world.messages(asideTranscriptName(imported)), world.conversations.messagesOf(imported));
  });

  test("[W5] during the start of a session is the start of the one after", async () => {
    const { world } = await begunTranscript();
    await world.edit("## User\n\nfirst thought\n");
    const beginning = await world.edited();
    await world.edit("## User\n\nsecond thought\n");
    const imported = world.conversations.begin();
    await beginning.adopt(world.conversations.say(imported, beginning.messages));
    assert.deepEqual((await world.edited()).messages, [{ role: "user", text: "second thought" }]);
    await world.finish(world.conversations.say(imported, asked("two", "2")));
    assert.deepEqual(await world.messages(), [{ role: "user", text: "second thought" }]);
    assert.deepEqual(await world.messages(asideTranscriptName(imported)), world.conversations.messagesOf(imported));
  });

  test("[W5] in a workspace without a session is used too", async () => {
    const world = new TranscriptWorld();
    await world.edit("");
    assert.deepEqual(await world.transcripts.nextBeginning(id), { kind: "empty", warnings: [] });
    await world.edit("## User\n\nby hand\n");
    await world.finish(world.conversations.say(world.conversations.begin(), asked("one", "1")));
    assert.deepEqual((await world.edited()).messages, [{ role: "user", text: "by hand" }]);
  });

  test("[W5] that changes no message is not an edit", async () => {
    const edits: ((file: string) => string)[] = [
      (file) => file.replaceAll("\n", "\r\n"),
      (file) => `\ufeff${file}\n\n\n`,
      (file) => file.trimEnd(),
      (file) => file.replace("model: model-1", "mood: good\nmodel: model-2").replace("---\n\n", "---\n\n\n"),
    ];
    for (const edit of edits) {
      const { world, session } = await begunTranscript();
      const text = edit((await world.text()) ?? "");
      await world.edit(text);
      assert.equal((await world.transcripts.nextBeginning(id)).kind, "session");
      await world.finish(
        world.conversations.say(session, asked("two", "2")),
        world.conversations.say(session, asked("three", "3")),
      );
      assert.ok((await world.text())?.startsWith(text));
      assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
      assert.deepEqual(world.reports, []);
    }
  });

  test("[W5] that empties the file lets the next session begin empty, and older sessions do not return to it", async () => {
    for (const empty of ["", "  \n\n", "---\nmodel: x\n---\n", "## User\n\n## Assistant\n", null]) {
      const { world, session } = await begunTranscript();
      if (empty === null) await world.store.remove(id, currentTranscriptName);
      else await world.edit(empty);
      await world.finish(world.conversations.say(session, asked("two", "2")));
      assert.deepEqual(await world.transcripts.nextBeginning(id), { kind: "empty", warnings: [] });
      assert.deepEqual(await world.messages(asideTranscriptName(session)), world.conversations.messagesOf(session));
      const next = world.conversations.begin({ at: 1_001 });
      await world.finish(
        world.conversations.say(next, asked("new", "n")),
        world.conversations.say(next, asked("newer", "n")),
      );
      assert.deepEqual(await world.messages(), world.conversations.messagesOf(next));
      await world.finish(world.conversations.say(session, asked("three", "3")));
      assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
    }
  });

  test("[W5] that empties the file, unnoticed until a new session's turn, does not block that session", async () => {
    const { world, session } = await begunTranscript();
    await world.store.remove(id, currentTranscriptName);
    const next = world.conversations.begin();
    await world.finish(
      world.conversations.say(next, asked("new", "n")),
      world.conversations.say(session, asked("two", "2")),
    );
    await world.finish(world.conversations.say(next, asked("newer", "n")));
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(next));
    assert.deepEqual(await world.messages(asideTranscriptName(session)), world.conversations.messagesOf(session));
  });

  test("[W5] of another session's transcript is kept under another name, and the file is written again", async () => {
    const { world, session } = await begunTranscript();
    const other = world.conversations.begin();
    await world.finish(world.conversations.say(other, asked("a", "b")));
    await world.store.write(id, asideTranscriptName(session), { content: Buffer.from("## User\n\nmine\n") });
    await world.finish(world.conversations.say(session, asked("two", "2")));
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
    const kept = `sessions/${session}.19700101T000001.000Z.edited.md`;
    assert.deepEqual(await world.messages(kept), [{ role: "user", text: "mine" }]);
  });
});

suite("a session.md that cannot be read", () => {
  const cases = {
    binary: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff, 0]),
    words: "Dear diary",
    torn: "---\nprovider: x",
  };

  for (const [name, content] of Object.entries(cases)) {
    test(`[W5] is kept under another name with a warning, and the next session begins empty (${name})`, async () => {
      const { world, session } = await begunTranscript();
      await world.edit(content);
      const beginning = await world.transcripts.nextBeginning(id);
      assert.equal(beginning.kind, "empty");
      assert.match(beginning.warnings.join("\n"), /kept as session\.19700101T000001\.000Z\.unreadable\.md/);
      assert.equal(world.reports.length, 1);
      await world.finish(world.conversations.say(session, asked("two", "2")));
      await world.edit(content);
      await world.finish(world.conversations.say(session, asked("three", "3")));
      for (const suffix of ["", "-2"]) {
        const kept = await world.store.read(id, `session.19700101T000001.000Z${suffix}.unreadable.md`);
        assert.deepEqual(Buffer.from(kept?.content ?? ""), Buffer.from(content));
      }
      assert.equal(await world.store.stat(id, currentTranscriptName), null);
      assert.deepEqual(await world.messages(asideTranscriptName(session)), world.conversations.messagesOf(session));
      assert.deepEqual(await world.transcripts.nextBeginning(id), { kind: "empty", warnings: [] });
    });
  }

  test("[W5] because it is too large counts, but not if it grew by turns alone", async () => {
    const { world, session } = await begunTranscript();
    const answer = "x".repeat(limits.transcriptBytesMax);
    await world.finish(
      world.conversations.say(session, asked("long", answer)),
      world.conversations.say(session, asked("more", "m")),
    );
    const bytes = (await world.store.stat(id, currentTranscriptName))?.bytes ?? 0;
    assert.ok(bytes > limits.transcriptBytesMax);
    // A backup restores the same file with other times.
    await world.edit(Buffer.alloc(bytes, "x"));
    assert.equal((await world.transcripts.nextBeginning(id)).kind, "session");
    await world.edit(Buffer.alloc(bytes + 1, "x"));
    const beginning = await world.transcripts.nextBeginning(id);
    assert.equal(beginning.kind, "empty");
    assert.match(beginning.warnings.join(""), new RegExp(`it has ${bytes + 1} bytes, and at most 67108864 are read`));
  });
});
