import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { asked, Conversations } from "../../../testing/conversations.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { TranscribedTurn, TranscriptMessage } from "../../domain/transcript.ts";
import { memoryTranscripts } from "../memory/memory-transcripts.ts";
import {
  asideTranscriptName,
  currentTranscriptName,
  transcriptNotesName,
  type TranscriptStore,
} from "../transcript-store.ts";
import { parseTranscript, renderMessages } from "./format.ts";
import { createTranscripts, type Transcripts } from "./transcripts.ts";

const id = "default";

class World {
  readonly conversations = new Conversations();
  readonly reports: string[] = [];
  /** Names of files that were read or written whole. */
  readonly touched: string[] = [];
  readonly store: TranscriptStore;
  readonly transcripts: Transcripts;
  now = 1_000;

  constructor(store: TranscriptStore = memoryTranscripts()) {
    this.store = store;
    this.transcripts = createTranscripts({
      store: watched(store, this.touched),
      now: () => this.now,
      report: (message) => this.reports.push(message),
    });
  }

  async finish(...turns: TranscribedTurn[]): Promise<void> {
    for (const turn of turns) await this.transcripts.turnsFinished(id, [turn]);
  }

  async text(name = currentTranscriptName): Promise<string | null> {
    const content = (await this.store.read(id, name))?.content ?? null;
    return content === null ? null : Buffer.from(content).toString();
  }

  async messages(name = currentTranscriptName): Promise<TranscriptMessage[] | null> {
    const text = await this.text(name);
    if (text === null) return null;
    const parsed = parseTranscript(Buffer.from(text));
    assert.ok(parsed.kind === "transcript");
    return parsed.messages;
  }

  async edit(text: string | Uint8Array): Promise<void> {
    await this.store.write(id, currentTranscriptName, { content: Buffer.from(text) });
  }

  async edited() {
    const beginning = await this.transcripts.nextBeginning(id);
    assert.ok(beginning.kind === "edited", beginning.kind);
    return beginning;
  }
}

function watched(store: TranscriptStore, touched: string[]): TranscriptStore {
  return {
    ...{ locked: store.locked.bind(store), stat: store.stat.bind(store), append: store.append.bind(store) },
    ...{
      sync: store.sync.bind(store),
      move: store.move.bind(store),
      remove: store.remove.bind(store),
      removeAll: store.removeAll.bind(store),
    },
    read(workspaceId, name) {
      touched.push(name);
      return store.read(workspaceId, name);
    },
    write(workspaceId, name, whole) {
      touched.push(name);
      return store.write(workspaceId, name, whole);
    },
  };
}

/** Returns a world with one session that has one turn. */
async function begun(store?: TranscriptStore) {
  const world = new World(store);
  const session = world.conversations.begin();
  await world.finish(world.conversations.say(session, asked("one", "1")));
  return { world, session };
}

