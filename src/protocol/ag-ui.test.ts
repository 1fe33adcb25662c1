import assert from "node:assert/strict";
import { fixes } from "../domain/fixes.ts";
import { test } from "node:test";
import { EventSchemas } from "@ag-ui/core/schemas";
import type { TurnEvent } from "../domain/events.ts";
import type { DeferredCall } from "../domain/tool.ts";
import { toAgUi, type AgUiEvent } from "./ag-ui.ts";
import { agUiEventSchema } from "./live/ag-ui-schema.ts";

const run = { sessionId: "01900000-0000-7000-8000-000000000001", turnId: "01900000-0000-7000-8000-000000000002" };
const usage = { input: 10, output: 5, cached: 4, reasoning: 2, total: 15 };
const call = { callId: "call_1", name: "search", arguments: '{"q":1}', waitsFor: "client" } as const;

/** One event of every kind of the union. */
const samples: { [K in TurnEvent["type"]]: Extract<TurnEvent, { type: K }> } = {
  run_started: { type: "run_started", ...run, parentTurnId: "01900000-0000-7000-8000-000000000003" },
  warning: { type: "warning", warning: { code: "chain_rebuilt", message: "the chain expired" } },
  context: {
    type: "context",
    context: {
      history: "chain",
      historyTurns: 3,
      chunks: [{ id: "c", path: "a.ts", startLine: 1, endLine: 9, wasSent: true }],
      files: [{ path: "b.ts", wasSent: false, wasTooLarge: true }],
    },
  },
  step_started: { type: "step_started", step: 1 },
  reasoning_started: { type: "reasoning_started", messageId: "r" },
  reasoning_delta: { type: "reasoning_delta", messageId: "r", delta: "hm" },
  reasoning_ended: { type: "reasoning_ended", messageId: "r" },
  text_started: { type: "text_started", messageId: "m" },
  text_delta: { type: "text_delta", messageId: "m", delta: "hello" },
  text_ended: { type: "text_ended", messageId: "m" },
  tool_call_started: { type: "tool_call_started", callId: "call_1", name: "search" },
  tool_call_delta: { type: "tool_call_delta", callId: "call_1", delta: "{" },
  tool_call_ended: { type: "tool_call_ended", callId: "call_1" },
  approval_answered: { type: "approval_answered", callId: "call_1", approved: true },
  tool_call_view: {
    type: "tool_call_view",
    callId: "call_1",
    view: {
      title: "Edit a.ts",
      kind: "edit",
      locations: [{ path: "/p/a.ts", line: 3 }],
      content: [{ type: "diff", path: "/p/a.ts", oldText: "a", newText: "b" }],
      permission: { key: "write /p", label: "change files in /p" },
    },
  },
  tool_output_delta: { type: "tool_output_delta", callId: "call_1", delta: "ok" },
  tool_result: { type: "tool_result", callId: "call_1", output: "", isError: true },
  steered: { type: "steered", text: "and the tests" },
  subagent_started: {
    type: "subagent_started",
    subagentId: run.turnId,
    turnId: run.turnId,
    name: "reader",
    instruction: "Read all of it.",
  },
  subagent_ended: {
    type: "subagent_ended",
    subagentId: run.turnId,
    turnId: run.turnId,
    name: "reader",
    status: "completed",
  },
  step_finished: { type: "step_finished", step: 1, usage },
  run_finished: { type: "run_finished", status: "completed", stopReason: "stop", usage, deferredCalls: [] },
  run_failed: { type: "run_failed", failure: { code: "provider_stream_cut", message: "cut", retryable: true }, usage },
};

for (const [type, event] of Object.entries(samples)) {
  test(`[V1] ${type} becomes an event that the schemas of AG-UI and of our own document take, and keeps all of its fields`, () => {
    const mapped = toAgUi({ seq: 1, event }, run);
    takenWhole(mapped);
  });
}

