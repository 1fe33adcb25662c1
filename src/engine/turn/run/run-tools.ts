/**
 * Runs the tools beside the engine, between two model calls (V5). The model receives a result for every call: a tool
 * that throws, hangs or floods, or a call with invalid arguments, is answered with an error that states the reason.
 */
import { openToolCalls, type ToolCallItem, type ToolResultItem } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import type { DeferredCall } from "../../../domain/tool.ts";
import { failedResult, outputForModel, parseArguments, previewToolCall } from "../../../tools/tool-call.ts";
import type { ToolResult } from "../../../tools/tool.ts";
import { isAlwaysAllowed } from "../../access/permanent.ts";
import type { AcceptedRequest } from "../prepare/accepted-request.ts";
import { callTool, showCall, type ToolCall } from "./call-tool.ts";
import type { EngineCore } from "../live/engine-core.ts";
import type { ModelRun } from "./model-run.ts";
import { storeStep } from "./store-step.ts";
import { asksFirst } from "./tool-contract.ts";

/** What happens to a call: it waits for the caller, or it has a result now, or it runs. */
type Fate = { waits: "client" } | { waits: "approval"; shows: ToolCall } | { result: ToolResult } | { run: ToolCall };

/**
 * Answers every call of the last answer that can be answered here, in the order of the calls, and returns those that
 * wait for the caller. If only some calls of an answer run here, they run once and their results are kept.
 */
export async function runTools(core: EngineCore, run: ModelRun): Promise<DeferredCall[]> {
  const calls = openToolCalls(run.recorder.items);
  const decided = calls.map(async (call) => ({ call, fate: await unlessAllowed(core, run, fateOf(core, run, call)) }));
  const fates = withinLimit(run, await Promise.all(decided));
  // Tools may take long, and the process may end meanwhile. So the step that called them is stored first (R2).
  if (fates.some(({ fate }) => "run" in fate)) await storeStep(core, run, { survives: "the process" });
  const results = await resultsOf(core, run, fates);
  for (const result of results) if (result !== null) run.recorder.items.push(result);
  return fates.flatMap(({ call, fate }) =>
    "waits" in fate ? [{ callId: call.callId, name: call.name, arguments: call.arguments, waitsFor: fate.waits }] : [],
  );
}

/** Runs the calls that a person allowed since they were made, before the model is called (T9). */
export async function runApproved(
  core: EngineCore,
  run: ModelRun,
  calls: readonly ToolCallItem[],
): Promise<ToolResultItem[]> {
  const fates = calls.map((call) => {
    const fate = fateOf(core, run, call);
    return { call, fate: "result" in fate ? fate : allowedFate(call, run.plan.accepted) };
  });
  const results = await resultsOf(core, run, fates);
  return results.flatMap((result) => (result === null ? [] : [result]));
}

/** Refuses the calls of our own tools that come after the last one that the request allows. */
function withinLimit({ plan, recorder }: ModelRun, decided: Decided[]): Decided[] {
  const { serverTools, settings } = plan.accepted;
  const { maxToolCalls } = settings;
  if (maxToolCalls === undefined) return decided;
  const names = new Map(
    recorder.items.flatMap((item) => (item.type === "tool_call" ? [[item.callId, item.name]] : [])),
  );
  const ran = recorder.items.filter(
    (item) => item.type === "tool_result" && serverTools.has(names.get(item.callId) ?? ""),
  );
  let left = maxToolCalls - ran.length;
  return decided.map(({ call, fate }) => {
    if (!("run" in fate)) return { call, fate };
    left -= 1;
    return left >= 0 ? { call, fate } : { call, fate: refused(`only ${maxToolCalls} calls are allowed in this turn`) };
  });
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

/**
 * Returns the results. Calls that only read run side by side. A call that changes something waits for all calls before
 * it, and the calls after it wait for it.
 */
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

/**
 * Returns the result of a call, or null if the caller answers it. Listeners receive a result as soon as there is one.
 */
async function resultOf(core: EngineCore, run: ModelRun, { call, fate }: Decided): Promise<ToolResultItem | null> {
  if ("waits" in fate) {
    // A person must see the exact command or change before they answer, at any door and at any later time.
    if (fate.waits === "approval") await showCall(run, fate.shows);
    return null;
  }
  const result = "result" in fate ? fate.result : await callTool(core, run, fate.run);
  const { recorder } = run;
  const output = outputForModel(result.output, (whole) =>
    recorder.keepOutput(call.callId, whole) ? `the whole output is kept as output:${call.callId}` : null,
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

function fateOf({ deps }: EngineCore, { plan, recorder }: ModelRun, call: ToolCallItem): Fate {
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
  const asks = asksFirst(deps, tool, args);
  if (typeof asks !== "boolean") return { result: asks };
  if (asks && plan.accepted.subagent !== null) return { result: noPersonToAsk };
  const toolCall = { call, tool, args, asks };
  return asks && askApproval === null ? { waits: "approval", shows: toolCall } : { run: toolCall };
}

/** A call that would wait for a person runs if such calls were allowed permanently (P4). */
async function unlessAllowed(core: EngineCore, { plan }: ModelRun, fate: Fate): Promise<Fate> {
  if (!("shows" in fate)) return fate;
  const { caller, workspaceId } = plan.accepted;
  const { tool, args } = fate.shows;
  const { permission } = (await previewToolCall(tool, args)).view;
  const isAllowed = await isAlwaysAllowed(core.deps, caller, { workspaceId, permission });
  return isAllowed ? { run: { ...fate.shows, asks: false } } : fate;
}

function notOffered(name: string, { mode, toolUse, clientTools }: AcceptedRequest, offered: readonly string[]): string {
  const others = offered.join(", ") || "none";
  if (!clientTools.mayCall && clientTools.tools.some((tool) => tool.name === name))
    return `no client of this turn runs the tool "${name}"; the tools are: ${others}`;
  const isNarrowed = toolUse.tools.some((tool) => tool.name === name);
  return isNarrowed
    ? `mode "${mode.id}" does not allow the tool "${name}"; it allows: ${others}`
    : `there is no tool "${name}"; the tools are: ${others}`;
}

const noPersonToAsk: ToolResult = {
  output:
    "denied: a subagent cannot ask a person to allow this call; write in your answer what should be done, " +
    "so that the agent that started you can do it",
  isError: true,
};

function refused(reason: string): Fate {
  return { result: failedResult(reason) };
}
