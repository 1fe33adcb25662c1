import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { TurnEvent } from "../../../domain/events.ts";
import type { ToolCallView } from "../../../domain/tool.ts";
import { noUsage } from "../../../domain/usage.ts";
import { closeWaiting, TurnUpdates, type TurnUpdatesOptions, type WaitingCalls } from "./turn-updates.ts";

const view: ToolCallView = {
  title: "Edit a.ts",
  kind: "edit",
  locations: [{ path: "/p/a.ts", line: 3 }],
  content: [{ type: "diff", path: "/p/a.ts", oldText: "a", newText: "b" }],
  permission: { key: "edit", label: "edits" },
};

const finished = (more: Partial<Extract<TurnEvent, { type: "run_finished" }>> = {}): TurnEvent => ({
  type: "run_finished",
  status: "completed",
  stopReason: "stop",
  usage: noUsage,
  deferredCalls: [],
  ...more,
});

const liveHere = { notices: true, isOwnPrompt: true, isOwnSteer: (text: string) => text === "my own" };

function updatesOf(events: readonly TurnEvent[], around: Partial<TurnUpdatesOptions> = {}): SessionUpdate[] {
  const live = { ...liveHere, terminalOf: () => null };
  const updates = new TurnUpdates({
    turnId: "t",
    waiting: new Map(),
    usage: () => [],
    showsCompactions: false,
    live,
    ...around,
  });
  return events.flatMap((event) => updates.of(event));
}

const called = (callId: string, args: string): TurnEvent[] => [
  { type: "tool_call_started", callId, name: "edit" },
  { type: "tool_call_delta", callId, delta: args.slice(0, 3) },
  { type: "tool_call_delta", callId, delta: args.slice(3) },
  { type: "tool_call_ended", callId },
];

const text = (words: string) => ({ type: "content", content: { type: "text", text: words } });

test("[P4] a call is shown from its start to its result, with its details", () => {
  const updates = updatesOf([
    ...called("c1", '{"path":"a.ts"}'),
    { type: "tool_call_view", callId: "c1", view },
    { type: "tool_result", callId: "c1", output: "1 change", isError: false, content: view.content },
    finished(),
  ]);
  const diff = { type: "diff", path: "/p/a.ts", oldText: "a", newText: "b" };
  assert.deepEqual(updates, [
    { sessionUpdate: "tool_call", toolCallId: "t:c1", title: "edit", name: "edit", kind: "other", status: "pending" },
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "t:c1",
      title: "Edit a.ts",
      kind: "edit",
      locations: [{ path: "/p/a.ts", line: 3 }],
      content: [diff],
      status: "in_progress",
      rawInput: { path: "a.ts" },
    },
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "t:c1",
      status: "completed",
      content: [diff],
      rawOutput: "1 change",
    },
  ]);
});

test("[P4] a call that failed shows why, and not a change that was never made", () => {
  const updates = updatesOf([
    ...called("c1", "{}"),
    { type: "tool_call_view", callId: "c1", view },
    { type: "tool_result", callId: "c1", output: "denied: no", isError: true },
  ]);
  assert.deepEqual(updates.at(-1), {
    sessionUpdate: "tool_call_update",
    toolCallId: "t:c1",
    status: "failed",
    content: [text("denied: no")],
    rawOutput: "denied: no",
  });
});

test("[P4] arguments that are not JSON are shown as the model wrote them", () => {
  const updates = updatesOf([
    ...called("c1", '{"path": oops'),
    { type: "tool_result", callId: "c1", output: "failed: the arguments are not a JSON object", isError: true },
  ]);
  assert.equal((updates.at(-1) as { rawInput?: unknown }).rawInput, '{"path": oops');
});

test("[P4] output is streamed while the call runs, and the total sent is at most a few times its length", () => {
  const line = "x".repeat(99) + "\n";
  const pieces = Array.from({ length: 1_000 }, (): TurnEvent => ({
    type: "tool_output_delta",
    callId: "c1",
    delta: line,
  }));
  const updates = updatesOf([...called("c1", "{}"), { type: "tool_call_view", callId: "c1", view }, ...pieces]).slice(
    2,
  );
  const sent = updates.map((update) => JSON.stringify(update).length);
  assert.ok(updates.length > 20, `${updates.length} updates`);
  assert.ok(sent.reduce((sum, length) => sum + length, 0) < 7 * 1_000 * line.length);
  const [first] = updates as { content: unknown[] }[];
  assert.deepEqual(first?.content.at(-1), text(line));
});

test("[P4] output that is held back can be had, once", () => {
  const updates = new TurnUpdates({
    turnId: "t",
    waiting: new Map(),
    usage: () => [],
    showsCompactions: false,
    live: { ...liveHere, terminalOf: () => null },
  });
  const lines = ["a long first line of the output\n", "b\n"];
  for (const event of called("c1", "{}")) updates.of(event);
  for (const delta of lines) updates.of({ type: "tool_output_delta", callId: "c1", delta });
  assert.deepEqual((updates.heldOutput() as { content?: unknown }[])[0]?.content, [text(lines.join(""))]);
  assert.deepEqual(updates.heldOutput(), []);
});

