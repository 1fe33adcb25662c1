/** Makes a tool from what is special about it: its parameters, how a call is shown, and what it does. */
import type { z } from "zod";
import type { ToolCallView, ToolEffect } from "../domain/tool.ts";
import type { ArgumentValues, ToolParameters } from "./parameters.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";
import { ToolFault, withFaults } from "./tool-fault.ts";

export interface ToolDescription<P extends z.ZodRawShape> {
  name: string;
  /** What the tool is for and what it gives, in few words for the model. */
  about: string;
  effect: ToolEffect;
  parameters: ToolParameters<P>;
  timeMs?: number;
  view(values: ArgumentValues<P>): Promise<ToolCallView>;
  /** A ToolFault becomes a result. */
  run(values: ArgumentValues<P>, context: ToolContext): Promise<ToolResult>;
}

/** A call that writes or runs needs approval. A call whose arguments are wrong does not: it gets their faults, and does nothing. */
export function describedTool<P extends z.ZodRawShape>(description: ToolDescription<P>): Tool {
  const { name, about, effect, parameters, timeMs } = description;
  return {
    // The schema is made when the tool is offered, and not when it is opened.
    get definition() {
      return { name, description: about, parameters: parameters.jsonSchema(), effect };
    },
    ...(timeMs !== undefined && { timeMs }),
    view: async (args) => await description.view(parameters.parse(args)),
    needsApproval: (args) => effect !== "read" && isWellFormedCall(parameters, args),
    run: (args, context) => withFaults(async () => await description.run(parameters.parse(args), context)),
  };
}

function isWellFormedCall(parameters: ToolParameters<z.ZodRawShape>, args: Record<string, unknown>): boolean {
  try {
    parameters.parse(args);
    return true;
  } catch (error) {
    if (error instanceof ToolFault) return false;
    throw error;
  }
}
