/** What the page computes, without a browser: events, lanes, the window, diffs, sums and safe text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldChanges } from "./admin/context-fields.ts";
import { runWords } from "./admin/run-words.ts";
import fc from "fast-check";
import type { AgUiEvent, WireTurn, WireTurnContext } from "../src/client/client.ts";
import { emptyView, withEvent } from "./api/turn-view.ts";
import { csvOf, daysOf, sumsBy, type CostCell } from "./costs/sums.ts";
import { listOfSent } from "./inspector/sent.ts";
import { windowOfTurn } from "./inspector/window.ts";
import { changeOf } from "./parts/diff-lines.ts";
import { allBlocks, GrowingBlocks } from "./parts/growing-blocks.ts";
import { ago, duration, exactTime, money, short, timeOfDay } from "./parts/numbers.ts";
import { shownCommand, shownText } from "./parts/shown-text.ts";
import { lanesOf } from "./tree/lanes.ts";

test("[U4] the events of a turn become texts, calls with their questions and results, and its end", () => {
  const events = [
    { type: "RUN_STARTED", threadId: "s", runId: "t", protocolVersion: "1.0" },
    { type: "STEP_STARTED", stepName: "step-1" },
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "one " },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "two" },
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "run" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"command":"x"}' },
    { type: "CUSTOM", name: "aptove.tool_call_view", value: { callId: "c", view: { title: "Run x" }, asks: true } },
    { type: "CUSTOM", name: "aptove.approval_answered", value: { callId: "c", approved: true } },
    { type: "CUSTOM", name: "aptove.tool_output", value: { callId: "c", delta: "part" } },
    {
      type: "TOOL_CALL_RESULT",
      messageId: "r",
      toolCallId: "c",
      content: "whole",
      role: "tool",
      metadata: { isError: false },
    },
    { type: "TOOL_CALL_RESULT", messageId: "r", toolCallId: "earlier", content: "of the turn before", role: "tool" },
    { type: "RUN_ERROR", message: "gone", code: "runner_lost" },
  ] as unknown as AgUiEvent[];
  const views = events.map((_event, at) => events.slice(0, at + 1).reduce(withEvent, emptyView));
  const asking = views[7]?.items[1];
  assert.equal(asking?.kind === "call" && asking.asks, true);
  const { items, end, steps } = views.at(-1) ?? emptyView;
  assert.deepEqual(
    items.map((item) => ("text" in item ? item.text : item.result?.output)),
    ["one two", "whole", "of the turn before"],
  );
  assert.deepEqual([end?.code, steps], ["runner_lost", 1]);
});

test("[U5] lanes: every turn has a column, its line leads to its parent, and no line passes another turn", () => {
  const tree = fc.array(fc.nat(), { maxLength: 60 }).map((picks) => {
    const turns = picks.map((pick, at) => ({ id: String(at), parentId: at === 0 ? null : String(pick % at) }));
    return turns.toReversed();
  });
  fc.assert(
    fc.property(tree, (turns) => {
      const rows = lanesOf(turns);
      for (const [at, row] of rows.entries()) {
        assert.ok(!row.passing.includes(row.column));
        assert.ok(!row.passing.some((column) => row.joining.includes(column)));
        const parent = rows.findIndex(({ id }) => id === turns[at]?.parentId);
        if (parent === -1) continue;
        assert.equal(row.parentColumn, rows[parent]?.column);
        const between = rows.slice(at + 1, parent);
        assert.ok(between.every(({ passing }) => passing.includes(row.column)));
        const end = rows[parent];
        assert.ok(end?.column === row.column || end?.joining.includes(row.column));
      }
    }),
  );
});

function turnOf(more: object): WireTurn {
  const usage = { inputTokens: 1_000, outputTokens: 10, cachedTokens: 0, totalTokens: 1_010 };
  const manifest = { history: "none", historyTurns: 0, chunks: [], activeFiles: [], skippedFiles: [] };
  return { manifest, steps: [{ usage }], run: { contextTokens: 1_010 }, ...more } as unknown as WireTurn;
}

const context = {
  prompt: "p".repeat(400),
  message: [
    `[MODE: ask]\n\n[INSTRUCTION]\n${"i".repeat(380)}`,
    "[CONTEXT]\n\n=== CHUNK 1 ===\nId: 1\nPath: a.ts\nLines: 1-3\nLanguage: typescript\n```\nx\n```\n=== FILE 1 ===\nPath: b.ts\nfoo",
  ],
} as unknown as WireTurnContext;

test("[U6] the parts of the window add up to what the provider counted", () => {
  const tools = [{ type: "function", name: "read", parameters: {} }];
  const request = JSON.stringify({ tools, input: [{ role: "user", content: "x" }] });
  const bar = windowOfTurn({ turn: turnOf({}), context, request });
  assert.ok(Math.abs(bar.tokens - 1_000) <= bar.parts.length);
  assert.ok(bar.isCounted);
  const kinds = bar.parts.map(({ kind }) => kind);
  assert.deepEqual(kinds, ["boot", "tools", "code", "files", "message"]);
  assert.deepEqual(
    bar.parts.find(({ kind }) => kind === "code")?.pieces.map(({ name }) => name),
    ["a.ts:1-3"],
  );
});

test("[M3] [U6] each fact of the memory is a piece of its own, by its id", () => {
  const facts = ["[MEMORY]\nabout", "=== FACT f-1 ===\n```\nlong fact\n```", "=== FACT f-2 ===\n```\nx\n```"];
  const message = [...context.message, ...facts];
  const bar = windowOfTurn({ turn: turnOf({}), context: { ...context, message }, request: null });
  assert.deepEqual(
    bar.parts.find(({ kind }) => kind === "memory")?.pieces.map(({ name }) => name),
    ["f-1", "f-2", "about the memory"],
  );
});

test("[U6] [M4] the list of skills is a part of its own, and what was offered and read is listed by what became of it", () => {
  const message = [...context.message, "[SKILLS]\nabout\n```plaintext\n- release (repository): Makes one.\n```"];
  const bar = windowOfTurn({ turn: turnOf({}), context: { ...context, message }, request: null });
  assert.deepEqual(
    bar.parts.find(({ kind }) => kind === "skills")?.pieces.map(({ name }) => name),
    ["list of skills"],
  );
  const skill = { name: "release", contentHash: "h", path: ".agents/skills/release/SKILL.md" };
  const manifest = { history: "none", historyTurns: 0, chunks: [], activeFiles: [], skippedFiles: [] };
  const skills = { offered: [{ ...skill, source: "repository" }], contentHash: "h", wasSent: false, read: [skill] };
  const { now, before } = listOfSent(turnOf({ manifest: { ...manifest, skills } }), null);
  assert.deepEqual(
    [now.map(({ why }) => why), before.map(({ why }) => why)],
    [["skill that it read"], ["skill, offered by its name"]],
  );
});

test("[U6] what a provider remembers itself is what the count leaves over; without a count, characters stand for tokens", () => {
  const manifest = { history: "chain", historyTurns: 3, chunks: [], activeFiles: [], skippedFiles: [] };
  const chained = windowOfTurn({ turn: turnOf({ manifest }), context, request: null });
  const history = chained.parts.find(({ kind }) => kind === "history");
  assert.ok(history !== undefined && history.tokens > 600);
  assert.equal(chained.tokens, 1_000);
  const uncounted = windowOfTurn({ turn: turnOf({ steps: [], run: null }), context, request: "not json" });
  assert.ok(!uncounted.isCounted);
  assert.equal(uncounted.parts.find(({ kind }) => kind === "boot")?.tokens, 100);
});

test("[U8] a diff has every changed line, with its number, and counts what it leaves out", () => {
  const before = Array.from({ length: 50 }, (_, at) => `line ${at + 1}`);
  const after = before.with(24, "changed");
  const { lines, added, removed } = changeOf(before.join("\n"), after.join("\n"));
  assert.deepEqual([added, removed], [1, 1]);
  assert.deepEqual(
    lines.filter(({ kind }) => kind === "gap").map(({ text }) => text),
    ["21 unchanged lines", "22 unchanged lines"],
  );
  assert.equal(lines.find(({ kind }) => kind === "added")?.after, 25);
  assert.equal(changeOf(null, "a\nb\n").added, 2);
  assert.deepEqual(
    changeOf("a\n", "a\n").lines.map(({ kind }) => kind),
    ["gap"],
  );
});

test("[U11] a change in a file of 50,000 lines is found, and one of all its lines is shown as a whole in no time", () => {
  const lines = (mark: string): string[] => Array.from({ length: 50_000 }, (_, at) => `${mark} ${at}`);
  const changed = lines("line").with(25_000, "another");
  const small = changeOf(lines("line").join("\n"), changed.join("\n"));
  assert.deepEqual([small.added, small.removed, small.lines.length], [1, 1, 2 + 2 * 3 + 2]);
  const start = performance.now();
  const large = changeOf(lines("old").join("\n"), lines("new").join("\n"));
  assert.deepEqual([large.added, large.removed], [50_000, 50_000]);
  assert.ok(performance.now() - start < 2_000);
  const text = fc.array(fc.constantFrom("a", "b", "", "c"), { maxLength: 12 }).map((all) => all.join("\n"));
  const count = (of: string): number => of.split("\n").length - (of.endsWith("\n") || of === "" ? 1 : 0);
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { added, removed, lines: shown } = changeOf(before, after);
      assert.equal(added - removed, count(after) - count(before));
      const numbers = shown.flatMap(({ after: number }) => number ?? []);
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
      for (const { kind, text: line, after: number } of shown)
        if (kind === "added") assert.equal(line, after.split("\n")[(number ?? 0) - 1]);
    }),
  );
});

test("[U8] nothing in a command or a name is hidden from the person who reads it", () => {
  assert.equal(shownText("a\u202eb\u200bc\ud83d\ude00"), "a⟨U+202e⟩b⟨U+200b⟩c\ud83d\ude00");
  const family = "\u{1f468}\u200d\u{1f469}\u{1f3fd}\u200d\u2764\ufe0f\u200d\u{1f467}";
  assert.equal(shownText(family.repeat(60)), family.repeat(60));
  assert.equal(shownText("a\u200db \u{1f468}\u200d"), "a⟨U+200d⟩b \u{1f468}⟨U+200d⟩");
  assert.equal(shownCommand(`ls${" ".repeat(3_000)}; rm x\n    keep`), "ls·×3000; rm x\n    keep");
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }),
      (text) => !/[\u202a-\u202e\u2066-\u2069\u0000\u200b]/.test(shownCommand(text)),
    ),
  );
});

test("[U9] sums count each cell once, and a CSV field is never a formula", () => {
  const cell = (day: string, model: string, usage: object): CostCell =>
    ({ day, model, sessionId: "s", userId: "u", turns: 1, usage }) as unknown as CostCell;
  const cells = [
    cell("2026-01-01", "a", { inputTokens: 10, outputTokens: 1, cachedTokens: 5, costUsd: 0.5 }),
    cell("2026-01-02", "b", { inputTokens: null, outputTokens: null, cachedTokens: null }),
    cell("2026-01-02", "a", { inputTokens: 1, outputTokens: 1, cachedTokens: 0, costUsd: 0.25 }),
  ];
  assert.deepEqual(
    sumsBy(cells, ({ model }) => model).map(({ key, dollars, isAtLeast, turns }) => [key, dollars, isAtLeast, turns]),
    [
      ["a", 0.75, false, 2],
      ["b", 0, true, 1],
    ],
  );
  assert.deepEqual(daysOf("2026-02-27", "2026-03-01"), ["2026-02-27", "2026-02-28", "2026-03-01"]);
  const names = { session: () => '=cmd|"x"', user: (id: string) => id };
  assert.match(csvOf(cells.slice(0, 1), names), /2026-01-01,"'=cmd\|""x""",u,a,1,10,5,1,0\.5\r\n$/);
});

test("[U12] numbers read well, and a clock that is behind gives no time in the future", () => {
  assert.deepEqual([short(999), short(1_234), short(12_345), short(3_400_000)], ["999", "1.2k", "12k", "3.4M"]);
  assert.deepEqual([money(0.01234), money(12.3)], ["$0.0123", "$12.30"]);
  assert.deepEqual([duration(12), duration(4_120), duration(61_000)], ["12 ms", "4.1 s", "1 min 1 s"]);
  assert.equal(ago(Date.now() + 3_600_000, Date.now()), "now");
  const day = new Date(2026, 10, 7, 9, 5, 3).getTime();
  assert.equal(exactTime(day), "2026-11-07 09:05:03");
  assert.equal(timeOfDay(day), "09:05");
  assert.equal(ago(day, day + 40 * 86_400_000), "2026-11-07", "days have one form everywhere");
});

test("[U4] [U11] Markdown in pieces gives the blocks of the whole text, and a long text keeps a bounded number of them", () => {
  const lines = fc.constantFrom(
    "# head",
    "text",
    "",
    "- item",
    "1. one",
    "> quote",
    "```ts",
    "```",
    "| a | b |",
    "|---|---|",
    "**bold",
    "***",
    "    code",
    "\ttab",
  );
  const pieces = fc.array(
    fc.array(lines, { maxLength: 4 }).map((all) => all.join("\n") + "\n"),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(pieces, (all) => {
      const growing = new GrowingBlocks();
      let text = "";
      for (const piece of all) {
        text += piece;
        const raws = growing.of(text).blocks.map(({ token }) => token.raw);
        assert.equal(
          raws.join(""),
          allBlocks(text)
            .blocks.map(({ token }) => token.raw)
            .join(""),
        );
      }
    }),
  );
  const growing = new GrowingBlocks();
  let text = "";
  for (let n = 0; n < 3_000; n++) growing.of((text += `paragraph ${n}\n\n`));
  const { hidden, blocks } = growing.of(text);
  assert.ok(blocks.length < 500);
  assert.equal(hidden + blocks.length, allBlocks(text).blocks.length);
  assert.equal(growing.of("another text").blocks.length, 1);
});

test("[U11] a line, a code block and a list of 1 MB become blocks of bounded size, whole and in order, and code stays code", () => {
  const code = "```ts\nconst a = 1;\n".padEnd(100_000, "const b = 2;\n");
  const texts = ["x".repeat(1_000_000), "word ".repeat(200_000), "😀".repeat(50_000), "- item\n".repeat(20_000), code];
  for (const text of texts) {
    const growing = new GrowingBlocks();
    for (let to = 0; to < text.length; to += 5_000) growing.of(text.slice(0, to));
    const { blocks } = allBlocks(text);
    assert.ok(growing.of(text).blocks.every(({ token }) => token.raw.length < 40_000));
    const raws = blocks.map(({ token }) => token.raw.replace(/^```ts\n/, "")).join("");
    assert.equal(raws, text.replace(/^```ts\n/, ""));
    assert.equal(new Set(blocks.map(({ key }) => key)).size, blocks.length);
    assert.equal(/[\ud800-\udbff]$/.test(blocks[0]?.token.raw ?? ""), false);
    const [type] = [blocks[0]?.token.type];
    assert.ok(blocks.every(({ token }) => token.type === type || token.type === "space"));
  }
  const closed = allBlocks(`${code}\n\`\`\`\n\nafter`).blocks.filter(({ token }) => token.type !== "space");
  assert.deepEqual([closed.at(-2)?.token.type, closed.at(-1)?.token.type], ["code", "paragraph"]);
});

test("[U10] [G1] two versions of a context differ by field; a tool is found by its name, and what one lacks is named", () => {
  const before = {
    name: "A",
    bootPrompt: "Be brief.",
    tools: [
      { name: "run", strict: true },
      { name: "read", strict: true },
    ],
  };
  const after = {
    name: "A",
    tools: [
      { name: "read", strict: false },
      { name: "run", strict: true },
    ],
    modes: { plan: { tools: ["read"] }, ask: {} },
    settings: { temperature: 0.2 },
  };
  assert.deepEqual(fieldChanges(before, after), [
    { field: "bootPrompt", before: "Be brief.", after: null },
    { field: "modes.ask", before: null, after: "{}" },
    { field: "modes.plan.tools", before: null, after: '["read"]' },
    { field: "settings.temperature", before: null, after: "0.2" },
    { field: "tools.read.strict", before: "true", after: "false" },
  ]);
  assert.deepEqual(fieldChanges(after, after), []);
  assert.deepEqual(fieldChanges(null, { name: "A" }), [{ field: "name", before: null, after: "A" }]);
});

test("[U10] [Q2] a run of an index says what it does, for whom, and in which other process", () => {
  const run = { filesDone: 1_200, filesTotal: 4_000, bytesDone: 0, chunksWritten: 1, startedAt: "", pid: 7 };
  const own = { ...run, isHere: true, isRefresh: false };
  assert.equal(runWords({ ...own, phase: "chunking" }), "Reads what changed: 1,200 of 4,000 files, 1 chunk written");
  const other = { ...run, isHere: false, isRefresh: true, phase: "listing" as const };
  assert.equal(runWords(other), "Compares by another program (process 7): 1,200 of 4,000 files, for a question");
  assert.equal(runWords({ ...own, phase: "waiting" }), "Waits until another run has ended");
});
