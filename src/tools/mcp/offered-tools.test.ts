import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../../testing/any-character.ts";
import { limits } from "../../domain/limits.ts";
import { type ListedMcpTool, offerMcpTools, checkToolList } from "./offered-tools.ts";

const object = { type: "object", properties: {} };

function listed(name: string, more: Partial<ListedMcpTool> = {}): ListedMcpTool {
  return { name, description: "", schema: object, isReadOnly: false, ...more };
}

function offeredNames(...lists: [server: string, tools: string[]][]): string[] {
  const { tools } = offerMcpTools(
    lists.map(([server, names]) => ({ server, tools: names.map((name) => listed(name)) })),
  );
  return tools.map((tool) => tool.offeredName);
}

test("[P5] a tool is offered under its server's name and its own", () => {
  assert.deepEqual(offeredNames(["files", ["read", "write"]], ["web", ["read"]]), [
    "files__read",
    "files__write",
    "web__read",
  ]);
});

test("[P5] invalid characters in a name are replaced, and a long name is cut and gets a hash of it", () => {
  const [plain = "", long = ""] = offeredNames(["my server", ["a.b/c"]], ["s", ["t".repeat(100)]]);
  assert.equal(plain, "my_server__a_b_c");
  assert.match(long, /^s__t{44}_[0-9a-f]{16}$/);
  assert.deepEqual(offeredNames(["s", [`${"t".repeat(99)}u`]]).includes(long), false);
});

test("[P5] tools whose names become equal get different names, whatever their order", () => {
  const names = offeredNames(["a", ["b__c", "x.y", "x-y", "x_y"]], ["a__b", ["c"]]);
  assert.equal(new Set(names).size, 5);
  assert.match(names[0] ?? "", /^a__b__c_[0-9a-f]{16}$/);
  const turned = offeredNames(["a__b", ["c"]], ["a", ["x_y", "x-y", "x.y", "b__c"]]);
  assert.deepEqual(turned.toSorted(), names.toSorted());
});

test("[P5] a server cannot take the name of another's tool", () => {
  const long = "t".repeat(100);
  const [name = ""] = offeredNames(["s", [long]]);
  const both = offeredNames(["s", [long, name.slice("s__".length)]]);
  assert.equal(both[0], name);
  assert.equal(new Set(both).size, 2);
});

test("[P5] offered names are always valid, unique and stable", () => {
  const name = fc.oneof(
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 90 }),
    fc.constantFrom("a", "a__b", "b", "a.b", "_"),
  );
  const lists = fc.uniqueArray(fc.tuple(name, fc.uniqueArray(name, { maxLength: 5 })), {
    selector: ([server]) => server,
    maxLength: 4,
  });
  fc.assert(
    fc.property(lists, (servers) => {
      const names = offeredNames(...servers);
      for (const each of names) assert.match(each, /^[a-zA-Z0-9_-]{1,64}$/);
      assert.equal(new Set(names).size, names.length);
      assert.deepEqual(offeredNames(...servers), names);
    }),
  );
});

test("[P5] the order in which a server lists its tools has no effect", () => {
  const tools = ["c", "a", "b"].map((name) => ({ name, inputSchema: object }));
  const names = (list: unknown[]): string[] => checkToolList(list).tools.map((tool) => tool.name);
  assert.deepEqual(names(tools), ["a", "b", "c"]);
  assert.deepEqual(names(tools.toReversed()), ["a", "b", "c"]);
});

test("[P5] a tool that is described wrongly is left out with a line that says why, and the others stay", () => {
  const circular: Record<string, unknown> = { type: "object" };
  circular["itself"] = circular;
  const { tools, faults } = checkToolList([
    { name: "good", inputSchema: { type: "object" } },
    { name: "none" },
    { name: "list", inputSchema: [] },
    { name: "text", inputSchema: { type: "string" } },
    { name: "circular", inputSchema: circular },
    { name: "large", inputSchema: { type: "object", description: "x".repeat(1_048_576) } },
    { name: "good", inputSchema: { type: "object" } },
    { inputSchema: { type: "object" } },
    null,
    "nonsense",
  ]);
  assert.deepEqual(tools, [listed("good")]);
  assert.deepEqual(faults, [
    'tools are left out that do not have a schema of an object: "none", "list", "text"',
    'tools are left out that have a schema of more than 65536 bytes: "circular", "large"',
    'tools are left out that are listed twice: "good"',
    'tools are left out that have no name: "", "", ""',
  ]);
});

