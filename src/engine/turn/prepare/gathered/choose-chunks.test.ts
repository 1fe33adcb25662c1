import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { chooseChunks, chunksOfFileMax, estimateTokens } from "./choose-chunks.ts";
import type { Chunk } from "../../../../domain/chunk.ts";
import { sha256 } from "../../../../domain/ids.ts";
import type { ChunkObstacle } from "./file-versions.ts";
import { limits } from "../../../../domain/limits.ts";
import { chunkKey } from "../../../../domain/lineage.ts";

const bounds = {
  chunksMax: limits.retrievalChunksMax,
  tokensMax: limits.retrievalTokensMax,
};

function chunk(path: string, text: string, id = `${path}:${text}`): Chunk {
  const place = { path, startLine: 1, endLine: 2 };
  return { id, repo: "r", ...place, language: "typescript", symbol: null, text, hash: sha256(text), commit: null };
}

const nothingKnown = { sent: { chunkKeys: new Set<string>() }, obstacles: new Map<string, ChunkObstacle>() };

function active(candidates: readonly Chunk[], paths: readonly string[]): Map<string, ChunkObstacle> {
  const ofFiles = candidates.filter(({ path }) => paths.includes(path));
  return new Map(ofFiles.map(({ id }) => [id, "active_file"]));
}

const candidateLists = fc
  .array(fc.record({ file: fc.integer({ min: 0, max: 5 }), size: fc.integer({ min: 0, max: 9_000 }) }), {
    maxLength: 40,
  })
  .map((items) =>
    items.map(({ file, size }, at) => chunk(`src/${file}.ts`, String.fromCharCode(97 + at).repeat(size), `${at}`)),
  );
const knowledge = fc.record({
  sentEvery: fc.integer({ min: 1, max: 6 }),
  activeFiles: fc.uniqueArray(fc.integer({ min: 0, max: 5 }), { maxLength: 3 }),
});

function known(candidates: readonly Chunk[], { sentEvery, activeFiles }: { sentEvery: number; activeFiles: number[] }) {
  return {
    sent: { chunkKeys: new Set(candidates.filter((_, at) => at % sentEvery === 0 && sentEvery > 1).map(chunkKey)) },
    obstacles: active(
      candidates,
      activeFiles.map((file) => `src/${file}.ts`),
    ),
  };
}

function tokensOf(chosen: readonly { id: string }[], candidates: readonly Chunk[]): number {
  const texts = chosen.map((ref) => candidates.find(({ id }) => id === ref.id)?.text ?? "");
  return texts.reduce((sum, text) => sum + estimateTokens(text), 0);
}

/** Returns the files in the order of their best chunks. */
function filesOf(candidates: readonly Chunk[], { obstacles }: { obstacles: ReadonlyMap<string, unknown> }): string[] {
  return [...new Set(candidates.filter(({ id }) => !obstacles.has(id)).map(({ path }) => path))];
}

test("[Q3] the choice stays within the number, the tokens and the share of a file, in the order of the candidates", () => {
  fc.assert(
    fc.property(candidateLists, knowledge, (candidates, knows) => {
      const { refs, toSend } = chooseChunks(candidates, known(candidates, knows));
      const chosen = refs.filter((ref) => ref.notSentBecause !== "active_file");
      assert.ok(chosen.length <= bounds.chunksMax);
      assert.ok(tokensOf(chosen, candidates) <= bounds.tokensMax);
      for (const [place, path] of filesOf(candidates, known(candidates, knows)).entries()) {
        assert.ok(chosen.filter((ref) => ref.path === path).length <= chunksOfFileMax(place));
      }
      const order = refs.map((ref) => candidates.findIndex(({ id }) => id === ref.id));
      assert.deepEqual(
        order,
        order.toSorted((a, b) => a - b),
      );
      assert.deepEqual(
        refs.filter((ref) => ref.wasSent).map((ref) => ref.id),
        toSend.map(({ id }) => id),
      );
    }),
  );
});

