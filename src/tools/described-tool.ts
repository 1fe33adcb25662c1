/** A tool from what is special about it: its table of parameters, how a call is shown, and what it does. */
import type { ToolCallView, ToolEffect } from "../domain/tool.ts";
import { parametersSchema, takeValues, type Parameters, type Values } from "./parameters.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";
import { ToolFault, withFaults } from "./tool-fault.ts";

export interface ToolDescription<P extends Parameters> {
  name: string;
  /** For the model: what it is for and what it gives, in few words. */
  about: string;
  effect: ToolEffect;
  parameters: P;
  timeMs?: number;
  view(values: Values<P>): Promise<ToolCallView>;
  /** A ToolFault becomes a result. */
  run(values: Values<P>, context: ToolContext): Promise<ToolResult>;
}

/** What writes or runs needs approval; a call that will only be told what is wrong with it does not. */
export function describedTool<P extends Parameters>(description: ToolDescription<P>): Tool {
  const { name, about, effect, parameters, timeMs } = description;
  return {
    definition: { name, description: about, parameters: parametersSchema(parameters), effect },
    ...(timeMs !== undefined && { timeMs }),
    view: async (args) => await description.view(takeValues(parameters, args)),
    needsApproval: (args) => effect !== "read" && isWellSaid(parameters, args),
    run: (args, context) => withFaults(async () => await description.run(takeValues(parameters, args), context)),
  };
}

function isWellSaid(parameters: Parameters, args: Record<string, unknown>): boolean {
  try {
    takeValues(parameters, args);
    return true;
  } catch (error) {
    if (error instanceof ToolFault) return false;
    throw error;
  }
}
