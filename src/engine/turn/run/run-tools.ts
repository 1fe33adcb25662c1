/**
 * Runs the tools that live beside the engine, between two model calls (V5). Whatever a tool does, the model gets
 * a result: tools that throw, hang, flood or are asked for nonsense are answered with an error that says so.
 */
import { openToolCalls, type ToolCallItem, type ToolResultItem } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import type { DeferredCall } from "../../../domain/tool.ts";
import { failedResult, outputForModel, parseArguments } from "../../../tools/tool-call.ts";
import type { ToolResult } from "../../../tools/tool.ts";
import type { AcceptedRequest } from "../prepare/accepted-request.ts";
import { callTool, type ToolCall } from "./call-tool.ts";
import type { EngineCore } from "../live/engine-core.ts";
import type { ModelRun } from "./model-run.ts";
import { storeStep } from "./model-step.ts";

/** What becomes of a call: it waits outside, or it has a result now or soon. */
type Fate = { waits: DeferredCall["waitsFor"] } | { result: ToolResult } | { run: ToolCall };

/**
 * Gives every call of the last answer that can be answered here its result, in the order of the calls, and says
 * which ones wait for somebody else. The part of a mixed batch that runs here runs once, and is kept.
 */
export async function runTools(core: EngineCore, run: ModelRun): Promise<DeferredCall[]> {
  const calls = openToolCalls(run.recorder.items);
  const fates = calls.map((call) => ({ call, fate: fateOf(call, run) }));
  // Tools may take long, and a process may end meanwhile: the call that asked for them is kept by then (R2).
  if (fates.some(({ fate }) => "run" in fate)) await storeStep(core, run);
  const results = await resultsOf(core, run, fates);
  for (const result of results) if (result !== null) run.recorder.items.push(result);
  return fates.flatMap(({ call, fate }) =>
    "waits" in fate ? [{ callId: call.callId, name: call.name, arguments: call.arguments, waitsFor: fate.waits }] : [],
  );
}

/** Calls that somebody allowed since they were made: they run before the model is called (T9). */
export async function runApproved(
  core: EngineCore,
  run: ModelRun,
  calls: readonly ToolCallItem[],
): Promise<ToolResultItem[]> {
  const fates = calls.map((call) => {
    const fate = fateOf(call, run);
    return { call, fate: "result" in fate ? fate : allowedFate(call, run.plan.accepted) };
  });
  const results = await resultsOf(core, run, fates);
  return results.flatMap((result) => (result === null ? [] : [result]));
}

function allowedFate(call: ToolCallItem, accepted: AcceptedRequest): Fate {
  const tool = accepted.serverTools.get(call.name);
  const args = parseArguments(call.arguments);
  if (tool === undefined || args === null) return refused(`the tool "${call.name}" can no longer be run`);
  return { run: { call, tool, args, asks: false } };
}

interface Decided {
  call: ToolCallItem;
  fate: Fate;
}

/** Calls that only read run side by side. One that changes something waits for all before it, and all after it for it. */
async function resultsOf(
  core: EngineCore,
  run: ModelRun,
  decided: readonly Decided[],
): Promise<(ToolResultItem | null)[]> {
  const started: Promise<ToolResultItem | null>[] = [];
  let lastChange: Promise<unknown> = Promise.resolve();
  for (const { call, fate } of decided) {
    const before = changesSomething(fate) ? Promise.all(started) : lastChange;
    const result = before.then(() => resultOf(core, run, { call, fate }));
    started.push(result);
    if (changesSomething(fate)) lastChange = result;
  }
  return await Promise.all(started);
}

function changesSomething(fate: Fate): boolean {
  if (!("run" in fate)) return false;
  const { effect } = fate.run.tool.definition;
  return fate.run.asks || effect === "write" || effect === "run";
}

/** Null: somebody else answers it. Listeners hear of a result as soon as it is there. */
async function resultOf(core: EngineCore, run: ModelRun, { call, fate }: Decided): Promise<ToolResultItem | null> {
  if ("waits" in fate) return null;
  const result = "result" in fate ? fate.result : await callTool(core, run, fate.run);
  const { recorder } = run;
  const output = outputForModel(result.output, (whole) =>
    recorder.keepOutput(call.callId, whole) ? `all of it is kept as output:${call.callId}` : null,
  );
  const { isError, content } = result;
  recorder.emit({
    type: "tool_result",
    callId: call.callId,
    output,
    isError,
    ...(content !== undefined && content.length > 0 && { content }),
  });
  return { type: "tool_result", callId: call.callId, output, ...(isError && { isError }) };
}

function fateOf(call: ToolCallItem, { plan, recorder }: ModelRun): Fate {
  const { serverTools, toolUse, askApproval } = plan.accepted;
  const offered = toolUse.allowed ?? toolUse.tools.map((tool) => tool.name);
  if (!offered.includes(call.name)) return refused(notOffered(call.name, plan.accepted, offered));
  const tool = serverTools.get(call.name);
  if (tool === undefined) return { waits: "client" };
  const args = parseArguments(call.arguments);
  if (args === null) return refused("the arguments are not a JSON object");
  const same = recorder.items.filter(
    (item) => item.type === "tool_call" && item.name === call.name && item.arguments === call.arguments,
  );
  if (same.length > limits.repeatedCallsMax) {
    return refused(
      `this call was made ${same.length} times in this turn; its result will not change, so do something else`,
    );
  }
  const asks = tool.needsApproval(args);
  if (asks && plan.accepted.subagent !== null) return { result: nobodyToAsk };
  return asks && askApproval === null ? { waits: "approval" } : { run: { call, tool, args, asks } };
}

function notOffered(name: string, { mode, toolUse }: AcceptedRequest, offered: readonly string[]): string {
  const others = offered.join(", ") || "none";
  const isNarrowed = toolUse.tools.some((tool) => tool.name === name);
  return isNarrowed
    ? `mode "${mode.id}" does not allow the tool "${name}"; it allows: ${others}`
    : `there is no tool "${name}"; the tools are: ${others}`;
}

const nobodyToAsk: ToolResult = {
  output:
    "denied: a subagent has nobody to ask whether this call may run; say in your answer what should be done, " +
    "so that whoever began you can do it",
  isError: true,
};

function refused(reason: string): Fate {
  return { result: failedResult(reason) };
}