/** Fails unless AG-UI's own schema and the one of the OpenAPI document take the event, with all of its fields. */
function takenWhole(event: AgUiEvent): void {
  const sent: unknown = JSON.parse(JSON.stringify(event));
  for (const schema of [EventSchemas, agUiEventSchema()]) {
    assert.deepEqual(JSON.parse(JSON.stringify(schema.parse(sent))), sent);
  }
}

test("[V1] the run's events have the ids of the session, the turn and the parent", () => {
  const started = toAgUi({ seq: 1, event: samples.run_started }, run);
  assert.partialDeepStrictEqual(started, {
    type: "RUN_STARTED",
    threadId: run.sessionId,
    runId: run.turnId,
    parentRunId: samples.run_started.parentTurnId,
  });
  const root = toAgUi({ seq: 1, event: { ...samples.run_started, parentTurnId: null } }, run);
  assert.equal("parentRunId" in root, false);
  const finished = toAgUi({ seq: 9, event: samples.run_finished }, run);
  assert.partialDeepStrictEqual(finished, { threadId: run.sessionId, runId: run.turnId });
});

test("[V1] the outcome of a run follows from the turn's end", () => {
  const outcomeOf = (event: Extract<TurnEvent, { type: "run_finished" }>) => {
    const mapped = toAgUi({ seq: 1, event }, run);
    return mapped.type === "RUN_FINISHED" ? mapped.outcome : assert.fail(mapped.type);
  };
  const finished = samples.run_finished;
  assert.deepEqual(outcomeOf(finished), { type: "success" });
  for (const stopReason of ["interrupted", "step_limit"] as const) {
    assert.deepEqual(outcomeOf({ ...finished, stopReason }), { type: "cancelled" });
    takenWhole(toAgUi({ seq: 1, event: { ...finished, stopReason } }, run));
  }
});

test("[V1] [V5] a run that asks for an approval is interrupted, and a run that leaves calls to the client's tools lists them", () => {
  const waiting = { ...samples.run_finished, status: "awaiting_tool_results", stopReason: "tool_calls" } as const;
  const outcomeOf = (deferredCalls: DeferredCall[]) => {
    const mapped = toAgUi({ seq: 1, event: { ...waiting, deferredCalls } }, run);
    takenWhole(mapped);
    return mapped.type === "RUN_FINISHED" ? mapped.outcome : assert.fail(mapped.type);
  };
  assert.deepEqual(outcomeOf([call, { ...call, callId: "call_2" }]), {
    type: "success",
    pendingToolCallIds: ["call_1", "call_2"],
  });
  const approval = { ...call, callId: "call_3", waitsFor: "approval" } as const;
  const mixed = outcomeOf([call, approval]);
  assert.equal(mixed?.type === "interrupt" && mixed.interrupts.length, 1);
  assert.partialDeepStrictEqual(mixed, {
    type: "interrupt",
    interrupts: [
      {
        id: "call_3",
        toolCallId: "call_3",
        reason: "tool_call",
        responseSchema: { required: ["approved"] },
        metadata: { name: "search", arguments: '{"q":1}' },
      },
    ],
  });
});

test("[V1] a failure becomes an error with its code, and usage has the protocol's field names", () => {
  const expected = { inputTokens: 10, outputTokens: 5, totalTokens: 15, reasoningTokens: 2, cachedInputTokens: 4 };
  const failed = toAgUi({ seq: 9, event: samples.run_failed }, run);
  assert.partialDeepStrictEqual(failed, {
    type: "RUN_ERROR",
    code: "provider_stream_cut",
    message: "cut",
    usage: [expected],
    metadata: { retryable: true, fix: fixes.provider_stream_cut },
  });
  const endless = { ...samples.run_failed.failure, retryAfterSeconds: null as unknown as number };
  assert.deepEqual(toAgUi({ seq: 9, event: { ...samples.run_failed, failure: endless } }, run), failed);
  const finished = toAgUi({ seq: 9, event: samples.run_finished }, run);
  assert.partialDeepStrictEqual(finished, { usage: [expected] });
});