test("[P5] a tool whose schema a provider would refuse is left out, and the others stay", () => {
  const faulty: [name: string, inputSchema: Record<string, unknown>][] = [
    ["review", { type: "object", properties: { x: { type: "nonsense", $ref: "#/nope" } }, required: "x" }],
    ["type", { type: "object", properties: { x: { type: "date" } } }],
    ["required", { type: "object", properties: { x: { type: "string", required: true } } }],
    ["reference", { type: "object", properties: { x: { $ref: "#/$defs/none" } } }],
  ];
  const { tools, faults } = checkToolList([
    ...faulty.map(([name, inputSchema]) => ({ name, inputSchema })),
    { name: "good", inputSchema: object },
  ]);
  assert.deepEqual(tools, [listed("good")]);
  assert.deepEqual(faults, [
    'tools are left out that have a schema with an invalid type: "review", "type"',
    'tools are left out that have a schema with an invalid required: "required"',
    'tools are left out that have a schema with a $ref to nothing in it: "reference"',
  ]);
});

test("[P5] a schema that refers to itself is kept unchanged", () => {
  const schema = { type: "object", properties: { child: { $ref: "#" } }, $defs: { any: true } };
  assert.deepEqual(checkToolList([{ name: "tree", inputSchema: schema }]).tools[0]?.schema, schema);
});

test("[P5] the beginning of an endless list is read, and a long description is cut", () => {
  const many = Array.from({ length: 3_000 }, (_, at) => ({
    name: `t${at}`,
    inputSchema: object,
    description: "d".repeat(9_999),
  }));
  const { tools, faults } = checkToolList(many);
  assert.equal(tools.length, limits.mcpToolsListedMax);
  assert.equal(tools[0]?.description.length, limits.mcpToolDescriptionCharactersMax);
  assert.deepEqual(faults, [
    'tools are left out that are more than the 1000 that one server may list: "t1000", "t1001", "t1002" and 1997 more',
  ]);
});

test("[P5] a server with many tools does not reduce the tools of the others", () => {
  const many = Array.from({ length: 500 }, (_, at) => listed(`t${String(at).padStart(3, "0")}`));
  const { tools, faults } = offerMcpTools([
    { server: "flood", tools: many },
    { server: "small", tools: [listed("a"), listed("b"), listed("c")] },
  ]);
  assert.equal(tools.length, limits.mcpToolsMax);
  assert.deepEqual(
    tools.slice(-4).map((tool) => tool.offeredName),
    ["flood__t092", "small__a", "small__b", "small__c"],
  );
  assert.equal(faults.length, 1);
  assert.match(
    faults[0] ?? "",
    /^the MCP server "flood": tools are left out that do not fit: .* "t093", "t094", "t095" and 404 more$/,
  );
});

test("[P5] the total size of the offered tools is limited", () => {
  const large = Array.from({ length: 20 }, (_, at) =>
    listed(`t${at}`, { schema: { ...object, description: "x".repeat(60_000) } }),
  );
  const { tools, faults } = offerMcpTools([{ server: "s", tools: large }]);
  assert.equal(tools.length, 8);
  assert.equal(faults.length, 1);
});

test("[P5] only a tool with a read-only hint counts as reading", () => {
  const readOnly = (annotations: unknown): boolean | undefined =>
    checkToolList([{ name: "t", inputSchema: object, annotations }]).tools[0]?.isReadOnly;
  assert.equal(readOnly({ readOnlyHint: true }), true);
  assert.equal(readOnly({ readOnlyHint: true, destructiveHint: true }), false);
  for (const hint of [undefined, null, "yes", {}, { readOnlyHint: "true" }, { readOnlyHint: 1 }])
    assert.equal(readOnly(hint), false);
});
