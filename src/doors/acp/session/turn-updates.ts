/**
 * A turn's events as ACP's `session/update` (V1, P4): the one mapping, for a turn that runs now and for one that is
 * shown again. Both see the same calls, diffs and texts; only what is of the moment (output while it comes, notices)
 * is left out of a replay.
 */
import type { SessionUpdate, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { TurnEvent } from "../../../domain/events.ts";
import type { ToolCallView, ToolContent } from "../../../domain/tool.ts";
import type { Usage } from "../../../domain/usage.ts";

/** Calls that a turn left for somebody else to answer, and how the client knows them: shown as pending until a later turn closes them. */
export type WaitingCalls = Map<string, string>;

export interface Surroundings {
  turnId: string;
  waiting: WaitingCalls;
  /** After each model call; empty where nothing can be said. */
  usage(step: Usage): SessionUpdate[];
  /** Null: the turn is over, and is shown again. */
  live: {
    /** Whether the client takes notices. */
    notices: boolean;
    /** The client's own terminal that shows the call's output. */
    terminalOf(callId: string): string | null;
  } | null;
}

interface ShownCall {
  /** As the model has written them so far. */
  args: string;
  view: ToolCallView | null;
  output: string;
  /** Characters of it that the client has. */
  outputShown: number;
}

/** Ids of calls are the provider's, and some give the same ones in every turn. */
export function toolCallId(turnId: string, callId: string): string {
  return `${turnId}:${callId}`;
}

/** To be given the events of one turn, in order. */
export class TurnUpdates {
  readonly #around: Surroundings;
  /** Without a result so far. */
  readonly #calls = new Map<string, ShownCall>();

  constructor(around: Surroundings) {
    this.#around = around;
  }

  of(event: TurnEvent): SessionUpdate[] {
    switch (event.type) {
      case "text_delta":
        return [this.#chunk("agent_message_chunk", event)];
      case "reasoning_delta":
        return [this.#chunk("agent_thought_chunk", event)];
      case "steered":
        return [{ sessionUpdate: "user_message_chunk", content: { type: "text", text: event.text } }];
      case "tool_call_started":
        return this.#callStarted(event.callId, event.name);
      case "tool_call_delta": {
        const call = this.#calls.get(event.callId);
        if (call !== undefined) call.args += event.delta;
        return [];
      }
      case "tool_call_view":
        return this.#callViewed(event.callId, event.view);
      case "tool_output_delta":
        return this.#outputCame(event.callId, event.delta);
      case "tool_result":
        return [this.#callEnded(event), ...(event.content ?? []).flatMap(planUpdate)];
      case "warning":
        return this.#noticed("warning", event.warning.message);
      case "subagent_ended":
        return this.#noticed("info", endedWords(event.name, event.status));
      case "step_finished":
        return this.#around.usage(event.usage);
      case "run_finished":
        return this.#runEnded(new Set(event.deferredCalls.map(({ callId }) => callId)));
      case "run_failed":
        return this.#runEnded(new Set());
      // The call that began it is shown.
      case "subagent_started":
      case "run_started":
      case "context":
      case "step_started":
      case "reasoning_started":
      case "reasoning_ended":
      case "text_started":
      case "text_ended":
      case "tool_call_ended":
        return [];
    }
  }

  #id(callId: string): string {
    return toolCallId(this.#around.turnId, callId);
  }

  #noticed(severity: "info" | "warning", title: string): SessionUpdate[] {
    return this.#around.live?.notices === true ? [{ sessionUpdate: "notice", severity, title }] : [];
  }

  #chunk(
    sessionUpdate: "agent_message_chunk" | "agent_thought_chunk",
    { messageId, delta }: { messageId: string; delta: string },
  ): SessionUpdate {
    return { sessionUpdate, content: { type: "text", text: delta }, messageId };
  }

  #callStarted(callId: string, name: string): SessionUpdate[] {
    this.#calls.set(callId, { args: "", view: null, output: "", outputShown: 0 });
    const toolCall = { toolCallId: this.#id(callId), title: name, name, kind: "other", status: "pending" } as const;
    return [{ sessionUpdate: "tool_call", ...toolCall }];
  }

  #callViewed(callId: string, view: ToolCallView): SessionUpdate[] {
    const call = this.#calls.get(callId);
    if (call === undefined) return [];
    call.view = view;
    const rawInput = parsedArgs(call.args);
    return [update({ toolCallId: this.#id(callId), ...shownView(view), status: "in_progress", rawInput })];
  }

  /** Arrays replace, so all of the output is sent each time: only when it has grown by a fifth, which bounds the sum. */
  #outputCame(callId: string, delta: string): SessionUpdate[] {
    const call = this.#calls.get(callId);
    const { live } = this.#around;
    if (call === undefined || live === null || live.terminalOf(callId) !== null) return [];
    call.output += delta;
    if (call.output.length < call.outputShown * 1.2) return [];
    call.outputShown = call.output.length;
    const content = [...(call.view?.content ?? []).flatMap(shownContent), textContent(call.output)];
    return [update({ toolCallId: this.#id(callId), status: "in_progress", content })];
  }

  #callEnded({ callId, output, isError, content }: Extract<TurnEvent, { type: "tool_result" }>): SessionUpdate {
    const call = this.#calls.get(callId);
    this.#calls.delete(callId);
    const known = this.#around.waiting.get(callId) ?? this.#id(callId);
    this.#around.waiting.delete(callId);
    const changes = content ?? (isError ? [] : (call?.view?.content ?? []));
    const rawInput = call === undefined || call.view !== null ? undefined : parsedArgs(call.args);
    return update({
      toolCallId: known,
      status: isError ? "failed" : "completed",
      content: this.#resultContent(callId, changes, output),
      ...(rawInput !== undefined && { rawInput }),
      rawOutput: output,
    });
  }

  #resultContent(callId: string, changes: readonly ToolContent[], output: string): ToolCallContent[] {
    const shown = changes.flatMap(shownContent);
    const terminalId = this.#around.live?.terminalOf(callId) ?? null;
    if (terminalId !== null) return [...shown, { type: "terminal", terminalId }];
    const saysAll = changes.some(({ type }) => type === "diff");
    return saysAll || output === "" ? shown : [...shown, textContent(output)];
  }

  /** No call is left as if it ran: what has no result by now waits for a later turn, or never ran. */
  #runEnded(deferred: ReadonlySet<string>): SessionUpdate[] {
    const ended: SessionUpdate[] = [];
    for (const [callId, call] of this.#calls) {
      if (deferred.has(callId)) {
        this.#around.waiting.set(callId, this.#id(callId));
        ended.push(update({ toolCallId: this.#id(callId), status: "pending", rawInput: parsedArgs(call.args) }));
      } else {
        ended.push(neverAnswered(this.#id(callId), "The turn ended before this call was run."));
      }
    }
    this.#calls.clear();
    return ended;
  }
}

/** For calls that are left after the turn that could have answered them (T9). */
export function closeWaiting(waiting: WaitingCalls): SessionUpdate[] {
  const closed = [...waiting.values()].map((id) => neverAnswered(id, "The conversation went on without a result."));
  waiting.clear();
  return closed;
}

function neverAnswered(id: string, reason: string): SessionUpdate {
  return update({ toolCallId: id, status: "failed", content: [textContent(reason)] });
}

/** What a person sees of a call before it runs; also in a question whether it may. */
export function shownView(
  view: ToolCallView,
): Required<Pick<ToolCallUpdate, "title" | "kind" | "locations" | "content">> {
  return {
    title: view.title,
    kind: view.kind,
    locations: view.locations.map(({ path, line }) => ({ path, ...(line !== undefined && { line }) })),
    content: view.content.flatMap(shownContent),
  };
}

export function textContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}

function shownContent(content: ToolContent): ToolCallContent[] {
  switch (content.type) {
    case "text":
      return [textContent(content.text)];
    case "diff": {
      const { path, oldText, newText } = content;
      return [{ type: "diff", path, oldText, newText }];
    }
    case "plan":
      // Clients have a place of its own for it.
      return [];
  }
}

/** The whole list each time; priorities are not asked of the model. */
function planUpdate(content: ToolContent): SessionUpdate[] {
  if (content.type !== "plan") return [];
  const entries = content.steps.map((step) => ({ ...step, priority: "medium" as const }));
  return [{ sessionUpdate: "plan", entries }];
}

function update(fields: ToolCallUpdate): SessionUpdate {
  return { sessionUpdate: "tool_call_update", ...fields };
}

/** Of a subagent. */
export function endedWords(name: string, status: "completed" | "failed"): string {
  const end = status === "failed" ? "failed" : "has ended";
  return `The subagent "${name}" ${end}: its answer waits in the mailbox, and /fire hands it over.`;
}

/** The model may have written anything; what is no JSON is shown as it is. */
function parsedArgs(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch {
    return text;
  }
}
