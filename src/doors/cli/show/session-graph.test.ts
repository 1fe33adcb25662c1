import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { plainOutput } from "../../../../testing/output.ts";
import { sampleSession, sampleTurn } from "../../../../testing/wire-samples.ts";
import type { WireSessionGraph } from "../../../client/client.ts";
import { graphLines } from "./draw-graph.ts";
import { graphRows } from "./session-graph.ts";

/** Turns by number, each with its parent's; the head is the last. */
function graphOf(parents: Record<number, number | null>, more: Partial<WireSessionGraph> = {}): WireSessionGraph {
  const turns = Object.entries(parents).map(([number, parent]) => sampleTurn(Number(number), parent));
  const head = turns.at(-1)?.id ?? null;
  const whole = { forks: [], forkCounts: [], nextAfter: null, names: [] };
  return { session: sampleSession(1, { headTurnId: head }), turns: turns.toReversed(), ...whole, ...more };
}

/** Leaves out ids and times, which do not matter for the drawing. */
function drawing(graph: WireSessionGraph, limit = 100): string {
  const lines = graphLines(graph, limit, plainOutput());
  return lines.map((line) => line.replace(/ [0-9a-f]{8} /, " ").replace(/ \d{4}-.*$/, "")).join("\n");
}

test("[L1] [T6] [T7] a session's tree is drawn like git's, the head's branch first", () => {
  const graph = graphOf({ 1: null, 2: 1, 3: 2, 4: 3, 5: 2, 6: 5, 7: 3 });
  const [seventh, , fifth, , third] = graph.turns;
  Object.assign(seventh ?? {}, { rerunOf: graph.turns.find(({ sequence }) => sequence === 4)?.id });
  Object.assign(fifth ?? {}, { status: "failed", failures: [{ code: "runner_lost", message: "", retryable: true }] });
  const names = [{ turnId: fifth?.id ?? "", name: "a dead end" }];
  const forks = [sampleSession(2, { originTurnId: third?.id ?? null, name: "Another way", turnCount: 3 })];
  assert.equal(
    drawing({ ...graph, forks, names }),
    [
      "* 7 (head, rerun of 4) say 7",
      "| * 4 say 4",
      "|/",
      "| o session 3 turns, Another way",
      "|/",
      "* 3 say 3",
      "| * 6 say 6",
      '| x 5 ("a dead end", failed runner_lost) say 5',
      "|/",
      "* 2 say 2",
      "* 1 say 1",
    ].join("\n"),
  );
});

test("[T6] a fork shows the turns that it was forked from, with their session", () => {
  const graph = graphOf({ 1: null, 2: 1, 3: 2 });
  for (const turn of graph.turns.slice(1)) turn.sessionId = sampleSession(9).id;
  assert.match(drawing(graph), /^\* 3 \(head\) say 3\n\* 2 \(session [0-9a-f]{8}\) say 2\n\* 1 \(session/);
});

test("[L1] only so many turns are drawn, from the top", () => {
  assert.equal(drawing(graphOf({ 1: null, 2: 1, 3: 2 }), 2), "* 3 (head) say 3\n* 2 say 2");
});

test("[L1] each branch has a colour, and text of others has no power over the terminal", () => {
  const graph = graphOf({ 1: null, 2: 1, 3: 1 });
  const lines = graphLines(graph, 9, plainOutput({ FORCE_COLOR: "1" }));
  assert.ok(lines[0]?.startsWith("\u001b[31m*"));
  assert.ok(lines[1]?.startsWith("\u001b[31m|\u001b[39m \u001b[32m*"));
  assert.equal(lines[2], "\u001b[31m|\u001b[39m\u001b[32m/\u001b[39m");
});

test("[L1] a session of 20,000 turns in one line is drawn", () => {
  const parents = Object.fromEntries(Array.from({ length: 20_000 }, (_none, at) => [at + 1, at === 0 ? null : at]));
  assert.equal(graphRows(graphOf(parents)).length, 20_000);
});

/** Reads a drawing back: the parent of each node is the next one in the lane that its own lane runs into. */
function parentsOf(graph: WireSessionGraph): Map<string, string | null> {
  const waiting = new Map<number, string[]>();
  const parents = new Map<string, string | null>();
  for (const { lanes, node } of graphRows(graph)) {
    const lane = lanes.at(-1) ?? -1;
    if (node === null) {
      const into = lanes.at(-2) ?? -1;
      waiting.set(into, [...(waiting.get(into) ?? []), ...(waiting.get(lane) ?? [])]);
      waiting.delete(lane);
      continue;
    }
    for (const id of waiting.get(lane) ?? []) parents.set(id, node.id);
    waiting.set(lane, [node.id]);
  }
  for (const ids of waiting.values()) for (const id of ids) parents.set(id, null);
  return parents;
}

test("[L1] [T6] of any tree the drawing says exactly what continues what", () => {
  const trees = fc.array(fc.nat(), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(trees, fc.nat(), (choices, headChoice) => {
      // Turn n continues one of the earlier ones, or none.
      const parents = Object.fromEntries(
        choices.map((choice, at) => [at + 1, choice % (at + 1) === 0 ? null : choice % (at + 1)]),
      );
      const graph = graphOf(parents);
      graph.session.headTurnId = graph.turns[headChoice % graph.turns.length]?.id ?? null;
      const expected = new Map(graph.turns.map(({ id, parentId }) => [id, parentId]));
      assert.deepEqual(new Map([...parentsOf(graph)].toSorted()), new Map([...expected].toSorted()));
    }),
  );
});
