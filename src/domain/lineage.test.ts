import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { HistoryItem } from "./history.ts";
import {
  alreadySent,
  baseDepth,
  chainDepths,
  chunkKey,
  emptyState,
  extendState,
  historyItems,
  historySummary,
  historyTexts,
  joinState,
  knownPlace,
  placeHeader,
  stateFile,
  type State,
  type StateEntry,
  type StateFile,
} from "./lineage.ts";

/** Entry of the n-th turn of a naive model that copies its whole history. */
function entry(turnId: string, depth: number): StateEntry {
  const items: HistoryItem[] = [
    { type: "user", parts: [`question of ${turnId}`] },
    { type: "assistant", text: `answer of ${turnId}` },
  ];
  return { turnId, depth, items, chunks: [{ id: `c${depth % 5}`, hash: "h", path: "a.ts" }], files: [] };
}

function readBack(files: Map<string, StateFile>, turnId: string): { state: State; reads: number } {
  const chain: StateFile[] = [];
  for (let at: string | null = turnId; at !== null;) {
    const file: StateFile | undefined = files.get(at);
    assert.ok(file, `no file of ${at}`);
    chain.unshift(file);
    at = file.base;
  }
  return { state: joinState(chain), reads: chain.length };
}

test("[K2] the base of depth n is at n & (n - 1), and a chain ends at a base of nothing", () => {
  assert.deepEqual([1, 2, 3, 4, 6, 7, 8, 12, 1000].map(baseDepth), [0, 0, 2, 0, 4, 6, 0, 8, 992]);
  assert.deepEqual(chainDepths(1000), [512, 768, 896, 960, 992, 1000]);
  assert.deepEqual(chainDepths(0), []);
});

test("[K2] any tree of continues reads back the same history from its states as from a naive copy", () => {
  // Each number picks the parent of the next turn among all turns so far; -1 begins a new root.
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1, max: 200 }), { minLength: 1, maxLength: 120 }), (picks) => {
      const files = new Map<string, StateFile>();
      const states: State[] = [];
      const naive: HistoryItem[][] = [];
      picks.forEach((pick, index) => {
        const at = pick === -1 || index === 0 ? -1 : pick % index;
        const parent = at === -1 ? emptyState : (states[at] ?? emptyState);
        const own = entry(`t${index}`, parent.depth + 1);
        const state = extendState(parent, own);
        files.set(own.turnId, stateFile(state));
        states.push(state);
        naive.push([...(at === -1 ? [] : (naive[at] ?? [])), ...own.items]);
      });
      states.forEach((state, index) => {
        const { state: read, reads } = readBack(files, `t${index}`);
        assert.deepEqual(historyItems(read), naive[index]);
        assert.deepEqual(read, state);
        assert.ok(reads <= Math.floor(Math.log2(state.depth)) + 1, `${reads} reads at depth ${state.depth}`);
      });
    }),
  );
});

test("[K2] a conversation of n turns keeps at most n * (log2(n) / 2 + 1) entries in all its files", () => {
  let state = emptyState;
  let kept = 0;
  for (let depth = 1; depth <= 4096; depth += 1) {
    state = extendState(state, entry(`t${depth}`, depth));
    kept += stateFile(state).entries.length;
  }
  assert.ok(kept <= 4096 * (Math.log2(4096) / 2 + 1), `${kept} entries`);
});

test("[X3] [Q4] what was sent is known from every turn of the history, the last version of a file counting", () => {
  const first: StateEntry = { ...entry("a", 1), files: [{ path: "a.ts", hash: "1" }] };
  const second: StateEntry = { ...entry("b", 2), files: [{ path: "a.ts", hash: "2" }] };
  const sent = alreadySent(extendState(extendState(emptyState, first), second));
  assert.equal(sent.files.get("a.ts"), "2");
  assert.ok(sent.chunkKeys.has(chunkKey({ id: "c1", hash: "h" })));
  assert.ok(!sent.chunkKeys.has(chunkKey({ id: "c1", hash: "other" })));
});

test("[K1] what a turn needs of a long history is kept from turn to turn, and is the same as read from the start", () => {
  fc.assert(
    fc.property(fc.array(entryKinds, { maxLength: 40 }), (kinds) => {
      let grown: State = emptyState;
      for (const [index, kind] of kinds.entries()) {
        alreadySent(grown);
        grown = extendState(grown, entryOf(index + 1, kind));
      }
      const again: State = { ...grown };
      assert.deepEqual(alreadySent(grown), alreadySent(again));
      assert.equal(knownPlace(grown), knownPlace(again));
      assert.deepEqual(historySummary(grown), historySummary(again));
      const texts = historyTexts(grown);
      assert.equal(knownPlace(grown), texts.find((text) => text.startsWith(placeHeader)) ?? null);
    }),
  );
});

const entryKinds = fc.constantFrom("plain", "place", "file", "rules", "summary", "whole summary");

function entryOf(depth: number, kind: string): StateEntry {
  const parts = [`say ${depth}`, ...(kind === "place" ? [`${placeHeader}here ${depth}`] : [])];
  const files = kind === "file" ? [{ path: `${depth % 3}.ts`, hash: `h${depth}` }] : [];
  const through = {
    throughTurnId: `t${depth - 1}`,
    throughDepth: depth - 1,
    provider: "p",
    model: "m",
    text: "so far",
  };
  return {
    turnId: `t${depth}`,
    depth,
    items: [
      { type: "user", parts },
      { type: "assistant", text: "yes" },
    ],
    chunks: [],
    files,
    ...(kind === "rules" && { rules: [{ path: "AGENTS.md", hash: `r${depth}` }] }),
    ...(kind === "summary" && { summary: { ...through, throughItems: 1 } }),
    ...(kind === "whole summary" && { summary: through }),
  };
}
