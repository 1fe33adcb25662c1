import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { limits } from "../../domain/limits.ts";
import { byName, checkedValue, jsonObject, list, nonEmptyList, shallowJson } from "./schema.ts";

const schema = z.strictObject({
  turn: z.strictObject({
    id: z.string(),
    steps: list(z.strictObject({ status: z.enum(["done", "failed"]), note: z.string().exactOptional() })),
    usage: byName(z.strictObject({ input: z.number() })),
  }),
});

const good = { turn: { id: "a", steps: [{ status: "done" }], usage: { "m.1": { input: 1 } } } };

function fault(turn: Record<string, unknown>): string {
  const result = checkedValue(schema, { turn: { ...good.turn, ...turn } }, "line");
  return "fault" in result ? result.fault : "";
}

test("what fits its schema comes back as it is, and not as a copy", () => {
  const result = checkedValue(schema, good, "line");
  assert.ok("value" in result && result.value === good);
});

test("a fault names the field by its path, and has nothing of the value in it", () => {
  const secret = "hunter2";
  const faults: [Record<string, unknown>, string][] = [
    [{ id: undefined }, "line.turn.id is missing"],
    [{ id: [secret] }, "line.turn.id is not text"],
    [{ steps: secret }, "line.turn.steps is not a list"],
    [{ steps: [{ status: "done" }, { status: secret }] }, "line.turn.steps[1].status is none of done, failed"],
    [{ steps: [{ status: "done", note: null }] }, "line.turn.steps[0].note is not text"],
    [{ steps: [{ status: "done", noet: secret }] }, "line.turn.steps[0].noet is not known"],
    [{ usage: { "m.1": { input: secret } } }, "line.turn.usage.m.1.input is not a number"],
    [{ usage: [] }, "line.turn.usage is not an object"],
    [{ extra: secret }, "line.turn.extra is not known"],
  ];
  for (const [turn, expected] of faults) assert.equal(fault(turn), expected);
  const empty = checkedValue(z.strictObject({}), JSON.parse('{"__proto__":1}'), "line");
  assert.deepEqual(empty, { fault: "line.__proto__ is not known" });
  const usage = checkedValue(byName(z.number()), JSON.parse('{"__proto__":"1"}'), "usage");
  assert.deepEqual(usage, { fault: "usage.__proto__ is not a number" });
});

test("a list of a million bad elements has one fault", () => {
  const bad = Array.from({ length: 1_000_000 }, () => ({ unknown: 1 }));
  for (const one of [list(z.strictObject({})), nonEmptyList(z.strictObject({}))]) {
    assert.equal(one.safeParse(bad).error?.issues.length, 1);
  }
  assert.equal(byName(z.string()).safeParse({ ...bad }).error?.issues.length, 1);
  assert.deepEqual(checkedValue(nonEmptyList(z.string()), [], "list"), { fault: "list is not a list with an element" });
});

test("JSON is taken up to the depth that can be walked through", () => {
  const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
  const deepest = limits.jsonDepthMax;
  for (const one of [shallowJson, jsonObject]) {
    assert.ok("value" in checkedValue(one, nested(deepest), "json"));
    assert.deepEqual(checkedValue(one, nested(deepest + 1), "json"), {
      fault: `json is nested deeper than ${deepest}`,
    });
  }
  assert.deepEqual(checkedValue(jsonObject, [], "json"), { fault: "json is not an object" });
});
