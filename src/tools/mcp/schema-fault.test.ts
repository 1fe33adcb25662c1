import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { schemaFault } from "./schema-fault.ts";

/** Returns the fault of a schema that has the given one as the schema of an argument. */
function faultOf(argument: unknown, more: Record<string, unknown> = {}): string | null {
  return schemaFault({ type: "object", properties: { a: argument }, ...more });
}

test("[P5] a keyword with a value that JSON Schema does not allow is found at any depth", () => {
  const faults: [keyword: string, schema: unknown][] = [
    ["type", { type: ["string", "text"] }],
    ["type", { type: [] }],
    ["type", { items: { anyOf: [{ type: "string" }, { type: null }] } }],
    ["required", { required: ["a", 1] }],
    ["properties", { properties: [] }],
    ["properties", { properties: { b: "string" } }],
    ["items", { type: "array", items: "string" }],
    ["anyOf", { anyOf: [] }],
    ["anyOf", { anyOf: { type: "string" } }],
    ["additionalProperties", { additionalProperties: null }],
    ["exclusiveMinimum", { exclusiveMinimum: true }],
    ["multipleOf", { multipleOf: 0 }],
    ["minLength", { minLength: -1 }],
    ["uniqueItems", { uniqueItems: "yes" }],
    ["description", { description: ["a"] }],
    ["enum", { enum: "a" }],
    ["dependentRequired", { dependentRequired: { a: "b" } }],
    ["$defs", { $defs: { b: 1 } }],
  ];
  for (const [keyword, schema] of faults) {
    assert.equal(faultOf(schema), `have a schema with an invalid ${keyword}`, JSON.stringify(schema));
  }
});

test("[P5] a reference must lead to a schema that comes with it, or elsewhere", () => {
  const $defs = { b: { $anchor: "here" }, "c/d~e f": true, of: { $id: "https://example.org/of", $defs: { own: {} } } };
  const found = [
    "#",
    "#/$defs/b",
    "#here",
    "#/$defs/c~1d~0e%20f",
    "#/properties/a",
    "#/$defs/own",
    "of",
    "https://example.org/of#",
    // It is never loaded, so no one knows whether it exists.
    "https://example.org/other",
  ];
  for (const $ref of found) assert.equal(faultOf({ $ref }, { $defs }), null, $ref);
  const lost = ["#/$defs/x", "#there", "#/type", "#/$defs/%", "#/__proto__", "other.json#/a"];
  for (const $ref of lost) {
    assert.equal(faultOf({ $ref }, { $defs }), "have a schema with a $ref to nothing in it", $ref);
  }
});

test("[P5] schemas as libraries write them have no fault", () => {
  const node = z.object({
    name: z.string().min(1),
    get children() {
      return z.array(node);
    },
  });
  const every = z.object({
    tree: node,
    choice: z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") }), z.object({ kind: z.literal("b") })]),
    pair: z.tuple([z.string(), z.int()]),
    table: z.record(z.string(), z.number().positive().multipleOf(2)).optional(),
    word: z.enum(["x", "y"]).nullable().default("x").describe("A word."),
  });
  for (const target of ["draft-07", "draft-2020-12"] as const) {
    assert.equal(schemaFault(z.toJSONSchema(every, { target, reused: "ref" })), null, target);
  }
  // Arguments may have the names of keywords, and values of other keywords are anything.
  const named = { required: { type: "boolean" }, type: {}, $ref: true };
  assert.equal(
    schemaFault({ type: "object", properties: named, default: { type: 1 }, "x-of-a-vendor": { $ref: 1 } }),
    null,
  );
});