test("[P4] what the client's own terminal shows is not sent again, and the terminal stays", () => {
  const live = { ...liveHere, notices: false, terminalOf: (callId: string) => (callId === "c1" ? "term" : null) };
  const updates = updatesOf(
    [
      ...called("c1", "{}"),
      { type: "tool_output_delta", callId: "c1", delta: "hi" },
      { type: "tool_result", callId: "c1", output: "hi", isError: false },
    ],
    { live },
  );
  assert.deepEqual(
    updates.slice(1).map((update) => (update as { content?: unknown }).content),
    [[{ type: "terminal", terminalId: "term" }]],
  );
});

test("[P4] a call without a result is never left running: it failed, or waits for a later turn", () => {
  const waiting: WaitingCalls = new Map();
  const deferred = { callId: "c2", name: "edit", arguments: "{}", waitsFor: "client" as const };
  const end = finished({ status: "awaiting_tool_results", stopReason: "tool_calls", deferredCalls: [deferred] });
  const updates = updatesOf([...called("c1", "{}"), ...called("c2", "{}"), end], { waiting });
  assert.deepEqual(
    updates
      .slice(2)
      .map((update) => [(update as { toolCallId?: string }).toolCallId, (update as { status?: string }).status]),
    [
      ["t:c1", "failed"],
      ["t:c2", "pending"],
    ],
  );
  assert.deepEqual([...waiting], [["c2", "t:c2"]]);
  // The result comes in the next turn, and is the same call's.
  const later = updatesOf([{ type: "tool_result", callId: "c2", output: "ok", isError: false }], {
    turnId: "u",
    waiting,
  });
  assert.equal((later[0] as { toolCallId?: string }).toolCallId, "t:c2");
  assert.equal(waiting.size, 0);
  waiting.set("c3", "t:c3");
  assert.equal((closeWaiting(waiting)[0] as { status?: string }).status, "failed");
  assert.equal(waiting.size, 0);
});

test("[P4] [V1] thoughts, text, messages of others and notices are each sent as their own kind", () => {
  const events: TurnEvent[] = [
    { type: "run_started", sessionId: "s", turnId: "t", parentTurnId: null },
    { type: "reasoning_delta", messageId: "m1", delta: "hm" },
    { type: "text_delta", messageId: "m2", delta: "yes" },
    { type: "steered", text: "and tests" },
    { type: "steered", text: "my own" },
    { type: "warning", warning: { code: "provider_retried", message: "tried again" } },
    { type: "run_failed", failure: { code: "internal", message: "x", retryable: false }, usage: noUsage },
  ];
  const live = [
    { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" }, messageId: "m1" },
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "yes" }, messageId: "m2" },
    { sessionUpdate: "user_message_chunk", content: { type: "text", text: "and tests" } },
    { sessionUpdate: "notice", severity: "warning", title: "tried again" },
  ];
  assert.deepEqual(updatesOf(events), live);
  const failed = { type: "text", text: "\n\nThe turn failed: x" };
  assert.deepEqual(updatesOf(events, { live: null }), [
    ...live.slice(0, 3),
    { sessionUpdate: "user_message_chunk", content: { type: "text", text: "my own" } },
    { sessionUpdate: "agent_message_chunk", content: failed, messageId: "t:end" },
  ]);
});

test("[P4] [V5] a call is pending while a person is asked about it, and in progress from the yes on", () => {
  const updates = updatesOf([
    ...called("c1", "{}"),
    { type: "tool_call_view", callId: "c1", view, asks: true },
    { type: "approval_answered", callId: "c1", approved: true },
  ]);
  assert.deepEqual(
    updates.map((update) => (update as { status?: string }).status),
    ["pending", "pending", "in_progress"],
  );
});

test("[C6] [P1] a compaction has its place in the conversation if the client can show it, and is a notice otherwise", () => {
  const warning = { code: "history_compacted" as const, message: "4 turns were summarised" };
  const summary = [{ type: "text", text: warning.message }];
  for (const more of [{}, { live: null }]) {
    assert.deepEqual(updatesOf([{ type: "warning", warning }], { ...more, showsCompactions: true }), [
      { sessionUpdate: "compaction_update", compactionId: "t:1", status: "completed", summary },
    ]);
  }
  const [notice] = updatesOf([{ type: "warning", warning }]);
  assert.equal(notice?.sessionUpdate, "notice");
});

test("[P4] a plan is sent as a plan update, complete each time, live and in a replay", () => {
  const content = [{ type: "plan" as const, steps: [{ content: "read", status: "in_progress" as const }] }];
  const events: TurnEvent[] = [
    ...called("c1", "{}"),
    { type: "tool_call_view", callId: "c1", view: { ...view, title: "Plan", kind: "think", content } },
    { type: "tool_result", callId: "c1", output: "Plan: 0 of 1 done", isError: false, content },
  ];
  for (const more of [{}, { live: null }]) {
    const updates = updatesOf(events, more);
    assert.deepEqual(updates.at(-1), {
      sessionUpdate: "plan",
      entries: [{ content: "read", status: "in_progress", priority: "medium" }],
    });
    assert.equal(updates.filter(({ sessionUpdate }) => sessionUpdate === "plan").length, 1);
  }
});
