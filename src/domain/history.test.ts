import assert from "node:assert/strict";
import { test } from "node:test";
import { withResultsAtCalls, type ConversationItem } from "./history.ts";

const call = (callId: string): ConversationItem => ({ type: "tool_call", callId, name: "f", arguments: "{}" });
const result = (callId: string): ConversationItem => ({ type: "tool_result", callId, output: callId });
const user: ConversationItem = { type: "user", text: "a" };
const answer: ConversationItem = { type: "assistant", text: "b" };

test("[T8] a result stands before the message that came between it and its call", () => {
  const cases: [given: ConversationItem[], expected: ConversationItem[]][] = [
    [
      [user, call("x"), call("y"), result("x"), user, answer, result("y"), user],
      [user, call("x"), call("y"), result("x"), result("y"), user, answer, user],
    ],
    // An id that is used again names another call.
    [
      [call("x"), user, call("x"), result("x")],
      [call("x"), user, call("x"), result("x")],
    ],
    [
      [result("x"), user, call("y"), answer],
      [result("x"), user, call("y"), answer],
    ],
  ];
  for (const [given, expected] of cases) assert.deepEqual(withResultsAtCalls(given), expected);
});
