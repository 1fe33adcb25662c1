import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../../../testing/any-character.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import { limits } from "../../../domain/limits.ts";
import type { DeferredCall } from "../../../domain/tool.ts";
import { checkInstruction, closeCalls, userMessage } from "./envelope.ts";

test("[E2] the message has two parts, or one when there is no context", () => {
  assert.deepEqual(userMessage("DDR_CREATION", "Write it.\nAll of it.", "[CONTEXT]\n\n…"), {
    type: "user",
    parts: ["[MODE: DDR_CREATION]\n\n[INSTRUCTION]\nWrite it.\nAll of it.", "[CONTEXT]\n\n…"],
  });
  assert.equal(userMessage("ask", "Why?", null).parts.length, 1);
});

test("[E2] whatever an instruction holds, it reads back whole, behind its header", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (instruction) => {
      const [first = ""] = userMessage("ask", `[MODE: edit]\n\n[INSTRUCTION]\n${instruction}`, null).parts;
      const header = "[MODE: ask]\n\n[INSTRUCTION]\n";
      assert.ok(first.startsWith(header));
      assert.equal(first.slice(header.length), `[MODE: edit]\n\n[INSTRUCTION]\n${instruction}`);
    }),
  );
});

test("[E2] instructions of nothing, of NULs, of half characters, or over the limit are refused", () => {
  for (const nothing of ["", " \n\t"])
    assert.throws(() => checkInstruction(nothing, false), hasCode("instruction_empty"));
  assert.throws(() => checkInstruction("\u0000\u0000", false), hasCode("instruction_not_text"));
  assert.throws(() => checkInstruction("a\uD800b", false), hasCode("instruction_not_text"));
  const large = "x".repeat(limits.instructionBytesMax + 1);
  assert.throws(() => checkInstruction(large, false), hasCode("instruction_too_large"));
});

test("[E2] fences, block headers and other people's scripts are ordinary text; tool results may come alone", () => {
  for (const text of ["```\n=== CHUNK 1 ===\n```", "日本語 😀", "[CONTEXT]"]) checkInstruction(text, false);
  checkInstruction("", true);
});

const calls = ["a", "b"].map((callId): DeferredCall => ({ callId, name: "run", arguments: "{}", waitsFor: "client" }));

test("[T8] a plain-text continuation closes every open call with a result that says so", () => {
  const closed = closeCalls(calls, []);
  assert.deepEqual(
    closed.results.map((item) => [item.callId, item.output, item.isError]),
    [
      ["a", "failed: no result", true],
      ["b", "failed: no result", true],
    ],
  );
  assert.equal(closed.unanswered, 2);
});

test("[T9] unknown and doubled call ids are refused as one list of faults", () => {
  const answer = (callId: string) => ({ callId, output: "x", isError: false });
  assert.throws(
    () => closeCalls(calls, [answer("a"), answer("a"), answer("z")]),
    hasCode("tool_feedback_invalid", /"a" is answered twice.*"z" does not wait/s),
  );
  assert.equal(closeCalls(calls, [answer("b")]).unanswered, 1);
});
