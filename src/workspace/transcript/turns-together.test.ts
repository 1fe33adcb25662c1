/** Turns of one workspace that end together, and are written together. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, Conversations } from "../../../testing/conversations.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";
import { memoryTranscripts } from "../memory/memory-transcripts.ts";
import { asideTranscriptName, currentTranscriptName, type TranscriptStore } from "../transcript-store.ts";
import { parseTranscript } from "./format.ts";
import { createTranscripts } from "./transcripts.ts";

const id = "default";

/** Returns transcripts on the store, and some sessions that have a turn each. The last one's is `session.md`. */
async function begun(store: TranscriptStore, count: number) {
  const conversations = new Conversations();
  const transcripts = createTranscripts({ store, now: () => 1_000, report: () => {} });
  const sessions = Array.from({ length: count }, () => conversations.begin());
  for (const session of sessions) {
    await transcripts.turnsFinished(id, [conversations.say(session, asked("one", "1"))]);
  }
  return { conversations, transcripts, sessions };
}

async function messages(store: TranscriptStore, name = currentTranscriptName): Promise<TranscriptMessage[]> {
  const parsed = parseTranscript((await store.read(id, name))?.content ?? Buffer.from([0xff]));
  assert.ok(parsed.kind === "transcript", name);
  return parsed.messages;
}

test("[W4] turns that end together are in their own files, and only the last one's session is moved to session.md", async () => {
  const store = memoryTranscripts();
  const moves: string[] = [];
  const move = store.move.bind(store);
  store.move = (workspaceId, from, to) => {
    moves.push(`${from} ${to}`);
    return move(workspaceId, from, to);
  };
  const { conversations, transcripts, sessions } = await begun(store, 4);
  moves.length = 0;
  const turns = sessions.map((each) => conversations.say(each, asked("two", "2")));
  const [first = "", second = "", third = "", current = ""] = sessions;
  await transcripts.turnsFinished(id, [...turns, conversations.say(second, asked("three", "3"))]);
  assert.deepEqual(moves, [
    `${currentTranscriptName} ${asideTranscriptName(current)}`,
    `${asideTranscriptName(second)} ${currentTranscriptName}`,
  ]);
  assert.deepEqual(await messages(store), conversations.messagesOf(second));
  for (const each of [first, third, current]) {
    assert.deepEqual(await messages(store, asideTranscriptName(each)), conversations.messagesOf(each));
  }
});

test("[W4] a turn that is written late, because its file was changed, does not replace one that finished after it", async () => {
  const store = memoryTranscripts();
  const append = store.append.bind(store);
  let changed = "";
  store.append = async (workspaceId, name, change) => {
    if (name !== changed) return await append(workspaceId, name, change);
    changed = "";
    return null;
  };
  const { conversations, transcripts, sessions } = await begun(store, 3);
  const [first = "", last = ""] = sessions;
  changed = asideTranscriptName(first);
  const turns = [first, last].map((each) => conversations.say(each, asked("two", "2")));
  await transcripts.turnsFinished(id, turns);
  assert.equal(changed, "");
  assert.deepEqual(await messages(store), conversations.messagesOf(last));
  assert.deepEqual(await messages(store, asideTranscriptName(first)), conversations.messagesOf(first));
});
