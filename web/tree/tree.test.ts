/** The drawing of trees without a browser: what is folded, and where lanes lead. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { forestRows, placeOf, trunksOf, type ListedSession } from "./forest.ts";
import { lanesOf } from "./lanes.ts";
import { mainEnd, treeNodes, type GraphTurn, type TreeNode, type TreeSource } from "./tree-nodes.ts";

/** Turns by number, each with its parent's number. */
function turnsOf(parents: Record<number, number | null>, more: Record<number, object> = {}): GraphTurn[] {
  const turns = Object.entries(parents).map(([number, parent]) => ({
    id: number,
    parentId: parent === null ? null : String(parent),
    sequence: Number(number),
    sessionId: "s",
    kind: "agent",
    status: "completed",
    subagent: null,
    spawnedBy: null,
    wasCompacted: false,
    ...more[Number(number)],
  }));
  return (turns as unknown as GraphTurn[]).toReversed();
}

function line(length: number, from = 0): Record<number, number | null> {
  return Object.fromEntries(
    Array.from({ length }, (_, at) => [from + at + 1, from + at === 0 ? null : from + at] as const),
  );
}

function nodesOf(turns: GraphTurn[], more: Partial<TreeSource> = {}): TreeNode[] {
  return treeNodes({ turns, forks: new Map(), kept: new Set(), unfolded: new Set(), ...more });
}

function words(nodes: readonly TreeNode[]): string[] {
  return nodes.map((node) =>
    node.kind === "turn" ? node.id : node.kind === "fork" ? node.id : `${node.kind} of ${node.count}`,
  );
}

test("[U5] a long line of turns folds between its ends, what is remarkable stays, and a person can unfold it", () => {
  const turns = turnsOf(line(60), { 20: { status: "failed" } });
  const kept = new Set(["40"]);
  assert.deepEqual(words(nodesOf(turns, { kept })), [
    ...["60", "59", "58", "57", "run of 13", "43", "42", "41", "40", "39", "38", "37", "run of 13"],
    ...["23", "22", "21", "20", "19", "18", "17", "run of 12", "4", "3", "2", "1"],
  ]);
  const unfolded = nodesOf(turns, { kept, unfolded: new Set(["56"]) });
  assert.deepEqual(
    words(unfolded).slice(0, 17),
    Array.from({ length: 17 }, (_, at) => String(60 - at)),
  );
  assert.deepEqual(words(nodesOf(turnsOf(line(12)))).length, 12);
});

test("[U5] [U11] many attempts at one place, and many forks of one turn, are a few rows", () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [at + 2, 1]));
  const turns = turnsOf({ 1: null, ...many, 10_002: 2 }, { 5_000: { status: "pending" } });
  const sessions = Array.from({ length: 10 }, (_, at) => ({ id: `f${at}` })) as unknown as never[];
  const forks = new Map([["1", { sessions, count: 10_000 }]]);
  const start = performance.now();
  const nodes = nodesOf(turns, { forks, kept: new Set(["7"]) });
  assert.deepEqual(words(nodes), [
    ...["10002", "10001", "10000", "9999", "attempts of 9994", "5000", "7", "2"],
    ...["fork f0", "fork f1", "fork f2", "forks of 9997", "1"],
  ]);
  const all = nodesOf(turns, { unfolded: new Set(["attempts 1"]) });
  const rows = lanesOf(all, { columnsMax: 8 });
  assert.equal(rows.length, 10_002);
  assert.ok(rows.every(({ passing, joining, column }) => passing.length <= 8 && joining.length <= 8 && column < 8));
  assert.ok(performance.now() - start < 5_000);
});

test("[U5] the first lane is the branch of the head, also if another one is newer", () => {
  const turns = turnsOf({ 1: null, 2: 1, 3: 2, 4: 1, 5: 4 });
  const columns = (headId: string) =>
    Object.fromEntries(lanesOf(turns, { main: mainEnd(turns, headId) }).map(({ id, column }) => [id, column]));
  assert.deepEqual(columns("2"), { 1: 0, 2: 0, 3: 0, 4: 1, 5: 1 });
  assert.deepEqual(columns("4"), { 1: 0, 2: 1, 3: 1, 4: 0, 5: 0 });
  assert.equal(mainEnd(turns, "9"), null);
});

