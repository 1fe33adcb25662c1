import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TestTerminal } from "../../../../testing/terminal.ts";
import { LiveScreen, type ScreenFrame } from "./screen.ts";

function screenOn(terminal: TestTerminal): LiveScreen {
  return new LiveScreen({ write: (text) => terminal.write(text), size: () => terminal.size() });
}

test("[L2] printed lines move up, and live lines are repainted below them", async () => {
  const terminal = new TestTerminal({ columns: 20, rows: 5 });
  const screen = screenOn(terminal);
  screen.paint({ done: [], live: ["one", "> "], cursor: { rowsUp: 0, column: 2 } });
  screen.paint({ done: ["printed"], live: ["two", "three", "> "], cursor: { rowsUp: 0, column: 2 } });
  assert.deepEqual(await terminal.lines(), ["printed", "two", "three", ">"]);
  assert.deepEqual(await terminal.cursor(), { row: 3, column: 2 });
  screen.paint({ done: [], live: ["> a", "  b"], cursor: { rowsUp: 1, column: 3 } });
  assert.deepEqual(await terminal.cursor(), { row: 1, column: 3 });
  screen.close();
  assert.deepEqual(await terminal.lines(), ["printed"]);
  assert.deepEqual(await terminal.cursor(), { row: 1, column: 0 });
});

const text = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", " ", "漢", "é"), maxLength: 30 }).map((line) => line.trimEnd()),
  fc.constantFrom("x".repeat(10), "漢".repeat(5), `a${"漢".repeat(5)}`),
);
const frame: fc.Arbitrary<ScreenFrame> = fc.record({
  done: fc.array(text, { maxLength: 3 }),
  live: fc.array(text, { maxLength: 4 }),
  cursor: fc.option(fc.record({ rowsUp: fc.nat(5), column: fc.nat(9) })),
});

test("[L2] after any sequence of frames, every printed line is there once, with the last frame below", async () => {
  const property = fc.asyncProperty(
    fc.array(frame, { maxLength: 12 }),
    fc.integer({ min: 10, max: 14 }),
    async (frames, columns) => {
      const terminal = new TestTerminal({ columns, rows: 20 });
      const screen = screenOn(terminal);
      for (const each of frames) screen.paint(each);
      const expected = [...frames.flatMap(({ done }) => done), ...(frames.at(-1)?.live ?? [])];
      // Where a wide character does not fit in a row's last cell, the terminal leaves that one blank.
      const bare = (lines: string[]) =>
        lines
          .map((line) => line.replaceAll(" ", ""))
          .join("\n")
          .trimEnd();
      assert.equal(bare(await terminal.lines()), bare(expected));
    },
  );
  await fc.assert(property, { numRuns: 200 });
});

test("[L2] live lines that do not fit are shown from their end, and are complete once they are printed", async () => {
  const terminal = new TestTerminal({ columns: 20, rows: 4 });
  const screen = screenOn(terminal);
  const lines = Array.from({ length: 9 }, (_, at) => `line ${at}`);
  for (let count = 1; count <= 9; count++) screen.paint({ done: [], live: lines.slice(0, count), cursor: null });
  assert.deepEqual(await terminal.lines(), lines.slice(5));
  screen.paint({ done: lines, live: ["> "], cursor: null });
  assert.deepEqual(await terminal.lines(), [...lines, ">"]);
});

test("[L2] a terminal that becomes narrower or wider keeps the printed lines", async () => {
  for (const columns of [12, 33, 70]) {
    const terminal = new TestTerminal({ columns: 40, rows: 12 });
    const screen = screenOn(terminal);
    const live = ["a live line that is about 38 cells wide", "> typed"];
    screen.paint({ done: ["printed"], live, cursor: { rowsUp: 0, column: 7 } });
    await terminal.resize(columns, 12);
    screen.paint({ done: ["more"], live, cursor: { rowsUp: 0, column: 7 } });
    assert.deepEqual(await terminal.lines(), ["printed", "more", ...live], String(columns));
  }
});
