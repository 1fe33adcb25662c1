/** Corrections of a transcript by its owner (W5). */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { asked } from "../../../testing/conversations.ts";
import { hasCode } from "../../../testing/refusals.ts";
import {
  begunTranscript,
  TranscriptWorld,
  transcriptOwner as id,
  watchedTranscripts,
} from "../../../testing/transcript-world.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { memoryTranscripts } from "../memory/memory-transcripts.ts";
import { asideTranscriptName, currentTranscriptName, type TranscriptStore } from "../transcript-store.ts";
import { createTranscripts } from "./transcripts.ts";

suite("correcting", () => {
  const corrected = "## User\n\none, corrected\n\n## Assistant\n\n1\n";

  test("[W5] a correction is what the next session begins with, and the running session goes on beside it", async () => {
    const { world, session } = await begunTranscript();
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
    const { world, session } = await begunTranscript();
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
    const { world } = await begunTranscript(store);
    const expectedHash = (await world.transcripts.read(id)).hash ?? "";
    const racing: TranscriptStore = {
      ...watchedTranscripts(store, []),
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
    const world = new TranscriptWorld();
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
    const world = new TranscriptWorld(store);
    const editors = "## User\n\nfrom an editor\n";
    const racing: TranscriptStore = {
      ...watchedTranscripts(store, []),
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
    const { world } = await begunTranscript();
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
    const { world } = await begunTranscript();
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
