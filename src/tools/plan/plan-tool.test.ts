import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../domain/limits.ts";
import type { ToolContext } from "../tool.ts";
import { planTool } from "./plan-tool.ts";

const context: ToolContext = {
  sessionId: "s",
  turnId: "t",
  callId: "c",
  signal: new AbortController().signal,
  showOutput: () => {},
  readOutput: async () => null,
};

test("[P4] [P5] a plan is shown to the person, changes nothing, and needs no approval", async () => {
  const plan = planTool();
  const steps = [
    { content: "read", status: "completed" },
    { content: "x".repeat(limits.planStepCharactersMax + 1), status: "in_progress" },
  ];
  assert.equal(plan.needsApproval({ steps }), false);
  assert.equal(plan.definition.effect, "read");
  const { output, isError, content } = await plan.run({ steps }, context);
  assert.deepEqual([output, isError], ["Plan: 1 of 2 done", false]);
  assert.deepEqual(content, [
    {
      type: "plan",
      steps: [steps[0], { content: "x".repeat(limits.planStepCharactersMax), status: "in_progress" }],
    },
  ]);
  assert.equal((await plan.view?.({ steps }))?.title, "Plan: 1 of 2 done");
});

test("[P5] an invalid plan gets the faults of each step", async () => {
  const faults: [unknown, RegExp][] = [
    [undefined, /"steps" is missing/],
    ["read, then write", /"steps" must be a list, but is the text "read, then write"/],
    [[], /list of 1 to/],
    [Array.from({ length: limits.planStepsMax + 1 }, () => ({ content: "a", status: "pending" })), /list of 1 to/],
    [[{ content: " ", status: "pending" }], /"steps\[0\]\.content" is empty/],
    [
      [
        { content: "a", status: "pending" },
        { content: "b", status: "done" },
      ],
      /"steps\[1\]\.status" must be one of pending, in_progress, completed, but is the text "done"/,
    ],
    [[null], /"steps\[0\]" must be an object, but is null/],
    [[{ content: "a" }], /"steps\[0\]\.status" is missing/],
  ];
  for (const [steps, fault] of faults) {
    const { output, isError } = await planTool().run({ steps }, context);
    assert.ok(isError);
    assert.match(output, fault);
  }
});
