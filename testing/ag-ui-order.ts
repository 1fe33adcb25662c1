/**
 * Rules of AG-UI 1.0 for a run's events that its schemas cannot express: their order, their pairs, and what a run
 * leaves open. The check is stricter than the protocol where ours promises more: one step at a time, no id used twice.
 */
import assert from "node:assert/strict";
import { EventSchemas } from "@ag-ui/core/schemas";
import type { AgUiEvent } from "../src/protocol/ag-ui.ts";

type Kind = "text" | "reasoning" | "call";
type Terminal = Extract<AgUiEvent, { type: "RUN_FINISHED" | "RUN_ERROR" }>;

/** Checks the order and returns the terminal event. `waiting`: calls of the previous run that have no result yet. */
export function checkRun(events: readonly unknown[], waiting: readonly string[] = []): Terminal {
  const run = new Run(waiting);
  for (const event of events) {
    assert.deepEqual(EventSchemas.parse(event), event);
    run.take(event as AgUiEvent);
  }
  return run.terminal ?? assert.fail("the run does not end");
}

class Run {
  terminal: Terminal | null = null;
  #ids: { threadId: string; runId: string } | null = null;
  #step: string | null = null;
  #open: { kind: Kind; id: string } | null = null;
  readonly #used = new Set<string>();
  readonly #calls: string[] = [];
  readonly #answered = new Set<string>();
  readonly #waiting: ReadonlySet<string>;

  constructor(waiting: readonly string[]) {
    this.#waiting = new Set(waiting);
  }

  take(event: AgUiEvent): void {
    assert.equal(this.terminal, null, `${event.type} after the end`);
    assert.equal(this.#ids === null, event.type === "RUN_STARTED", `${event.type} at the wrong end of the run`);
    switch (event.type) {
      case "RUN_STARTED":
        this.#ids = { threadId: event.threadId, runId: event.runId };
        break;
      case "RUN_FINISHED":
        assert.deepEqual({ threadId: event.threadId, runId: event.runId }, this.#ids);
        this.#checkOutcome(event.outcome);
        this.#end(event);
        break;
      case "RUN_ERROR":
        this.#end(event);
        break;
      case "STEP_STARTED":
        assert.equal(this.#step, null);
        this.#useOnce(`step ${event.stepName}`);
        this.#step = event.stepName;
        break;
      case "STEP_FINISHED":
        assert.equal(this.#step, event.stepName);
        this.#step = null;
        break;
      case "TOOL_CALL_RESULT":
        this.#takeResult(event);
        break;
      case "CUSTOM":
        break;
      default:
        this.#takePart(event);
    }
  }

  #end(event: Terminal): void {
    assert.deepEqual([this.#step, this.#open], [null, null], "something is left open");
    this.terminal = event;
  }

  #takePart(event: Parameters<typeof partOf>[0]): void {
    const { place, ...part } = partOf(event);
    // An item that was cut short may be closed after its step.
    if (place !== "end") assert.notEqual(this.#step, null, `${event.type} outside of a step`);
    if (place === "start") {
      assert.equal(this.#open, null, `${event.type} within another message`);
      this.#useOnce(`${part.kind} ${part.id}`);
      this.#open = part;
      if (part.kind === "call") this.#calls.push(part.id);
    } else {
      assert.deepEqual(this.#open, part, `${event.type} of what is not open`);
      if (place === "end") this.#open = null;
    }
  }

  #takeResult({ toolCallId, messageId }: Extract<AgUiEvent, { type: "TOOL_CALL_RESULT" }>): void {
    assert.equal(this.#step, null, "a result within a model call");
    assert.ok(
      this.#calls.includes(toolCallId) || this.#waiting.has(toolCallId),
      `a result without the call ${toolCallId}`,
    );
    this.#useOnce(`message ${messageId}`);
    assert.ok(!this.#answered.has(toolCallId), `two results for ${toolCallId}`);
    this.#answered.add(toolCallId);
  }

  #checkOutcome(outcome: Extract<AgUiEvent, { type: "RUN_FINISHED" }>["outcome"]): void {
    const unanswered = this.#calls.filter((id) => !this.#answered.has(id));
    if (outcome?.type === "success") assert.deepEqual(outcome.pendingToolCallIds ?? [], unanswered);
    if (outcome?.type !== "interrupt") return;
    for (const { toolCallId } of outcome.interrupts) assert.ok(unanswered.includes(toolCallId ?? ""));
  }

  #useOnce(id: string): void {
    assert.ok(!this.#used.has(id), `${id} for the second time`);
    this.#used.add(id);
  }
}

type Part = Extract<AgUiEvent, { type: `${"TEXT_MESSAGE" | "REASONING_MESSAGE" | "TOOL_CALL"}_${string}` }>;

function partOf(event: Exclude<Part, { type: "TOOL_CALL_RESULT" }>): {
  kind: Kind;
  id: string;
  place: "start" | "middle" | "end";
} {
  const kind = event.type.startsWith("TEXT") ? "text" : event.type.startsWith("TOOL") ? "call" : "reasoning";
  const id = "toolCallId" in event ? event.toolCallId : event.messageId;
  if ("delta" in event) assert.notEqual(event.delta, "", `${event.type} without text`);
  const place = "delta" in event ? "middle" : event.type.endsWith("_START") ? "start" : "end";
  return { kind, id, place };
}
