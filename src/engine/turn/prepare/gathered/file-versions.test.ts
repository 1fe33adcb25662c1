import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testEngine, type TestEngine } from "../../../../../testing/engine.ts";
import type { ActiveFile, WorkingCopy } from "../../../../domain/active-file.ts";
import { limits } from "../../../../domain/limits.ts";
import { sha256 } from "../../../../domain/ids.ts";
import type { FinishedTurn } from "../../../../domain/turn.ts";
import type { RetrievedChunk, Retriever } from "../../../../retrieval/retriever.ts";

const first = "1".repeat(40);
const second = "2".repeat(40);

function active(path: string, content: string): ActiveFile {
  return { path, content: Buffer.from(content), sha256: null, isTouched: true };
}

function deleted(path: string, renamedTo?: string): ActiveFile {
  const file = { path, content: null, sha256: null, isTouched: true, isDeleted: true };
  return renamedTo === undefined ? file : { ...file, renamedTo };
}

/** A world whose index and working copy a test changes: both are texts of whole files by path. */
async function world(t: TestContext) {
  const index = { commit: first, files: new Map<string, string>() };
  const disk = new Map<string, string>();
  const retriever: Retriever = {
    search: async () =>
      [...index.files].map(([path, text]): RetrievedChunk => {
        const hash = sha256(text);
        const place = { path, startLine: 1, endLine: 3, language: "typescript", symbol: null };
        return { id: `${path}:${hash.slice(0, 8)}`, repo: "r", ...place, text, hash, commit: index.commit, score: 1 };
      }),
    index: () => assert.fail("nothing is indexed here"),
    list: async () => [],
    close: async () => {},
  };
  const workingCopy: WorkingCopy = {
    look: async (path) => {
      const text = disk.get(path);
      return text === undefined ? null : { hash: sha256(text), text };
    },
  };
  const engine = await testEngine(t, { retrievers: new Map([["local", retriever]]) });
  return { ...engine, index, disk, workingCopy };
}

function sentText({ provider }: TestEngine): string {
  return JSON.stringify(provider.exchanges.at(-1)?.call.items);
}

function outcomes({ manifest }: FinishedTurn): (string | undefined)[] {
  return manifest.chunks.map(({ wasSent, notSentBecause }) => (wasSent ? "sent" : notSentBecause));
}

function skipped({ manifest }: FinishedTurn): string[] {
  return manifest.skippedFiles.map(({ path, reason }) => `${path} ${reason}`);
}

test("[X6] a file that was active, was restored and got another content is sent as it is now, and a note says so", async (t) => {
  const here = await world(t);
  const { ask, index, disk, workingCopy } = here;
  index.files.set("a.ts", "old a");
  const { sessionId } = await ask("one", { repo: "r", workingCopy, activeFiles: [active("a.ts", "edited a")] });
  index.files.set("a.ts", "new a");
  disk.set("a.ts", "new a");
  const turn = await ask("two", { sessionId, workingCopy });
  assert.deepEqual(outcomes(turn), ["sent"]);
  assert.match(sentText(here), /\[NOTE\].*a\.ts has another content now.*=== CHUNK 1.*new a/);
  assert.deepEqual(skipped(turn), ["a.ts outdated"]);
  await ask("three", { sessionId, workingCopy });
  assert.doesNotMatch(sentText(here), /\[NOTE\]/, "it is noted once");
});

test("[X6] while the working copy has the version that the model has, no older chunk of it is sent", async (t) => {
  const here = await world(t);
  const { ask, index, disk, workingCopy } = here;
  index.files.set("a.ts", "old a");
  disk.set("a.ts", "edited a");
  const { sessionId } = await ask("one", { repo: "r", activeFiles: [active("a.ts", "edited a")] });
  assert.deepEqual(outcomes(await ask("two", { sessionId, workingCopy })), ["active_file"]);
  assert.doesNotMatch(sentText(here), /\[NOTE\]|old a/);
});

