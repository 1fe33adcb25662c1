/** `plan`: shows the person the steps of a longer task as the model plans them (P4). */
import * as z from "zod";
import type { PlanStep } from "../../domain/tool.ts";
import { limits } from "../../domain/limits.ts";
import { describedTool } from "../described-tool.ts";
import { toolParameters } from "../parameters.ts";
import type { Tool } from "../tool.ts";

const statuses = ["pending", "in_progress", "completed"] as const satisfies PlanStep["status"][];

const stepsFault = `must be a list of 1 to ${limits.planStepsMax} steps`;

const parameters = toolParameters(() => ({
  steps: z
    .array(
      z.object({
        content: z.string().refine((content) => content.trim() !== "", "is empty"),
        status: z.enum(statuses),
      }),
    )
    .refine(({ length }) => length >= 1 && length <= limits.planStepsMax, stepsFault)
    .describe("In order; at most one in progress."),
}));

const about =
  "Tell the user your plan for a task of several steps: the whole list each time, after every step that changes it. " +
  "Not for tasks of one or two steps.";

export function planTool(): Tool {
  return describedTool({
    name: "plan",
    about,
    effect: "read",
    parameters,
    view: async ({ steps }) => ({
      title: title(steps),
      kind: "think",
      locations: [],
      content: [{ type: "plan", steps: steps.map(shownStep) }],
      permission: null,
    }),
    run: async ({ steps }) => ({
      output: title(steps),
      isError: false,
      content: [{ type: "plan", steps: steps.map(shownStep) }],
    }),
  });
}

function title(steps: readonly PlanStep[]): string {
  const done = steps.filter(({ status }) => status === "completed").length;
  return `Plan: ${done} of ${steps.length} done`;
}

function shownStep({ content, status }: PlanStep): PlanStep {
  return { content: content.slice(0, limits.planStepCharactersMax).toWellFormed(), status };
}
