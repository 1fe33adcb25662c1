/** The tools of a simulation: they work, fail, flood, take time, and some need permission. */
import type { Tool, ToolContext, ToolResult } from "../../src/tools/tool.ts";
import { currentAsked, currentProcess, type SeenToolRun } from "./asked.ts";
import type { Gates } from "./gates.ts";

const serverTools = ["work", "break", "flood", "guarded"];
/** A tool in every conversation's context that the engine does not run. */
export const personTool = { name: "ask_person", parameters: { type: "object" } };
/** A tool that some requests bring. */
export const deviceTool = { name: "ask_device", parameters: { type: "object" } };

export function actingTools(gates: Gates): Tool[] {
  return serverTools.map((name) => ({
    definition: { name, parameters: { type: "object" } },
    needsApproval: () => name === "guarded",
    run: (_args, context) => run(gates, name, context),
  }));
}

async function run(gates: Gates, name: string, { callId, turnId, signal }: ToolContext): Promise<ToolResult> {
  const asked = currentAsked();
  const seen: SeenToolRun = { callId, turnId, outcome: null };
  asked?.toolRuns.push(seen);
  signal.addEventListener("abort", () => (seen.outcome ??= isLate(signal) ? "late" : "stopped"), { once: true });
  // A call without a request would be a fault of the engine. The missing run shows it.
  if (asked?.random.chance(0.4) === true) await gates.wait(currentProcess());
  if (name === "break") {
    seen.outcome ??= "threw";
    throw new RangeError("it broke");
  }
  const output = name === "flood" ? "flood ".repeat(15_000) : `${name} of ${callId}`;
  const result = { output, isError: asked?.random.chance(0.1) === true };
  seen.outcome ??= result;
  return result;
}

/** The abort reason of a tool's time limit. */
export const lateReason = "the simulation's clock";

function isLate(signal: AbortSignal): boolean {
  return signal.reason === lateReason;
}
