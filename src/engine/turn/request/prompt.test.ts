import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "../../../../testing/refusals.ts";
import { builtInModes, type ConversationContext } from "../../../domain/context.ts";
import type { ToolDefinition } from "../../../domain/tool.ts";
import { bootPrompt, mergeTools, toolsHash, toolUse } from "./prompt.ts";

const tool = (name: string, description = ""): ToolDefinition => ({
  name,
  description,
  parameters: { type: "object" },
});
const ask = builtInModes[0] ?? assert.fail("there is a mode ask");

function limitsOf(choice: string | undefined) {
  return { choice, closed: new Set<string>() };
}

test("[E4] the request's tools are merged into the context's; of one name the request's counts", () => {
  const merged = mergeTools([tool("read"), tool("run", "old")], [tool("run", "new"), tool("write")]);
  assert.deepEqual(
    merged.map(({ name, description }) => [name, description]),
    [
      ["read", ""],
      ["run", "new"],
      ["write", ""],
    ],
  );
});

test("[E4] a bad definition is refused by its name", () => {
  const names = ["", "a b", "é", "x".repeat(65)];
  for (const name of names)
    assert.throws(() => mergeTools([], [tool(name)]), hasCode("tool_invalid", JSON.stringify(name)));
  assert.throws(() => mergeTools([], [tool("a"), tool("a")]), hasCode("tool_invalid", "twice"));
  assert.throws(() => mergeTools([], [{ name: "a", parameters: { type: "array" } }]), hasCode("tool_invalid", '"a"'));
});

test("[E4] forcing a tool that is not there is refused and names those that are", () => {
  assert.throws(() => toolUse([tool("read")], ask, limitsOf("write")), hasCode("tool_choice_unknown", '"read"'));
  assert.equal(toolUse([tool("read")], ask, limitsOf("read")).choice, "read");
});

test("[E5] a mode narrows the tools without changing the list", () => {
  const tools = [tool("read"), tool("write")];
  const use = toolUse(tools, { ...ask, tools: ["read"] }, limitsOf(undefined));
  assert.deepEqual(use.allowed, ["read"]);
  assert.equal(toolsHash(use.tools), toolsHash(tools));
  assert.throws(
    () => toolUse(tools, { ...ask, tools: ["read"] }, limitsOf("write")),
    hasCode("tool_choice_unknown", '"read"'),
  );
  assert.equal(toolUse(tools, { ...ask, forceTool: "write" }, limitsOf(undefined)).choice, "write");
});

test("[E6] what modes ask for stands in the boot prompt, the same on every turn", () => {
  const context = { bootPrompt: "Be careful.", modes: [ask, { ...ask, id: "review", instructions: "Find faults." }] };
  const prompt = bootPrompt(context as ConversationContext);
  assert.equal(prompt, "Be careful.\n\nWhen a message says [MODE: review]:\nFind faults.");
});
