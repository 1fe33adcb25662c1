/** Runs one call of a tool beside the engine: shows it, asks a person if it needs permission, and runs it (V5, P4). */
import { failureOf } from "../../../domain/errors.ts";
import type { ToolCallItem } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import type { ToolCallView } from "../../../domain/tool.ts";
import { unlessAborted } from "../../../system/abort.ts";
import { failedResult, previewToolCall } from "../../../tools/tool-call.ts";
import type { Tool, ToolContext, ToolResult } from "../../../tools/tool.ts";
import type { EngineCore } from "../live/engine-core.ts";
import { holdsLease } from "../live/leases.ts";
import type { ModelRun } from "./model-run.ts";
import { permitted } from "./permitted.ts";
import { wholeResult } from "./tool-contract.ts";
import { readBlob } from "../kept/turn-blobs.ts";

export interface ToolCall {
  call: ToolCallItem;
  tool: Tool;
  args: Record<string, unknown>;
  /** True if a person must allow the call first, and can be asked. */
  asks: boolean;
}

/** Runs the call, and returns its result. Never rejects. */
export async function callTool(core: EngineCore, run: ModelRun, toolCall: ToolCall): Promise<ToolResult> {
  const { name, callId } = toolCall.call;
  const activity = core.deps.observer.toolCall({ turnId: run.plan.turnId, callId, name });
  const result = await activity.within(() => shownAndRun(core, run, toolCall));
  activity.end({ isError: result.isError === true });
  return result;
}

async function shownAndRun(core: EngineCore, run: ModelRun, toolCall: ToolCall): Promise<ToolResult> {
  try {
    // A call that was stopped meanwhile must not start.
    if (run.live.signal.aborted || !holdsLease(core, run.live)) return notRun;
    const { view, refusal } = await previewToolCall(toolCall.tool, toolCall.args);
    const isQuestion = toolCall.asks && refusal === null;
    const denial = isQuestion ? await permitted(core, run, { ...toolCall, view }) : shown(run, toolCall, view);
    if (run.live.signal.aborted || !holdsLease(core, run.live)) return notRun;
    return (toolCall.asks ? (refusal ?? denial) : null) ?? (await runInTime(core, run, toolCall));
  } catch (error) {
    if (run.live.signal.aborted) return notRun;
    core.deps.report(`the tool "${toolCall.call.name}" could not be called`, error);
    return failedResult(failureOf(error).message);
  }
}

const notRun: ToolResult = { output: "interrupted: the call was not run", isError: true };

/** Shows a call that does not run now. */
export async function showCall(run: ModelRun, toolCall: Pick<ToolCall, "call" | "tool" | "args">): Promise<void> {
  const { view } = await previewToolCall(toolCall.tool, toolCall.args);
  shown(run, toolCall, view);
}

function shown({ recorder }: ModelRun, { call: { callId } }: Pick<ToolCall, "call">, view: ToolCallView): null {
  recorder.emit({ type: "tool_call_view", callId, view });
  return null;
}

async function runInTime(core: EngineCore, run: ModelRun, { call, tool, args }: ToolCall): Promise<ToolResult> {
  const timeMs = tool.timeMs ?? limits.toolTimeMs;
  const deadline = core.deps.deadline(timeMs);
  const signal = AbortSignal.any([run.live.signal, deadline]);
  const context = toolContext(core, run, { call, signal });
  try {
    return wholeResult(core.deps, call.name, await unlessAborted(tool.run(args, context), signal));
  } catch (error) {
    if (run.live.signal.aborted) return { output: "interrupted: the call was stopped", isError: true };
    if (deadline.aborted) return failedResult(`no result within ${timeMs / 1000} s`);
    core.deps.report(`the tool "${call.name}" threw`, error);
    return failedResult(failureOf(error).message);
  } finally {
    context.endShowing();
  }
}

function toolContext(
  core: EngineCore,
  { live: { sessionId }, plan, recorder }: ModelRun,
  { call: { callId }, signal }: { call: ToolCallItem; signal: AbortSignal },
): ToolContext & { endShowing(): void } {
  let room: number = limits.toolShownCharactersMax;
  return {
    // Nothing that the tool shows later may follow the result.
    endShowing: () => (room = 0),
    sessionId,
    turnId: plan.turnId,
    callId,
    signal,
    showOutput: (text) => {
      const delta = text.slice(0, room).toWellFormed();
      if (delta === "") return;
      room -= delta.length;
      recorder.emit({ type: "tool_output_delta", callId, delta });
    },
    readOutput: async (id) => recorder.output(id) ?? (await earlierOutput(core, plan, id)),
  };
}

/** Returns the whole output of a call of an earlier turn of this history. Null if there is none. */
async function earlierOutput({ deps }: EngineCore, { state }: ModelRun["plan"], id: string): Promise<string | null> {
  const entry = state.entries.findLast(({ items }) =>
    items.some((item) => item.type === "tool_result" && item.callId === id),
  );
  const turn = entry === undefined ? null : await deps.records.turns.get(entry.turnId);
  if (turn === null || turn.blobs.run === null) return null;
  const { outputs = [] } = await readBlob<"run">(deps.blobs, turn.blobs.run, turn.id);
  return outputs.find(({ callId }) => callId === id)?.text ?? null;
}