test("[Q3] no candidate is left out that there was room for", () => {
  fc.assert(
    fc.property(candidateLists, knowledge, (candidates, knows) => {
      const knowing = known(candidates, knows);
      const { refs } = chooseChunks(candidates, knowing);
      const chosen = refs.filter((ref) => ref.notSentBecause !== "active_file");
      if (chosen.length === bounds.chunksMax) return;
      const tokens = tokensOf(chosen, candidates);
      const files = filesOf(candidates, knowing);
      for (const left of candidates.filter(({ id }) => !refs.some((ref) => ref.id === id))) {
        const ofFile = chosen.filter((ref) => ref.path === left.path).length;
        const fileIsFull = ofFile >= chunksOfFileMax(files.indexOf(left.path));
        assert.ok(fileIsFull || tokens + estimateTokens(left.text) > bounds.tokensMax);
      }
    }),
  );
});

test("[Q4] a chunk that is in the chain already is listed, takes a place and its tokens, and is not sent again", () => {
  const tokens = bounds.tokensMax / 5;
  const candidates = Array.from({ length: 10 }, (_, at) => chunk(`${at}.ts`, String(at).repeat(4 * tokens)));
  const sent = { chunkKeys: new Set(candidates.slice(0, 2).map(chunkKey)) };
  const { refs, toSend } = chooseChunks(candidates, { ...nothingKnown, sent });
  assert.deepEqual(
    refs.map((ref) => [ref.wasSent, ref.notSentBecause]),
    [
      [false, "already_sent"],
      [false, "already_sent"],
      [true, undefined],
      [true, undefined],
      [true, undefined],
    ],
  );
  assert.deepEqual(toSend, candidates.slice(2, 5));
});

test("[Q3] the best file gets most places, the second one fewer, and each further file one", () => {
  const ofFile = (path: string) => Array.from({ length: 6 }, (_, at) => chunk(path, `part ${at}`));
  const candidates = ["best.ts", "second.ts", "third.ts", "fourth.ts"].flatMap(ofFile);
  const { toSend } = chooseChunks(candidates, nothingKnown);
  const counts = Map.groupBy(toSend, ({ path }) => path);
  assert.deepEqual(
    [...counts].map(([path, { length }]) => [path, length]),
    [
      ["best.ts", 4],
      ["second.ts", 2],
      ["third.ts", 1],
      ["fourth.ts", 1],
    ],
  );
});

test("[Q4] the same id with another content is new to the model", () => {
  const before = chunk("a.ts", "old", "one");
  const after = chunk("a.ts", "new", "one");
  const { toSend } = chooseChunks([after], {
    sent: { chunkKeys: new Set([chunkKey(before)]) },
    obstacles: new Map(),
  });
  assert.deepEqual(toSend, [after]);
});

test("[X6] chunks of an active file are listed as such, not sent, and take no place from others", () => {
  const open = Array.from({ length: 12 }, (_, at) => chunk("open.ts", `part ${at}`));
  const others = Array.from({ length: bounds.chunksMax + 2 }, (_, at) => chunk(`other-${at}.ts`, "text"));
  const { refs, toSend } = chooseChunks([...open, ...others], {
    ...nothingKnown,
    obstacles: active(open, ["open.ts"]),
  });
  assert.deepEqual(toSend, others.slice(0, bounds.chunksMax));
  assert.ok(refs.filter((ref) => ref.path === "open.ts").every((ref) => ref.notSentBecause === "active_file"));
  assert.equal(refs.length, 12 + bounds.chunksMax);
});

test("[Q3] a chunk that does not fit into the budget makes way for a smaller one", () => {
  const large = chunk("large.ts", "x".repeat(bounds.tokensMax * 4 + 1));
  const small = chunk("small.ts", "y");
  assert.deepEqual(chooseChunks([large, small], nothingKnown).toSend, [small]);
});

test("[Q3] a candidate that is found twice is chosen once", () => {
  const one = chunk("a.ts", "text");
  assert.equal(chooseChunks([one, one], nothingKnown).refs.length, 1);
});
