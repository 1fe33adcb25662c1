/**
 * What the engine requires of the values that a tool returns. A tool that is written in JavaScript can break its contract. Its call is
 * then answered with an error that names the tool and the contract, and the turn goes on (V5).
 */
import { isRecord } from "../../../system/guards.ts";
import { failedResult } from "../../../tools/tool-call.ts";
import type { Tool, ToolResult } from "../../../tools/tool.ts";
import type { EngineDependencies } from "../../dependencies.ts";

type Reports = Pick<EngineDependencies, "report">;

/** Returns what the tool returned, or an error result and a report if that is no result. */
export function wholeResult(deps: Reports, name: string, returned: unknown): ToolResult {
  if (!isRecord(returned) || typeof returned["output"] !== "string") {
    return broken(deps, name, { contract: "`run` returns `output`, a text" });
  }
  const { output, isError, content } = returned;
  if (content !== undefined && !Array.isArray(content)) {
    return broken(deps, name, { contract: "the `content` that `run` returns is a list" });
  }
  return { output, isError: isError === true, ...(content !== undefined && { content }) };
}

/** Returns whether the call needs a person's approval, or an error result and a report if the tool does not say so. */
export function asksFirst(deps: Reports, tool: Tool, args: Record<string, unknown>): boolean | ToolResult {
  const { name } = tool.definition;
  const contract = "`needsApproval` returns true or false, and throws nothing";
  try {
    const asks: unknown = tool.needsApproval(args);
    if (typeof asks === "boolean") return asks;
    // A promise that rejects would end the process.
    Promise.resolve(asks).catch(() => undefined);
    return broken(deps, name, { contract });
  } catch (error) {
    return broken(deps, name, { contract, error });
  }
}

function broken(deps: Reports, name: string, { contract, error }: { contract: string; error?: unknown }): ToolResult {
  const message = `the tool "${name}" breaks its contract: ${contract}`;
  deps.report(message, error);
  return failedResult(message);
}
