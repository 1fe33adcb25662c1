/**
 * Everything that a run leaves behind: its events, the bytes of its responses, the items of its answer, its
 * usage. Events go to the live log as they come, in batches; the run never waits for a listener (R5).
 */
import { failureOf, type Failure, type Warning } from "../../../domain/errors.ts";
import { joinDeltas, type TurnEvent } from "../../../domain/events.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import type { Step } from "../../../domain/step.ts";
import { addUsage, noUsage, type RunSummary, type Usage } from "../../../domain/usage.ts";
import type { EventLog } from "../../../live/event-log.ts";
import { encodeResponse, type RunBlob } from "../kept/turn-blobs.ts";

export class RunRecorder {
  readonly turnId: string;
  readonly #log: EventLog;
  readonly #onLogFailure: (failure: Failure) => void;
  readonly #events: TurnEvent[] = [];
  readonly #responses = new Map<number, Uint8Array[]>();
  /** Messages and calls that were begun and not ended, by id: how to end them, and the text so far. */
  readonly #open = new Map<string, { kind: "text" | "reasoning" | "tool_call"; text: string }>();
  /** By call. */
  readonly #outputs = new Map<string, string>();
  #outputBytes = 0;
  #queue: TurnEvent[] = [];
  #flushing: Promise<void> | null = null;
  #logFailed = false;
  readonly warnings: Warning[] = [];
  /** Whole items of the answer so far. */
  readonly items: HistoryItem[] = [];
  /** The step that ended last: it is stored before the next one or before tools run, else with the end of the turn. */
  unstoredStep: Step | null = null;
  /** The time of the first output of the step that runs, by the clock of the process. Null: there is none yet. */
  outputAt: number | null = null;
  #callBegins = 0;
  /** Whether listeners were shown a tool call of the model call that runs, if only its beginning. */
  callHasShownTool = false;
  /** Whether the provider had forgotten the chain, and the history was sent again (C3). */
  isRebuilt = false;
  usage: Usage = noUsage;
  /** Of all responses so far: they are kept in memory until the turn is stored. */
  bytesHeard = 0;
  modelRequests = 0;
  readonly byModel: Record<string, Usage> = {};
  answeredAt: number | null = null;

  constructor(turnId: string, log: EventLog, onLogFailure: (failure: Failure) => void) {
    this.turnId = turnId;
    this.#log = log;
    this.#onLogFailure = onLogFailure;
  }

  emit(event: TurnEvent): void {
    this.#events.push(event);
    this.#queue.push(event);
    this.#flushing ??= this.#flush();
  }

  async #flush(): Promise<void> {
    // One turn of the event loop later, whatever came together is appended together.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      if (this.#logFailed) continue;
      try {
        await this.#log.append(this.turnId, batch);
      } catch (error) {
        // A log with a gap would give later events wrong places: from here on only the kept run counts.
        this.#logFailed = true;
        this.#onLogFailure(failureOf(error));
      }
    }
    this.#flushing = null;
  }

  /** Resolves when every event so far is in the log. */
  async flushed(): Promise<void> {
    await this.#flushing;
  }

  /** Keeps the whole of an output that the model gets a part of. False: the turn keeps too much already. */
  keepOutput(callId: string, text: string): boolean {
    if (this.#outputBytes + text.length > limits.toolOutputsPerTurnBytesMax) return false;
    this.#outputBytes += text.length;
    this.#outputs.set(callId, text);
    return true;
  }

  output(callId: string): string | null {
    return this.#outputs.get(callId) ?? null;
  }

  warn(warning: Warning): void {
    this.warnings.push(warning);
    this.emit({ type: "warning", warning });
  }

  addBytes(step: number, bytes: Uint8Array): void {
    this.bytesHeard += bytes.length;
    const chunks = this.#responses.get(step);
    if (chunks === undefined) this.#responses.set(step, [bytes]);
    else chunks.push(bytes);
  }

  addUsage(model: string, usage: Usage): void {
    this.usage = addUsage(this.usage, usage);
    this.byModel[model] = addUsage(this.byModel[model] ?? noUsage, usage);
  }

  textDelta(messageId: string, delta: string): void {
    this.#delta(messageId, "text", delta);
    if (delta !== "") this.emit({ type: "text_delta", messageId, delta });
  }

  reasoningDelta(messageId: string, delta: string): void {
    this.#delta(messageId, "reasoning", delta);
    if (delta !== "") this.emit({ type: "reasoning_delta", messageId, delta });
  }

  #delta(messageId: string, kind: "text" | "reasoning", delta: string): void {
    this.outputAt ??= performance.now();
    const open = this.#open.get(messageId);
    if (open !== undefined) {
      open.text += delta;
      return;
    }
    this.#open.set(messageId, { kind, text: delta });
    this.emit({ type: kind === "text" ? "text_started" : "reasoning_started", messageId });
  }

  toolCallStarted(callId: string, name: string): void {
    if (this.#open.has(callId)) return;
    this.outputAt ??= performance.now();
    this.callHasShownTool = true;
    this.#open.set(callId, { kind: "tool_call", text: "" });
    this.emit({ type: "tool_call_started", callId, name });
  }

  toolCallDelta(callId: string, delta: string): void {
    const open = this.#open.get(callId);
    if (open === undefined || delta === "") return;
    open.text += delta;
    this.emit({ type: "tool_call_delta", callId, delta });
  }

  /** Ends what `id` began. */
  end(id: string): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    if (open.kind === "tool_call") this.emit({ type: "tool_call_ended", callId: id });
    else this.emit({ type: open.kind === "text" ? "text_ended" : "reasoning_ended", messageId: id });
  }

  isOpen(id: string): boolean {
    return this.#open.has(id);
  }

  /** Ends everything that was cut short, and keeps the text that was already shown as an item (T10). */
  endAll(): void {
    for (const [id, open] of [...this.#open]) {
      if (open.kind === "text" && open.text !== "") this.items.push({ type: "assistant", text: open.text });
      this.end(id);
    }
  }

  /** From here on `callHasOutput` means the next model call. */
  beginCall(): void {
    this.#callBegins = this.items.length;
    this.callHasShownTool = false;
  }

  /** The call failed and is made again: what it thought belongs to no answer. */
  forgetCall(): void {
    this.items.length = this.#callBegins;
  }

  /** Whether the model call that runs has output. */
  get callHasOutput(): boolean {
    return this.#hasOutputFrom(this.#callBegins);
  }

  get hasOutput(): boolean {
    return this.#hasOutputFrom(0);
  }

  #hasOutputFrom(from: number): boolean {
    const hasText = [...this.#open.values()].some((open) => open.kind === "text" && open.text !== "");
    const isOutput = (item: HistoryItem): boolean =>
      item.type === "tool_call" || (item.type === "assistant" && item.text !== "");
    return hasText || this.items.slice(from).some(isOutput);
  }

  /** All events, with the terminal event, which listeners get once the row is written. */
  eventsWith(terminal: TurnEvent): TurnEvent[] {
    return [...this.#events, terminal];
  }

  /** The run as it is kept. */
  runBlob(events: readonly TurnEvent[]): RunBlob {
    return {
      format: 1,
      turnId: this.turnId,
      events: joinDeltas(events),
      responses: [...this.#responses].map(([step, chunks]) => encodeResponse(step, chunks)),
      ...(this.#outputs.size > 0 && { outputs: [...this.#outputs].map(([callId, text]) => ({ callId, text })) }),
    };
  }

  summary(durationMs: number): RunSummary {
    return { durationMs, modelRequests: this.modelRequests, usage: this.usage, byModel: this.byModel };
  }
}
