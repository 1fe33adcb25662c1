import assert from "node:assert/strict";
import { test } from "node:test";
import { checkNames } from "./names.ts";
import { places, plant } from "./planted.ts";

test("a name that two files export is found in both", (context) => {
  const tree = plant(context, {
    "src/live/log.ts": "// first\nexport interface Place {}\n",
    "src/tools/tool.ts": "export type Place = string;\n",
    "src/tools/other.ts": "type Place = string;\n",
    "src/tools/again.ts": `export type { Place } from "./tool.ts";\n`,
    "src/tools/tool.test.ts": "export const Place = 1;\n",
  });
  assert.deepEqual(places(checkNames(tree)), ["src/live/log.ts:2 names/twice", "src/tools/tool.ts:1 names/twice"]);
});

test("drivers of one contract may share names, two files of one driver may not, rooms of the engine neither", (context) => {
  const line = "export function openTurn() {}\n";
  const tree = plant(context, { "src/records/memory/turns.ts": line, "src/records/sql/turns.ts": line });
  assert.deepEqual(places(checkNames(tree)), []);
  const two = plant(context, { "src/records/sql/turns.ts": line, "src/records/sql/other.ts": line });
  assert.equal(checkNames(two).length, 2);
  const rooms = plant(context, { "src/engine/turn/a.ts": line, "src/engine/people/a.ts": line });
  assert.equal(checkNames(rooms).length, 2);
  const doors = plant(context, { "src/doors/http/a.ts": line, "src/doors/cli/a.ts": line });
  assert.equal(checkNames(doors).length, 2);
});
