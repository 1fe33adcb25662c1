/** What a crash left of a transcript and its notes (B3, W4). */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { asked } from "../../../testing/conversations.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { begunTranscript, TranscriptWorld, transcriptOwner as id } from "../../../testing/transcript-world.ts";
import { asideTranscriptName, transcriptNotesName } from "../transcript-store.ts";
import { renderMessages } from "./format.ts";

suite("what a crash left", () => {
  test("[B3] of an append that was not noted is completed wherever it ends, with or without zeros after it", async () => {
    const { world: base, session } = await begunTranscript();
    const before = (await base.text()) ?? "";
    const notes = (await base.text(transcriptNotesName)) ?? "";
    const missed = base.conversations.say(session, asked("zwei é", "## User\n\n2"));
    const last = base.conversations.say(session, asked("three", "3"));
    const added = Buffer.from(renderMessages([...missed.messages, ...last.messages]));
    const zeros = Buffer.alloc(added.length);
    for (let end = 0; end <= added.length; end += 1) {
      for (const tail of [added.subarray(0, end), Buffer.concat([added.subarray(0, end), zeros.subarray(end)])]) {
        const world = new TranscriptWorld();
        await world.edit(Buffer.concat([Buffer.from(before), tail]));
        await world.store.write(id, transcriptNotesName, { content: Buffer.from(notes) });
        await world.finish(last);
        assert.deepEqual(await world.messages(), base.conversations.messagesOf(session), `cut at ${end}`);
        assert.deepEqual(await world.transcripts.nextBeginning(id), {
          kind: "session",
          sessionId: session,
          warnings: [],
        });
        assert.deepEqual(world.reports, []);
      }
    }
  });

  test("[B3] of turns whose notes were not gathered is no edit, wherever the line of the last one ends", async () => {
    const { world: base, session } = await begunTranscript();
    await base.transcripts.sync(id);
    const [first, second] = [asked("two", "2"), asked("three", "3")];
    const steps: { text: string; notes: string }[] = [];
    const keep = async (): Promise<void> => {
      steps.push({ text: (await base.text()) ?? "", notes: (await base.text(transcriptNotesName)) ?? "" });
    };
    await keep();
    for (const messages of [first, second]) {
      await base.finish(base.conversations.say(session, messages));
      await keep();
    }
    const [, before = { text: "", notes: "" }, after = { text: "", notes: "" }] = steps;
    assert.ok(after.notes.startsWith(before.notes) && after.notes.length > before.notes.length);
    const last = base.conversations.say(session, asked("four", "4"));
    for (let end = before.notes.length; end <= after.notes.length; end += 1) {
      const isNoted = end === after.notes.length;
      for (const text of isNoted ? [before.text, after.text.slice(0, -5), after.text] : [before.text]) {
        const world = new TranscriptWorld();
        await world.edit(text);
        await world.store.write(id, transcriptNotesName, { content: Buffer.from(after.notes.slice(0, end)) });
        const isRead = { sessionId: session, messages: text === after.text ? 6 : 4, isEdited: false };
        if (text !== after.text.slice(0, -5)) {
          const { bytes, ...shown } = await world.transcripts.show(id);
          assert.deepEqual(shown, isRead, `${end} ${bytes}`);
        }
        const own = { kind: "session", sessionId: session, warnings: [] };
        assert.deepEqual(await world.transcripts.nextBeginning(id), own, `${end}`);
        await world.finish(last);
        assert.deepEqual(await world.messages(), base.conversations.messagesOf(session), `${end}`);
        await world.transcripts.sync(id);
        world.touched.length = 0;
        assert.deepEqual(await new TranscriptWorld(world.store).transcripts.nextBeginning(id), own);
        assert.deepEqual(world.reports, []);
      }
    }
  });

  test("[B2] with the notes of version 1 is completed", async () => {
    const { world: base, session } = await begunTranscript();
    const before = (await base.text()) ?? "";
    const noted = JSON.parse((await base.text(transcriptNotesName)) ?? "") as object;
    await base.finish(base.conversations.say(session, asked("two", "2")));
    const after = (await base.text()) ?? "";
    const [, line = ""] = ((await base.text(transcriptNotesName)) ?? "").split("\n");
    const change = JSON.parse(line) as object;
    for (const [text, intent] of [
      [before, null],
      [before, change],
      [after.slice(0, -3), change],
      [after, change],
    ] as const) {
      const world = new TranscriptWorld();
      await world.edit(text);
      const first = JSON.stringify({ ...noted, version: 1, intent }, null, 1);
      await world.store.write(id, transcriptNotesName, { content: Buffer.from(`${first}\n`) });
      assert.equal((await world.transcripts.nextBeginning(id)).kind, "session");
      await world.finish(base.conversations.say(session, asked("three", "3"), base.conversations.headOf(session)));
      assert.match((await world.text(transcriptNotesName)) ?? "", /^\{"version":2,/);
      assert.equal((await world.messages())?.at(-1)?.text, "3");
      assert.deepEqual(world.reports, []);
    }
  });

  test("[W5] is distinguished from a person's addition", async () => {
    const { world, session } = await begunTranscript();
    const file = `${await world.text()}\n## User\n\nand I say\n`;
    await world.edit(file);
    await world.finish(world.conversations.say(session, asked("and I say this", "1")));
    assert.equal(await world.text(), file);
    assert.equal((await world.edited()).messages.length, 3);
  });

  test("[W5] of the notes, or their loss, makes session.md a person's file", async () => {
    for (const content of ["", "{", "[]", '{"version":1}', '{"version":2}\n', "\0\0\0\0", null]) {
      const { world, session } = await begunTranscript();
      if (content === null) await world.store.remove(id, transcriptNotesName);
      else await world.store.write(id, transcriptNotesName, { content: Buffer.from(content) });
      assert.deepEqual((await world.edited()).messages, asked("one", "1"));
      assert.equal(world.reports.length, content === null ? 0 : 1);
      await world.finish(world.conversations.say(session, asked("two", "2")));
      assert.deepEqual(await world.messages(asideTranscriptName(session)), world.conversations.messagesOf(session));
      assert.deepEqual((await world.edited()).messages, asked("one", "1"));
    }
  });

  test("[B2] by a newer version is not touched", async () => {
    const { world, session } = await begunTranscript();
    const before = await world.text();
    await world.store.write(id, transcriptNotesName, { content: Buffer.from('{"version":3}\n{}\n') });
    await assert.rejects(world.transcripts.nextBeginning(id), hasCode("data_newer"));
    await world.finish(world.conversations.say(session, asked("two", "2")));
    assert.equal(world.reports.length, 1);
    assert.equal(await world.text(), before);
    assert.equal(await world.text(transcriptNotesName), '{"version":3}\n{}\n');
  });
});