suite("a turn that finished", () => {
  test("[W4] is appended to session.md, which says where it comes from", async () => {
    const world = new World();
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
    const { world, session } = await begun();
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
    const { world, session } = await begun();
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
    const { world, session } = await begun();
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
    const { world, session } = await begun();
    for (const text of ["two", "three"]) world.conversations.say(session, asked(text, text));
    const before = await world.text();
    await world.finish(world.conversations.say(session, asked("four", "4")));
    assert.deepEqual(await world.messages(), world.conversations.messagesOf(session));
    assert.ok((await world.text())?.startsWith(before ?? "-"));
  });

  test("[W4] that continues from an earlier turn of its session leaves out the turns after that one", async () => {
    const { world, session } = await begun();
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
    const { world, session } = await begun();
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
    const { world, session } = await begun();
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
    const { world, session } = await begun();
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
    const { world, session } = await begun();
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
    const world = new World(memoryTranscripts({ has: () => false }));
    const turn = world.conversations.say(world.conversations.begin(), asked("one", "1"));
    for (const workspaceId of ["default", "my laptop", ".."])
      await world.transcripts.turnsFinished(workspaceId, [turn]);
    assert.deepEqual(world.reports, []);
    const isUnknown = hasCode("workspace_unknown");
    await assert.rejects(world.transcripts.nextBeginning(id), isUnknown);
    await assert.rejects(world.transcripts.clear(id), isUnknown);
  });

  test("[W4] that cannot be written is reported, and the next turn writes it", async () => {
    const { world, session } = await begun();
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

suite("a person's edit of session.md", () => {
  test("[W5] is the start of the next session, and no byte of it is changed", async () => {
    const { world, session } = await begun();
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
    const { world, session } = await begun();
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
    const { world } = await begun();
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
    const world = new World();
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
      const { world, session } = await begun();
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
      const { world, session } = await begun();
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
    const { world, session } = await begun();
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
    const { world, session } = await begun();
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
      const { world, session } = await begun();
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
    const { world, session } = await begun();
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

suite("what a crash left", () => {
  test("[B3] of an append that was not noted is completed wherever it ends, with or without zeros after it", async () => {
    const { world: base, session } = await begun();
    const before = (await base.text()) ?? "";
    const notes = (await base.text(transcriptNotesName)) ?? "";
    const missed = base.conversations.say(session, asked("zwei é", "## User\n\n2"));
    const last = base.conversations.say(session, asked("three", "3"));
    const added = Buffer.from(renderMessages([...missed.messages, ...last.messages]));
    const zeros = Buffer.alloc(added.length);
    for (let end = 0; end <= added.length; end += 1) {
      for (const tail of [added.subarray(0, end), Buffer.concat([added.subarray(0, end), zeros.subarray(end)])]) {
        const world = new World();
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
    const { world: base, session } = await begun();
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
        const world = new World();
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
        assert.deepEqual(await new World(world.store).transcripts.nextBeginning(id), own);
        assert.deepEqual(world.reports, []);
      }
    }
  });

  test("[B2] with the notes of version 1 is completed", async () => {
    const { world: base, session } = await begun();
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
      const world = new World();
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
    const { world, session } = await begun();
    const file = `${await world.text()}\n## User\n\nand I say\n`;
    await world.edit(file);
    await world.finish(world.conversations.say(session, asked("and I say this", "1")));
    assert.equal(await world.text(), file);
    assert.equal((await world.edited()).messages.length, 3);
  });

  test("[W5] of the notes, or their loss, makes session.md a person's file", async () => {
    for (const content of ["", "{", "[]", '{"version":1}', '{"version":2}\n', "\0\0\0\0", null]) {
      const { world, session } = await begun();
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
    const { world, session } = await begun();
    const before = await world.text();
    await world.store.write(id, transcriptNotesName, { content: Buffer.from('{"version":3}\n{}\n') });
    await assert.rejects(world.transcripts.nextBeginning(id), hasCode("data_newer"));
    await world.finish(world.conversations.say(session, asked("two", "2")));
    assert.equal(world.reports.length, 1);
    assert.equal(await world.text(), before);
    assert.equal(await world.text(transcriptNotesName), '{"version":3}\n{}\n');
  });
});

suite("clearing and showing", () => {
  test("[L2] clear moves the transcript, and the next session begins empty", async () => {
    const { world, session } = await begun();
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
    const { world } = await begun();
    await world.edit("## User\n\nmine\n");
    await world.transcripts.clear(id);
    await world.edit("Dear diary");
    await world.transcripts.clear(id);
    assert.equal(await world.text("session.19700101T000001.000Z.edited.md"), "## User\n\nmine\n");
    assert.equal(await world.text("session.19700101T000001.000Z.unreadable.md"), "Dear diary");
    assert.deepEqual(await world.transcripts.nextBeginning(id), { kind: "empty", warnings: [] });
  });

  test("[L2] show describes session.md without reading an unchanged file", async () => {
    const world = new World();
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

suite("correcting", () => {
  const corrected = "## User\n\none, corrected\n\n## Assistant\n\n1\n";

  test("[W5] a correction is what the next session begins with, and the running session goes on beside it", async () => {
    const { world, session } = await begun();
    const shown = await world.transcripts.read(id);
    assert.equal(shown.text, await world.text());
    assert.equal(shown.fault, null);
    const { hash: expectedHash } = shown;
    assert.ok(expectedHash !== null);
    const made = await world.transcripts.correct(id, { text: corrected, expectedHash });
    assert.deepEqual(made, await world.transcripts.read(id));
    assert.equal(await world.text(), corrected);
    assert.deepEqual((await world.edited()).messages, asked("one, corrected", "1"));
    await world.finish(world.conversations.say(session, asked("two", "2")));
    assert.equal(await world.text(), corrected);
    assert.deepEqual(await world.messages(asideTranscriptName(session)), world.conversations.messagesOf(session));
    assert.deepEqual((await world.edited()).messages, asked("one, corrected", "1"));
  });

  test("[W5] a correction of a file that changed since is refused, and nothing is lost", async () => {
    const { world, session } = await begun();
    const expectedHash = (await world.transcripts.read(id)).hash ?? "";
    await world.finish(world.conversations.say(session, asked("two", "2")));
    const now = await world.text();
    const correction = { text: corrected, expectedHash };
    await assert.rejects(world.transcripts.correct(id, correction), hasCode("transcript_changed"));
    assert.equal(await world.text(), now);
    await world.store.remove(id, currentTranscriptName);
    await assert.rejects(world.transcripts.correct(id, correction), hasCode("transcript_changed"));
    assert.equal(await world.text(), null);
    const empty = await world.transcripts.read(id);
    assert.deepEqual([empty.text, empty.bytes], ["", 0]);
    await world.transcripts.correct(id, { text: corrected, expectedHash: empty.hash ?? "" });
    assert.equal(await world.text(), corrected);
  });

  test("[W5] a correction loses to a writer that comes between the comparison and the change", async () => {
    const store = memoryTranscripts();
    const { world } = await begun(store);
    const expectedHash = (await world.transcripts.read(id)).hash ?? "";
    const racing: TranscriptStore = {
      ...watched(store, []),
      read: async (workspaceId, name) => {
        const found = await store.read(workspaceId, name);
        if (name === currentTranscriptName) await world.edit("## User\n\nfrom an editor\n");
        return found;
      },
    };
    const transcripts = createTranscripts({ store: racing, now: () => 1, report: () => {} });
    await assert.rejects(transcripts.correct(id, { text: corrected, expectedHash }), hasCode("transcript_changed"));
    assert.equal(await world.text(), "## User\n\nfrom an editor\n");
  });

  test("[W5] of two first corrections at once one is written, and the other one is refused", async () => {
    const world = new World();
    const { hash } = await world.transcripts.read(id);
    const texts = ["## User\n\nmine\n", "## User\n\nyours\n"];
    const corrections = texts.map((text) => world.transcripts.correct(id, { text, expectedHash: hash ?? "" }));
    const [first, second] = await Promise.allSettled(corrections);
    assert.equal(first?.status, "fulfilled");
    assert.ok(second?.status === "rejected" && hasCode("transcript_changed")(second.reason));
    assert.equal(await world.text(), texts[0]);
  });

  test("[W5] a file that an editor makes just before the first correction is not replaced", async () => {
    const store = memoryTranscripts();
    const world = new World(store);
    const editors = "## User\n\nfrom an editor\n";
    const racing: TranscriptStore = {
      ...watched(store, []),
      write: async (workspaceId, name, whole) => {
        if (name === currentTranscriptName) await world.edit(editors);
        return await store.write(workspaceId, name, whole);
      },
    };
    const transcripts = createTranscripts({ store: racing, now: () => 1, report: () => {} });
    const { hash } = await transcripts.read(id);
    const late = transcripts.correct(id, { text: corrected, expectedHash: hash ?? "" });
    await assert.rejects(late, hasCode("transcript_changed"));
    assert.equal(await world.text(), editors);
  });

  test("[W5] a text that could not be read back is refused with its line, and the file stays", async () => {
    const { world } = await begun();
    const before = await world.text();
    const expectedHash = (await world.transcripts.read(id)).hash ?? "";
    const lineOf = async (text: string): Promise<unknown> => {
      const refused = await world.transcripts.correct(id, { text, expectedHash }).catch((error: unknown) => error);
      assert.ok(refused instanceof AptoveError && refused.code === "transcript_invalid", String(refused));
      return refused.facts["line"];
    };
    assert.equal(await lineOf("\n\nDear diary\n## User\n\nhi\n"), 3);
    assert.equal(await lineOf("---\nprovider: x\n\n## User\n\nhi\n"), 1);
    assert.equal(await lineOf("## User\n\n\ud800\n"), null);
    assert.equal(await lineOf(`## User\n\n${"x".repeat(limits.transcriptEditBytesMax)}\n`), null);
    assert.equal(await world.text(), before);
  });

  test("[W5] a file that no session could begin with is shown with what is wrong, and can be corrected", async () => {
    const { world } = await begun();
    await world.edit("Dear diary\n");
    const { text, hash, fault } = await world.transcripts.read(id);
    assert.equal(text, "Dear diary\n");
    assert.equal(fault?.line, 1);
    await world.transcripts.correct(id, { text: corrected, expectedHash: hash ?? "" });
    assert.deepEqual((await world.edited()).messages, asked("one, corrected", "1"));
    await world.edit(Buffer.from([0xff, 0x0a]));
    assert.deepEqual((await world.transcripts.read(id)).text, null);
    await world.edit(`## User\n\n${"x".repeat(limits.transcriptEditBytesMax)}\n`);
    const large = await world.transcripts.read(id);
    assert.equal(large.text, null);
    assert.match(large.fault?.reason ?? "", /at most 4194304 are shown here/);
    assert.equal((await world.transcripts.show(id)).messages, 1);
  });
});