test("[X6] in a second working copy of the session its own version counts, and the first one's again afterwards", async (t) => {
  const here = await world(t);
  const { ask, index, disk, workingCopy } = here;
  index.files.set("a.ts", "committed a");
  const { sessionId } = await ask("one", { repo: "r", workingCopy, activeFiles: [active("a.ts", "edited a")] });
  disk.set("a.ts", "committed a");
  assert.deepEqual(outcomes(await ask("there", { sessionId, workingCopy })), ["sent"]);
  assert.match(sentText(here), /a\.ts has another content now/);
  const back = await ask("back", { sessionId, workingCopy, activeFiles: [active("a.ts", "edited a")] });
  assert.equal(back.manifest.activeFiles[0]?.wasSentToLLM, true);
});

test("[X6] a file that grew over the limit is noted, and current chunks of it are sent", async (t) => {
  const here = await world(t);
  const { ask, index } = here;
  const { sessionId } = await ask("one", { repo: "r", activeFiles: [active("a.ts", "small a")] });
  index.files.set("a.ts", "function big() {}");
  const big = `function big() {}\n${"x".repeat(limits.activeFileBytesMax)}`;
  const turn = await ask("two", { sessionId, activeFiles: [active("a.ts", big)] });
  assert.deepEqual(outcomes(turn), ["sent"]);
  assert.match(sentText(here), /\[NOTE\].*a\.ts has another content now/);
  index.files.set("a.ts", "function gone() {}");
  const third = await ask("three", { sessionId, activeFiles: [active("a.ts", big)] });
  assert.deepEqual(outcomes(third), ["outdated"]);
});

test("[X6] a deleted or renamed path is noted once as such, and its chunks are not sent", async (t) => {
  const here = await world(t);
  const { ask, index } = here;
  index.files.set("a.ts", "old a").set("b.ts", "old b");
  const activeFiles = [deleted("a.ts"), deleted("b.ts", "c.ts")];
  const turn = await ask("one", { repo: "r", activeFiles });
  assert.deepEqual(outcomes(turn), ["deleted", "deleted"]);
  assert.deepEqual(skipped(turn), ["a.ts deleted", "b.ts deleted"]);
  assert.match(sentText(here), /a\.ts does not exist any more.*b\.ts was renamed to c\.ts/);
  await ask("two", { sessionId: turn.sessionId, activeFiles });
  assert.doesNotMatch(sentText(here), /\[NOTE\]/);
  await assert.rejects(ask("x", { activeFiles: [{ ...active("a.ts", "text"), isDeleted: true }] }), /has a content/);
});

test("[X6] a file that the working copy does not have any more is noted, also if git does not report it", async (t) => {
  const here = await world(t);
  const { ask, index, workingCopy } = here;
  const { sessionId } = await ask("one", { repo: "r", activeFiles: [active("a.ts", "a")] });
  index.files.set("a.ts", "a");
  const turn = await ask("two", { sessionId, workingCopy });
  assert.deepEqual([outcomes(turn), skipped(turn)], [["deleted"], ["a.ts deleted"]]);
  assert.match(sentText(here), /a\.ts does not exist any more/);
});

test("[X6] without the working copy the index counts if it is at the caller's commit, or was made again since", async (t) => {
  const here = await world(t);
  const { ask, index } = here;
  index.files.set("a.ts", "old a");
  const { sessionId } = await ask("one", { repo: "r", activeFiles: [active("a.ts", "edited a")] });
  assert.deepEqual(outcomes(await ask("two", { sessionId })), ["active_file"], "the index is as old as before");
  const behind = await ask("three", { sessionId, commit: second });
  assert.deepEqual(outcomes(behind), ["active_file"], "the edit may have been committed");
  index.commit = second;
  index.files.set("a.ts", "edited a");
  assert.deepEqual(outcomes(await ask("four", { sessionId, commit: second })), ["active_file"], "it is the same text");
  index.files.set("a.ts", "new a");
  assert.deepEqual(outcomes(await ask("five", { sessionId, commit: second })), ["sent"]);
  assert.match(sentText(here), /\[NOTE\].*a\.ts has another content now/);
});

test("[Q2] a question sees only chunks that its own working copy has", async (t) => {
  const { ask, index, disk, workingCopy } = await world(t);
  index.files.set("same.ts", "same").set("other.ts", "there").set("none.ts", "there");
  disk.set("same.ts", "before\nsame\nafter").set("other.ts", "here");
  assert.deepEqual(outcomes(await ask("one", { repo: "r", workingCopy })), ["sent", "outdated", "deleted"]);
});
