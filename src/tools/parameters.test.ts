import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv } from "ajv";
import fc from "fast-check";
import { anyText, flag, optional, parametersSchema, takeValues, text, whole } from "./parameters.ts";
import { ToolFault } from "./tool-fault.ts";

const parameters = {
  path: text("a path"),
  content: anyText("a content"),
  limit: optional(whole("a number", { min: 1, max: 10 })),
  all: optional(flag("a flag")),
};

function fault(args: Record<string, unknown>): string {
  try {
    takeValues(parameters, args);
  } catch (error) {
    if (error instanceof ToolFault) return error.message;
    throw error;
  }
  return "";
}

test("[P5] a call with wrong arguments is told all that is wrong, and what there is", () => {
  const unknown = fault({ file_path: "a", content: "" });
  assert.match(unknown, /no argument "file_path"; did you mean "path"\? The arguments are: path, content, limit, all/);
  assert.match(unknown, /"path" is missing/);
  assert.match(fault({ path: "", content: "" }), /"path" is empty/);
  assert.match(
    fault({ path: 3, content: [] }),
    /"path" must be a text, and is 3; "content" must be a text, and is a list/,
  );
  assert.match(fault({ path: "a", content: "", limit: "5" }), /a whole number from 1 to 10, and is the text "5"/);
  assert.match(fault({ path: "a", content: "", limit: 11 }), /from 1 to 10, and is 11/);
  assert.match(fault({ path: "a", content: "", all: "yes" }), /"all" must be true or false/);
  assert.match(fault({ path: "a", content: "\udc00" }), /not valid Unicode/);
});

test("[P5] null stands for an argument that was left out", () => {
  const values = takeValues(parameters, { path: "a", content: "", limit: null, all: null });
  assert.deepEqual(values, { path: "a", content: "", limit: undefined, all: undefined });
  assert.match(fault({ path: null, content: "" }), /"path" is missing/);
});

test("[P5] what the schema allows and what is taken are the same, but for empty texts and halves of letters", () => {
  const validate = new Ajv().compile(parametersSchema(parameters));
  const value = fc.oneof(fc.string({ minLength: 1 }), fc.integer({ min: -2, max: 20 }), fc.boolean(), fc.double());
  const names = fc.constantFrom("path", "content", "limit", "all", "other");
  fc.assert(
    fc.property(fc.dictionary(names, value), (args) => {
      assert.equal(fault(args) === "", validate(args), JSON.stringify(args));
    }),
  );
});
