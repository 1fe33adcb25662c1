/** Builds a tool from its parameters, its view and its action. */
import type * as z from "zod";
import type { ToolCallView, ToolEffect } from "../domain/tool.ts";
import type { ArgumentValues, ToolParameters } from "./parameters.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";
import { ToolFault, withFaults } from "./tool-fault.ts";

export interface ToolDescription<P extends z.ZodRawShape> {
  name: string;
  /** The description for the model: the purpose of the tool and its result, in few words. */
  about: string;
  effect: ToolEffect;
  parameters: ToolParameters<P>;
  timeMs?: number;
  view(values: ArgumentValues<P>, call: CallIdentity): Promise<ToolCallView>;
  /** Runs the call. A ToolFault that it throws becomes an error result. */
  run(values: ArgumentValues<P>, context: ToolContext, call: CallIdentity): Promise<ToolResult>;
}

/** The arguments as the caller of the tool has them. It is the same object when a call is shown and when it runs after that. */
export type CallIdentity = Readonly<Record<string, unknown>>;

/** Builds the tool. A call that writes or runs needs approval. A call with wrong arguments needs none: it does nothing, and its result lists the faults. */
export function describedTool<P extends z.ZodRawShape>(description: ToolDescription<P>): Tool {
  const { name, about, effect, parameters, timeMs } = description;
  return {
    // The schema is made when the tool is offered, not when it is opened.
    get definition() {
      return { name, description: about, parameters: parameters.jsonSchema(), effect };
    },
    ...(timeMs !== undefined && { timeMs }),
    view: async (args) => await description.view(parameters.parse(args), args),
    needsApproval: (args) => effect !== "read" && isWellFormedCall(parameters, args),
    run: (args, context) => withFaults(async () => await description.run(parameters.parse(args), context, args)),
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