test("[U5] a subagent is drawn below the turn that started it", () => {
  const turns = turnsOf({ 1: null, 2: null, 3: 1 }, { 2: { spawnedBy: "1", kind: "async_subagent", subagent: {} } });
  assert.deepEqual(
    nodesOf(turns).map(({ id, parentId }) => [id, parentId]),
    [
      ["3", "1"],
      ["2", "1"],
      ["1", null],
    ],
  );
});

test("[U5] every node comes before its parent, each turn is in one node, and lines lead through what is folded", () => {
  const picks = fc.array(fc.tuple(fc.nat(), fc.constantFrom("completed", "failed", "pending")), { maxLength: 80 });
  fc.assert(
    fc.property(picks, (all) => {
      const parents = all.map(
        ([pick], at) => [at + 1, at === 0 ? null : pick % 4 === 0 ? (pick % at) + 1 : at] as const,
      );
      const more = Object.fromEntries(all.map(([, status], at) => [at + 1, { status }]));
      const turns = turnsOf(Object.fromEntries(parents), more);
      const nodes = nodesOf(turns);
      const places = new Map(nodes.map(({ id }, at) => [id, at]));
      assert.equal(places.size, nodes.length);
      for (const [at, { parentId }] of nodes.entries()) {
        if (parentId !== null) assert.ok((places.get(parentId) ?? -1) > at, `${parentId} comes after`);
      }
      const shown = nodes.reduce((sum, node) => sum + ("count" in node ? node.count : 1), 0);
      assert.equal(shown, turns.length);
    }),
  );
});

interface Sketch {
  of?: [session: string, turn: number];
  turns?: number;
  forks?: Record<number, number> | null;
}

function listed(
  id: string,
  { of, turns = 1, forks = {} }: Sketch = {},
): ListedSession<{ id: string; turnCount: number }> {
  const [sessionId = "", sequence = 0] = of ?? [];
  const turn = (session: string, number: number) => ({
    turnId: `${session}${number}`,
    sequence: number,
    depth: number,
  });
  return {
    session: { id, turnCount: turns },
    origin: of === undefined ? null : { ...turn(sessionId, sequence), sessionId },
    forks: forks && Object.entries(forks).map(([number, count]) => ({ ...turn(id, Number(number)), count })),
  };
}

test("[U5] the map: a fork hangs below its origin turn, those of late turns first, so that no lines cross", () => {
  const rows = forestRows([
    listed("a", { turns: 10, forks: { 2: 1, 8: 10_000 } }),
    listed("b"),
    listed("early", { of: ["a", 2], turns: 3 }),
    listed("late", { of: ["a", 8], forks: null }),
    listed("deep", { of: ["late", 9] }),
    listed("lost", { of: ["gone", 4] }),
  ]);
  assert.deepEqual(
    rows.map(({ id, level, start, end }) => [id, level, start, end]),
    [
      ["a", 0, 0, 10],
      ["late", 1, 8, 9],
      ["deep", 2, 9, 10],
      ["forks a8", 1, 8, 8],
      ["early", 1, 2, 5],
      ["b", 0, 0, 1],
      ["lost", 0, 0, 1],
    ],
  );
  assert.equal(rows[3]?.kind === "forks" && rows[3].count, 9_999);
  assert.deepEqual(trunksOf(rows), [
    { at: 8, from: 0, to: 3, level: 1 },
    { at: 9, from: 1, to: 2, level: 2 },
    { at: 2, from: 0, to: 4, level: 1 },
  ]);
  assert.deepEqual([placeOf(0, 100, 300), placeOf(100, 100, 300)], [0, 300]);
});

test("[U5] [U11] a chain of 10,000 forks, and sessions that are each other's origin, end", () => {
  const chain = Array.from({ length: 10_000 }, (_, at) => listed(`s${at}`, at === 0 ? {} : { of: [`s${at - 1}`, 1] }));
  assert.equal(forestRows(chain).length, 10_000);
  assert.equal(forestRows([listed("a", { of: ["b", 1] }), listed("b", { of: ["a", 1] })]).length, 0);
});
