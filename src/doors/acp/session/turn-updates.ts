/**
 * Maps the events of a turn to ACP's `session/update` (V1, P4), for a running turn and for a replay. Both have the same calls,
 * diffs and texts. A replay leaves out only output that streams during a call, and notices.
 */
import type { SessionUpdate, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { Failure, Warning } from "../../../domain/errors.ts";
import type { GatheredContext, TurnEvent } from "../../../domain/events.ts";
import type { ToolCallView, ToolContent } from "../../../domain/tool.ts";
import type { Usage } from "../../../domain/usage.ts";

/** Calls that a turn left for another client to answer, with the ids that the client knows. They are pending until a later turn closes them. */
export type WaitingCalls = Map<string, string>;

export interface TurnUpdatesOptions {
  turnId: string;
  waiting: WaitingCalls;
  /** True if the client shows compactions of the history. */
  showsCompactions: boolean;
  /** Returns the updates after a model call. Empty if the usage is unknown. */
  usage(step: Usage): SessionUpdate[];
  /** Present for a running turn. Null: this is a replay. */
  live: {
    /** True if the client accepts notices. */
    notices: boolean;
    /** True if a prompt of this client runs the turn, and is answered with its end. */
    isOwnPrompt: boolean;
    /** Returns true, once, for a message that this client sent to the turn. */
    isOwnSteer(text: string): boolean;
    /** Returns the id of the client's terminal that shows the call's output, or null. */
    terminalOf(callId: string): string | null;
  } | null;
}

interface ShownCall {
  /** The arguments that the model has written so far. */
  args: string;
  view: ToolCallView | null;
  output: string;
  /** How many characters of the output the client has. */
  outputShown: number;
}

/** Returns the call's id for the client. The turn's id is part of it, because some providers use the same call ids in every turn. */
export function toolCallId(turnId: string, callId: string): string {
  return `${turnId}:${callId}`;
}

/** Maps the events of one turn. They must be given in order. */
export class TurnUpdates {
  readonly #options: TurnUpdatesOptions;
  /** The calls without a result. */
  readonly #calls = new Map<string, ShownCall>();
  #compactions = 0;

  constructor(options: TurnUpdatesOptions) {
    this.#options = options;
  }

  /** Returns the arguments of a call without a result, as the model has written them so far. */
  rawInput(callId: string): unknown {
    return parsedArgs(this.#calls.get(callId)?.args ?? "");
  }

  of(event: TurnEvent): SessionUpdate[] {
    switch (event.type) {
      case "text_delta":
        return [this.#chunk("agent_message_chunk", event)];
      case "reasoning_delta":
        return [this.#chunk("agent_thought_chunk", event)];
      case "steered":
        return this.#steered(event.text);
      case "tool_call_started":
        return this.#callStarted(event.callId, event.name);
      case "tool_call_delta": {
        const call = this.#calls.get(event.callId);
        if (call !== undefined) call.args += event.delta;
        return [];
      }
      case "tool_call_view":
        return this.#callViewed(event);
      case "approval_answered":
        return event.approved ? [update({ toolCallId: this.#id(event.callId), status: "in_progress" })] : [];
      case "tool_output_delta":
        return this.#outputCame(event.callId, event.delta);
      case "tool_result":
        return [this.#callEnded(event), ...(event.content ?? []).flatMap(planUpdate)];
      case "context":
        return this.#rulesNamed(event.context);
      case "warning":
        return this.#warned(event.warning);
      case "subagent_ended":
        return this.#noticed("info", subagentEndedText(event.name, event.status));
      case "step_finished":
        return this.#options.usage(event.usage);
      case "run_finished":
        return this.#runEnded(new Set(event.deferredCalls.map(({ callId }) => callId)));
      case "run_failed":
        return [...this.#runEnded(new Set()), ...this.#failureShown(event.failure)];
      // The tool call that started the subagent is shown already.
      case "subagent_started":
      case "run_started":
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
    return toolCallId(this.#options.turnId, callId);
  }

  /** A message that this client has sent itself is not repeated: the client shows it already. */
  #steered(text: string): SessionUpdate[] {
    if (this.#options.live?.isOwnSteer(text) === true) return [];
    return [{ sessionUpdate: "user_message_chunk", content: { type: "text", text } }];
  }

  /** Shows how a failed turn ended, where no prompt is answered with the failure (T12). */
  #failureShown({ code, message }: Failure): SessionUpdate[] {
    // A refusal is no error in ACP, so its reason would be lost with the prompt too.
    const isRefusal = code === "provider_refused_content";
    if (code === "interrupted" || (!isRefusal && this.#options.live?.isOwnPrompt === true)) return [];
    const delta = `\n\n${isRefusal ? "The model refused" : "The turn failed"}: ${message}`;
    return [this.#chunk("agent_message_chunk", { messageId: `${this.#options.turnId}:end`, delta })];
  }

  /**
   * Names the rules of the repository and the skills when they are used the first time, and when they change, and counts the facts that
   * the message brings (M1, M3, M4).
   */
  #rulesNamed({ rules = [], rulesChanged = [], skills = [], facts = [] }: GatheredContext): SessionUpdate[] {
    const { live, turnId } = this.#options;
    const named = [
      ...(rules.length > 0 ? [`rules: ${rules.join(", ")}`] : []),
      ...(rulesChanged.length > 0 ? [`rules changed: ${rulesChanged.join(", ")}`] : []),
      ...(skills.length > 0 ? [`skills: ${skills.join(", ")}`] : []),
      ...(facts.length > 0 ? [`memory: ${facts.length} ${facts.length === 1 ? "fact" : "facts"}`] : []),
    ];
    if (live?.notices !== false) return named.flatMap((text) => this.#noticed("info", text));
    // Most clients take no notices. All of them show this.
    return named.map((text) =>
      this.#chunk("agent_thought_chunk", { messageId: `${turnId}:rules`, delta: `${text}\n` }),
    );
  }

  /** A compaction has its place in the conversation, if the client can show one. Any other warning is a notice. */
  #warned({ code, message }: Warning): SessionUpdate[] {
    if (code !== "history_compacted" || !this.#options.showsCompactions) return this.#noticed("warning", message);
    const compactionId = `${this.#options.turnId}:${(this.#compactions += 1)}`;
    const summary = [{ type: "text" as const, text: message }];
    return [{ sessionUpdate: "compaction_update", compactionId, status: "completed", summary }];
  }

  #noticed(severity: "info" | "warning", title: string): SessionUpdate[] {
    return this.#options.live?.notices === true ? [{ sessionUpdate: "notice", severity, title }] : [];
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

  /** A call about which a person is asked is pending until the answer is a yes. */
  #callViewed({ callId, view, asks }: Extract<TurnEvent, { type: "tool_call_view" }>): SessionUpdate[] {
    const call = this.#calls.get(callId);
    if (call === undefined) return [];
    call.view = view;
    const rawInput = parsedArgs(call.args);
    const status = asks === true ? "pending" : "in_progress";
    return [update({ toolCallId: this.#id(callId), ...shownView(view), status, rawInput })];
  }

  /**
   * Sends all of the output each time, because ACP replaces arrays. It waits until the output has grown by a fifth, which limits
   * the total; `heldOutput` has the rest.
   */
  #outputCame(callId: string, delta: string): SessionUpdate[] {
    const call = this.#calls.get(callId);
    const { live } = this.#options;
    if (call === undefined || live === null || live.terminalOf(callId) !== null) return [];
    call.output += delta;
    return call.output.length < call.outputShown * 1.2 ? [] : [this.#outputOf(callId, call)];
  }

  #outputOf(callId: string, call: ShownCall): SessionUpdate {
    call.outputShown = call.output.length;
    const content = [...(call.view?.content ?? []).flatMap(shownContent), textContent(call.output)];
    return update({ toolCallId: this.#id(callId), status: "in_progress", content });
  }

  /** Returns the output of running calls that came and was not sent yet. */
  heldOutput(): SessionUpdate[] {
    const held = [...this.#calls].filter(([, call]) => call.output.length > call.outputShown);
    return held.map(([callId, call]) => this.#outputOf(callId, call));
  }

  #callEnded({ callId, output, isError, content }: Extract<TurnEvent, { type: "tool_result" }>): SessionUpdate {
    const call = this.#calls.get(callId);
    this.#calls.delete(callId);
    const known = this.#options.waiting.get(callId) ?? this.#id(callId);
    this.#options.waiting.delete(callId);
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
    const terminalId = this.#options.live?.terminalOf(callId) ?? null;
    if (terminalId !== null) return [...shown, { type: "terminal", terminalId }];
    const saysAll = changes.some(({ type }) => type === "diff");
    return saysAll || output === "" ? shown : [...shown, textContent(output)];
  }

  /** Ends every call: one without a result either waits for a later turn, or never ran. */
  #runEnded(deferred: ReadonlySet<string>): SessionUpdate[] {
    const ended: SessionUpdate[] = [];
    for (const [callId, call] of this.#calls) {
      if (deferred.has(callId)) {
        this.#options.waiting.set(callId, this.#id(callId));
        ended.push(update({ toolCallId: this.#id(callId), status: "pending", rawInput: parsedArgs(call.args) }));
      } else {
        ended.push(neverAnswered(this.#id(callId), "The turn ended before this call was run."));
      }
    }
    this.#calls.clear();
    return ended;
  }
}

/** Closes the calls that the next turn did not answer (T9). */
export function closeWaiting(waiting: WaitingCalls): SessionUpdate[] {
  const closed = [...waiting.values()].map((id) => neverAnswered(id, "The conversation continued without a result."));
  waiting.clear();
  return closed;
}

function neverAnswered(id: string, reason: string): SessionUpdate {
  return update({ toolCallId: id, status: "failed", content: [textContent(reason)] });
}

/** Returns what the user sees of a call before it runs, and in the question whether it may run. */
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
    case "image": {
      const { data, mimeType } = content;
      return [{ type: "content", content: { type: "image", data, mimeType } }];
    }
    case "plan":
      // Clients show a plan separately.
      return [];
  }
}

/** Returns the plan as an update, always complete. The model sets no priorities, so all are medium. */
function planUpdate(content: ToolContent): SessionUpdate[] {
  if (content.type !== "plan") return [];
  const entries = content.steps.map((step) => ({ ...step, priority: "medium" as const }));
  return [{ sessionUpdate: "plan", entries }];
}

function update(fields: ToolCallUpdate): SessionUpdate {
  return { sessionUpdate: "tool_call_update", ...fields };
}

/** Returns the notice about the end of a subagent. */
export function subagentEndedText(name: string, status: "completed" | "failed"): string {
  const end = status === "failed" ? "failed" : "has ended";
  return `The subagent "${name}" ${end}: its answer waits in the mailbox. Use /fire to give it to the model.`;
}

/** Parses the arguments of a call. Text that is not JSON is returned unchanged. */
function parsedArgs(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch {
    return text;
  }
}
