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
  assert.equal(error.detail, 'instrution is not known; the nearest known field is "instruction"');
});

test("[H1] unknown nested fields are named with their path", () => {
  const error = refusal({ activeFiles: [{ path: "a.ts", content: "", istouched: true }], session: { nme: "x" } });
  assert.deepEqual(error.facts["faults"], [
    { field: "activeFiles[0].istouched", message: 'is not known; the nearest known field is "isTouched"' },
    { field: "session.nme", message: 'is not known; the nearest known field is "name"' },
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
    assert.match(error.detail, /^toolResults\[0\] /);
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
  assert.match(refusal({ tools: [{ parameters: {} }] }).detail, /^tools\[0\]\.name is missing/);
});

test("null means absent, because clients in some languages write it", () => {
  const nulls = Object.fromEntries(Object.keys(executeRequestSchema.shape).map((field) => [field, null]));
  assert.deepEqual(parseWithSchema(executeRequestSchema, nulls), nulls);
});

test("the error is bounded for a value that is not an object and for one with very many faults", () => {
  assert.equal(refusal([]).code, "request_invalid");
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`x${n}`, n]));
  assert.equal((refusal(many).facts["faults"] as unknown[]).length, 20);
  assert.throws(() => parseWithSchema(z.strictObject({}), { a: 1 }), /a is not known/);
});

test("[H1] each kind of fault is a sentence that begins with the field, and has nothing of the library's own words", () => {
  const schema = z.strictObject({
    name: z.string().min(1).max(3),
    count: z.int().min(1).max(5),
    share: z.number().gt(0).lt(1),
    kind: z.enum(["old", "new"]),
    labels: z.array(z.string()).min(1).max(2),
    flag: z.boolean(),
    by: z.discriminatedUnion("type", [z.object({ type: z.literal("user") }), z.object({ type: z.literal("key") })]),
    at: z.union([z.string(), z.number()]),
    page: z.url(),
    own: z.string().refine((text) => text !== "bad", "is not a word"),
  });
  const right = {
    ...{ name: "n", count: 1, share: 0.5, kind: "old", labels: ["a"], flag: true, by: { type: "user" }, at: 1 },
    ...{ page: "https://a.example", own: "word" },
  };
  const faults: [object, string][] = [
    [{ name: undefined }, "name is missing"],
    [{ name: 5 }, "name is not text"],
    [{ name: "" }, "name is too short; it must have at least 1 character"],
    [{ name: "long" }, "name is too long; it must have at most 3 characters"],
    [{ count: 0 }, "count is too small; it must be at least 1"],
    [{ count: 6 }, "count is too large; it must be at most 5"],
    [{ count: 1.5 }, "count is not a whole number"],
    [{ share: 0 }, "share is too small; it must be more than 0"],
    [{ share: 1 }, "share is too large; it must be less than 1"],
    [{ kind: "odd" }, "kind is none of old, new"],
    [{ labels: [] }, "labels is too short; it must have at least 1 element"],
    [{ labels: ["a", "b", "c"] }, "labels is too long; it must have at most 2 elements"],
    [{ labels: ["a", null] }, "labels[1] is not text"],
    [{ flag: "yes" }, "flag is not true or false"],
    [{ by: { type: "org" } }, "by.type is none of user, key"],
    [{ at: true }, "at has none of its forms"],
    [{ page: "here" }, "page is not an address"],
    [{ own: "bad" }, "own is not a word"],
    [{ nmae: 1 }, 'nmae is not known; the nearest known field is "name"'],
  ];
  for (const [change, detail] of faults) {
    assert.equal(thrownBy(() => parseWithSchema(schema, { ...right, ...change })).detail, detail);
  }
  assert.equal(thrownBy(() => parseWithSchema(schema, [])).detail, "the request is not an object");
});
