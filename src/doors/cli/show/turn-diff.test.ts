import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { plainOutput } from "../../../../testing/output.ts";
import { sampleTurn } from "../../../../testing/wire-samples.ts";
import type { WireTurnDiff } from "../../../client/client.ts";
import { sideBySide } from "./side-by-side.ts";
import { turnDiffLines } from "./turn-diff.ts";

function side(number: number, more: Partial<WireTurnDiff["a"]> = {}): WireTurnDiff["a"] {
  const { id: turnId, sessionId, sequence, status, mode, provider, model } = sampleTurn(number, null);
  const texts = { instruction: "why?", answer: "so\n" };
  const named = { turnId, sessionId, sessionName: `session ${number}`, sequence };
  return { ...named, status, mode, provider, model, settings: {}, place: null, ...texts, ...more };
}

const allSame: WireTurnDiff["same"] = {
  prompt: true,
  tools: true,
  model: true,
  settings: true,
  mode: true,
  conversationContext: true,
  agentContext: true,
  rules: true,
  skills: true,
  facts: true,
  place: true,
};

function diffOf(more: Partial<WireTurnDiff> = {}): WireTurnDiff {
  const commonTurnId = sampleTurn(1, null).id;
  const history = { commonTurnId, commonTurns: 1, onlyA: [], onlyB: [] };
  return {
    a: side(2),
    b: side(3),
    same: allSame,
    chunks: [],
    files: [],
    rules: [],
    skills: [],
    facts: [],
    history,
    ...more,
  };
}

test("[D1] two turns that saw and answered the same differ only in their names", async () => {
  const lines = await turnDiffLines(diffOf(), null, plainOutput());
  assert.deepEqual(lines, [
    '- turn 00000002, 2 of 000f4241 "session 2" · completed · offline offline-1 · mode ask',
    '+ turn 00000003, 3 of 000f4241 "session 3" · completed · offline offline-1 · mode ask',
    "history: 1 turn in common, to 00000001",
    "unchanged: boot prompt, tools, model, settings, mode, conversation context, agent context, rules, skills, memory, place",
    "instruction: unchanged",
    "answer: unchanged",
  ]);
});

test("[D1] differences of prompt, tools, model, settings, chunks, files, history and answers are found", async () => {
  const lines = await turnDiffLines(
    diffOf({
      a: side(2, { answer: "one\ntwo\nthree", settings: { temperature: 1 } }),
      b: side(3, { answer: "one\n2\nthree", provider: "anthropic", model: "m" }),
      same: { ...allSame, prompt: false, model: false, settings: false },
      chunks: [
        { path: "src/a.ts", startLine: 1, endLine: 9, change: "only_a" },
        { path: "src/b.ts", startLine: 2, endLine: 3, change: "only_b" },
        { path: "src/c.ts", startLine: 4, endLine: 5, change: "changed" },
      ],
      files: [
        { path: "x", hashA: "a".repeat(64), hashB: "b".repeat(64) },
        { path: "y", hashA: null, hashB: "c".repeat(64) },
      ],
      history: {
        commonTurnId: null,
        commonTurns: 0,
        onlyA: [{ turnId: sampleTurn(1, null).id, depth: 1, instructionSummary: "first" }],
        onlyB: [],
      },
    }),
    null,
    plainOutput(),
  );
  assert.deepEqual(lines.slice(2), [
    "history: no turn in common",
    "- 00000001 1 first",
    "unchanged: tools, mode, conversation context, agent context, rules, skills, memory, place",
    "boot prompt differs",
    "model differs:",
    "- offline offline-1",
    "+ anthropic m",
    "settings differs:",
    "- temperature 1",
    "+ none",
    "retrieved: 3 differences",
    "- src/a.ts:1-9",
    "+ src/b.ts:2-3",
    "~ src/c.ts:4-5 has different content",
    "files: 2 differences",
    "~ x aaaaaaaa → bbbbbbbb",
    "+ y cccccccc",
    "instruction: unchanged",
    "answer",
    "@@ -1,3 +1,3 @@",
    " one",
    "-two",
    "+2",
    " three",
  ]);
});

test("[D1] side by side, equal lines stand beside each other", async () => {
  const diff = diffOf({ a: side(2, { answer: "one\ntwo\nfour" }), b: side(3, { answer: "one\n2\n3\nfour" }) });
  const lines = await turnDiffLines(diff, 23, plainOutput());
  assert.deepEqual(lines.slice(-4), ["one          one", "two        | 2", "           > 3", "four         four"]);
  const coloured = await turnDiffLines(diff, 23, plainOutput({ FORCE_COLOR: "1" }));
  assert.ok(coloured.at(-3)?.startsWith("\u001b[31mtwo"));
});

test("[D1] both columns together hold both texts, whatever they are", () => {
  const lines = fc.array(fc.string({ maxLength: 30 }), { maxLength: 8 }).map((some) => some.join("\n"));
  const joined = (text: string): string => text.replaceAll("\n", "").replaceAll("\t", "    ").replaceAll(" ", "");
  fc.assert(
    fc.property(lines, lines, fc.integer({ min: 1, max: 60 }), (a, b, width) => {
      const rows = sideBySide(a, b, width);
      assert.equal(joined(rows.map(({ left }) => left).join("")), joined(a));
      assert.equal(joined(rows.map(({ right }) => right).join("")), joined(b));
      for (const { left, mark, right } of rows) if (mark === " ") assert.equal(left.trimEnd(), right.trimEnd());
    }),
  );
});
