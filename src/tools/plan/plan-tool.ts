/** `plan`: the steps of a longer task, as the model means to take them, for the person to follow (P4). */
import type { PlanStep } from "../../domain/tool.ts";
import { limits } from "../../domain/limits.ts";
import { ToolFault, withFaults } from "../tool-fault.ts";
import type { Tool } from "../tool.ts";

const statuses = ["pending", "in_progress", "completed"] as const satisfies PlanStep["status"][];

const about =
  "Tell the user your plan for a task of several steps: the whole list each time, after every step that changes it. " +
  "Not for tasks of one or two steps.";

export function planTool(): Tool {
  return {
    definition: { name: "plan", description: about, parameters: schema(), effect: "read" },
    needsApproval: () => false,
    view: async (args) => {
      const steps = stepsOf(args);
      return {
        title: title(steps),
        kind: "think",
        locations: [],
        content: [{ type: "plan", steps }],
        permission: null,
      };
    },
    run: (args) =>
      withFaults(async () => {
        const steps = stepsOf(args);
        return { output: title(steps), isError: false, content: [{ type: "plan", steps }] };
      }),
  };
}

function schema(): Record<string, unknown> {
  const step = {
    type: "object",
    properties: { content: { type: "string" }, status: { type: "string", enum: statuses } },
    required: ["content", "status"],
    additionalProperties: false,
  };
  const steps = { type: "array", items: step, description: "In order; at most one in progress." };
  return { type: "object", properties: { steps }, required: ["steps"], additionalProperties: false };
}

function title(steps: readonly PlanStep[]): string {
  const done = steps.filter(({ status }) => status === "completed").length;
  return `Plan: ${done} of ${steps.length} done`;
}

function stepsOf({ steps }: Record<string, unknown>): PlanStep[] {
  if (!Array.isArray(steps) || steps.length === 0 || steps.length > limits.planStepsMax) {
    throw new ToolFault(`"steps" must be a list of 1 to ${limits.planStepsMax} steps`);
  }
  return steps.map((step: unknown, index) => {
    const { content, status } = (typeof step === "object" && step !== null ? step : {}) as Partial<PlanStep>;
    const isText = typeof content === "string" && content.trim() !== "";
    if (isText && status !== undefined && statuses.includes(status)) {
      return { content: content.slice(0, limits.planStepCharactersMax).toWellFormed(), status };
    }
    throw new ToolFault(`step ${index + 1} must have a "content" and a "status" of: ${statuses.join(", ")}`);
  });
}
