import assert from "node:assert/strict";
import { test } from "node:test";
import { schemaFaults } from "./schema-check.ts";

const call = (method: string, params: object, id?: number) => ({
  jsonrpc: "2.0",
  method,
  params,
  ...(id !== undefined && { id }),
});
const answer = (id: number, result: unknown) => ({ jsonrpc: "2.0", id, result });
const update = (fields: object) => call("session/update", { sessionId: "s", update: fields });

test("[P1] an exchange that follows the official schema has no faults, in both directions", () => {
  const chunk = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hi" } };
  const messages = [
    call("initialize", { protocolVersion: 1 }, 1),
    answer(1, { protocolVersion: 1 }),
    // Each side may start its ids at any number.
    call("session/prompt", { sessionId: "s", prompt: [] }, 2),
    call("fs/read_text_file", { sessionId: "s", path: "/a" }, 2),
    answer(2, { content: "a" }),
    update(chunk),
    answer(2, { stopReason: "end_turn" }),
    call("_example.org/tell", {}),
    call("session/cancel", { sessionId: "s" }),
  ];
  assert.deepEqual(schemaFaults(messages), []);
});

test("[P1] every deviation from the official schema is found", () => {
  const asked = call("session/new", { cwd: "/", mcpServers: [] }, 1);
  const cases: [unknown[], RegExp][] = [
    [[7], /^not an object/],
    [[{ id: 1, method: "initialize" }], /^not JSON-RPC 2\.0/],
    [[answer(1, {})], /^answers nothing that was asked/],
    [[asked, answer(1, {})], /NewSessionResponse.*sessionId/],
    [[asked, { jsonrpc: "2.0", id: 1 }], /^not exactly one of result and error/],
    [[asked, { jsonrpc: "2.0", id: 1, error: { code: "x" } }], /Error.*(code|message)/],
    [[{ ...asked, id: 1.5 }], /^the id is neither/],
    [[update({ sessionUpdate: "tool_call", toolCallId: 1, title: "x" })], /SessionNotification/],
    [[update({ sessionUpdate: "telepathy" })], /SessionNotification/],
    [[call("fs/read_text_file", { sessionId: "s" }, 1)], /ReadTextFileRequest.*path/],
  ];
  for (const [messages, fault] of cases) {
    const faults = schemaFaults(messages);
    assert.equal(faults.length, 1, JSON.stringify(messages));
    assert.match(faults[0] ?? "", fault);
  }
});
