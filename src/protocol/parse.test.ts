import assert from "node:assert/strict";
import { test } from "node:test";
import { thrownBy } from "../../testing/refusals.ts";
import * as z from "zod";
import type { AptoveError } from "../domain/errors.ts";
import { executeRequestSchema } from "./execute.ts";
import { parseWithSchema } from "./parse.ts";

function refusal(value: unknown, codes = {}): AptoveError {
  return thrownBy(() => parseWithSchema(executeRequestSchema, value, codes));
}

test("[H1] an unknown field is refused with its name and the nearest known one", () => {
  const error = refusal({ instrution: "hello" });
  assert.equal(error.code, "request_invalid");
  assert.equal(error.detail, 'instrution: unknown field; the nearest known one is "instruction"');
});

test("[H1] unknown nested fields are named with their path", () => {
  const error = refusal({ activeFiles: [{ path: "a.ts", content: "", istouched: true }], session: { nme: "x" } });
  assert.deepEqual(error.facts["faults"], [
    { field: "activeFiles[0].istouched", message: 'unknown field; the nearest known one is "isTouched"' },
    { field: "session.nme", message: 'unknown field; the nearest known one is "name"' },
  ]);
});

test("[H1] [T6] [T7] fields that contradict each other are refused, and the error names all of them", () => {
  const id = "01900000-0000-7000-8000-000000000001";
  const turn = { turnId: id };
  const contradictions: [object, string[]][] = [
    [{ fork: turn, sessionId: id }, ["fork"]],
    [{ fork: turn, responseContinuationId: id }, ["fork"]],
    [{ fork: turn, rerun: turn }, ["fork"]],
    [{ rerun: turn, sessionId: id, responseContinuationId: id }, ["rerun", "rerun"]],
    [{ session: { name: "n" }, sessionId: id }, ["session"]],
    [{ session: { name: "n" }, responseContinuationId: id }, ["session"]],
    [{ ifBusy: "steer", toolResults: [{ callId: "c", output: "" }] }, ["ifBusy"]],
    [{ ifBusy: "steer", rerun: turn, sessionId: id }, ["rerun", "ifBusy"]],
    [{ ifBusy: "steer", fork: turn }, ["ifBusy"]],
  ];
  for (const [fields, named] of contradictions) {
    const { code, facts } = refusal({ instruction: "x", ...fields });
    assert.equal(code, "request_invalid");
    const faults = facts["faults"] as { field: string; message: string }[];
    assert.deepEqual(
      faults.map(({ field }) => field),
      named,
    );
    for (const { message } of faults) assert.match(message, /cannot be combined with \w+: /);
  }
  for (const fields of [
    { fork: turn, sessionId: "", responseContinuationId: null },
    { fork: turn, session: { name: "n" }, toolResults: [{ callId: "c", approved: true }] },
    { rerun: turn, session: { name: "n" }, ifBusy: "queue" },
    { ifBusy: "steer", sessionId: id },
  ]) {
    assert.deepEqual(parseWithSchema(executeRequestSchema, fields), fields);
  }
});

test("[H1] [T9] the answer to a call is exactly one of a result, an error and an approval", () => {
  const codes = { toolResults: "tool_feedback_invalid" } as const;
  for (const answer of [{}, { output: "", error: "e" }, { output: "", approved: true }, { reason: "r", error: "e" }]) {
    const error = refusal({ toolResults: [{ callId: "c", ...answer }] }, codes);
    assert.equal(error.code, "tool_feedback_invalid");
    assert.match(error.detail, /^toolResults\[0\]: /);
  }
  const toolResults = [
    { callId: "a", output: "" },
    { callId: "b", error: "", output: null },
    { callId: "c", approved: false, reason: "not now" },
    { callId: "d", approved: true, reason: null },
  ];
  assert.deepEqual(parseWithSchema(executeRequestSchema, { toolResults }), { toolResults });
});

test("[E4] the code follows the field of the first fault", () => {
  assert.equal(refusal({ tools: [{ parameters: {} }] }, { tools: "tool_invalid" }).code, "tool_invalid");
  assert.match(refusal({ tools: [{ parameters: {} }] }).detail, /^tools\[0\]\.name: /);
});

test("null means absent, because clients in some languages write it", () => {
  const nulls = Object.fromEntries(Object.keys(executeRequestSchema.shape).map((field) => [field, null]));
  assert.deepEqual(parseWithSchema(executeRequestSchema, nulls), nulls);
});

test("the error is bounded for a value that is not an object and for one with very many faults", () => {
  assert.equal(refusal([]).code, "request_invalid");
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`x${n}`, n]));
  assert.equal((refusal(many).facts["faults"] as unknown[]).length, 20);
  assert.throws(() => parseWithSchema(z.strictObject({}), { a: 1 }), /a: unknown field/);
});
