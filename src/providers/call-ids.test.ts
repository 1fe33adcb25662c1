import assert from "node:assert/strict";
import { test } from "node:test";
import { argumentsJson, argumentsObject } from "./call-arguments.ts";
import { CallIds, isGeneratedCallId } from "./call-ids.ts";

test("[T8] an id that was used before is replaced by a unique one, the same every time", () => {
  const body = JSON.stringify({ messages: [{ tool_call_id: "call_0" }, { content: 'it wrote "call_9"' }] });
  const idsOf = (...given: (string | null | undefined)[]): string[] => {
    const ids = new CallIds(body);
    return given.map((id) => ids.next(id));
  };
  const ids = idsOf("call_0", "call_1", "call_1", "", null, undefined, "call_9");
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(ids.map(isGeneratedCallId), [true, false, true, true, true, true, false]);
  assert.deepEqual(idsOf("call_0", "call_1", "call_1", "", null, undefined, "call_9"), ids);
  const [next] = [new CallIds(`${body} `).next(null)];
  assert.ok(!ids.includes(next));
});

test("arguments that are not an object become an object that shows them", () => {
  assert.deepEqual(argumentsObject(' {"a": 1} '), { a: 1 });
  assert.equal(argumentsJson(' {"a": 1} '), ' {"a": 1} ');
  for (const nothing of ["", " \n"]) assert.deepEqual(argumentsObject(nothing), {});
  assert.equal(argumentsJson(""), "{}");
  for (const invalid of ["[]", "null", '"a"', "{", "7"]) {
    assert.deepEqual(argumentsObject(invalid), { invalid_arguments: invalid });
    assert.deepEqual(JSON.parse(argumentsJson(invalid)), { invalid_arguments: invalid });
  }
});
