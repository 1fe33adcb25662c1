import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv } from "ajv";
import fc from "fast-check";
import * as z from "zod";
import { contentArgument, textArgument, toolParameters, wholeArgument } from "./parameters.ts";
import { ToolFault } from "./tool-fault.ts";

const parameters = toolParameters(() => ({
  path: textArgument("a path"),
  content: contentArgument("a content"),
  limit: wholeArgument("a number", { min: 1, max: 10 }).optional(),
  all: z.boolean().describe("a flag").optional(),
  depth: wholeArgument("another number", { min: 0 }).optional(),
}));

function fault(args: Record<string, unknown>): string {
  try {
    parameters.parse(args);
  } catch (error) {
    if (error instanceof ToolFault) return error.message;
    throw error;
  }
  return "";
}

test("[P5] a call with wrong arguments gets every fault by name, and the list of known arguments", () => {
  const unknown = fault({ file_path: "a", content: "" });
  assert.match(
    unknown,
    /no argument "file_path"; did you mean "path"\? The arguments are: path, content, limit, all, depth/,
  );
  assert.match(unknown, /"path" is missing/);
  assert.match(fault({ path: "", content: "" }), /"path" is empty/);
  assert.match(
    fault({ path: 3, content: [] }),
    /"path" must be a text, but is 3; "content" must be a text, but is a list/,
  );
  assert.match(fault({ path: "a", content: "", limit: "5" }), /a whole number from 1 to 10, but is the text "5"/);
  assert.match(fault({ path: "a", content: "", limit: 11 }), /from 1 to 10, but is 11/);
  assert.match(fault({ path: "a", content: "", all: "yes" }), /"all" must be true or false/);
  assert.match(fault({ path: "a", content: "\udc00" }), /not valid Unicode/);
});

test("[P5] the schema for the model has no superfluous words and keeps the order of the fields", () => {
  const schema = {
    type: "object",
    properties: {
      path: { type: "string", description: "a path" },
      content: { type: "string", description: "a content" },
      limit: { type: "integer", minimum: 1, maximum: 10, description: "a number" },
      all: { type: "boolean", description: "a flag" },
      depth: { type: "integer", minimum: 0, description: "another number" },
    },
    required: ["path", "content"],
    additionalProperties: false,
  };
  assert.equal(JSON.stringify(parameters.jsonSchema()), JSON.stringify(schema));
});

test("[P5] a call with a thousand faults gets a message of bounded length", () => {
  const unknown = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`x${index}`, index]));
  assert.equal(fault({ path: "a", content: "", ...unknown }).split("; there is").length, 20);
});

test("[P5] null means an argument that was left out", () => {
  const values = parameters.parse({ path: "a", content: "", limit: null, all: null });
  assert.deepEqual(values, { path: "a", content: "" });
  assert.match(fault({ path: null, content: "" }), /"path" is missing/);
});

test("[P5] the schema and the check accept the same values, except for empty texts and lone surrogates", () => {
  const validate = new Ajv().compile(parameters.jsonSchema());
  const value = fc.oneof(fc.string({ minLength: 1 }), fc.integer({ min: -2, max: 20 }), fc.boolean(), fc.double());
  const names = fc.constantFrom("path", "content", "limit", "all", "depth", "other");
  fc.assert(
    fc.property(fc.dictionary(names, value), (args) => {
      assert.equal(fault(args) === "", validate(args), JSON.stringify(args));
    }),
  );
});
