/**
 * Records everything that a run produces: its events, the bytes of its responses, the items of its answer, its usage.
 * Events are appended to the live log in batches as they arrive. The run never waits for a listener (R5).
 */
import { failureOf, type Failure, type Warning } from "../../../domain/errors.ts";
import { joinDeltas, joinedDelta, type SequencedEvent, type TurnEvent } from "../../../domain/events.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import type { Step } from "../../../domain/step.ts";
import { addUsage, noUsage, UsageByModel, type RunSummary, type Usage } from "../../../domain/usage.ts";
import type { EventLog, MayWrite } from "../../../live/event-log.ts";
import { endOfRound, endOfTick } from "../../../system/rounds.ts";
import { GrowingBytes } from "../kept/growing-bytes.ts";
import { encodeResponse, type ProgressPart, type RunBlob } from "../kept/turn-blobs.ts";
import { hasOutput } from "../kept/turn-state.ts";

export interface RunRecorderParts {
  turnId: string;
  log: EventLog;
  /** Returns false once the lease of the turn is lost (R1). */
  mayWrite: MayWrite;
  /** Called when the log has new events. Null: it has refused some. */
  onAppended(this: void, events: readonly SequencedEvent[] | null): void;
  /** Called once, when the log refuses events of a turn that still runs here. */
  onLogFailure(this: void, failure: Failure): void;
}

interface OpenText {
  kind: "text" | "reasoning" | "tool_call";
  /** All of its text so far. */
  text: string;
  /** The first half of a character, which waits for the second one: many readers of JSON refuse halves. */
  half: string;
}

const maskedWarning: Warning = {
  code: "response_masked",
  message:
    "the provider's answer repeated a configured key; it is replaced by [secret] in the stored response, and the digest is of that",
};

export class RunRecorder {
  readonly turnId: string;
  readonly #log: EventLog;
  readonly #onAppended: RunRecorderParts["onAppended"];
  readonly #onLogFailure: (failure: Failure) => void;
  readonly #mayWrite: MayWrite;
  readonly #events: TurnEvent[] = [];
  readonly #responses = new Map<number, GrowingBytes>();
  /** The messages and calls that were started and not ended, by id. */
  readonly #open = new Map<string, OpenText>();
  /** The whole outputs of tools, by call. */
  readonly #outputs = new Map<string, string>();
  #outputBytes = 0;
  /** How much of the run is stored as progress already (R6). */
  readonly #kept = { events: 0, items: 0, responses: new Set<number>(), outputs: new Set<string>() };
  #queue: TurnEvent[] = [];
  #isAppending = false;
  /** The append that runs, or ran last. */
  #appending = Promise.resolve();
  /** The number of events that are in the log, or that it refused. */
  #appended = 0;
  #logFailed = false;
  readonly warnings: Warning[] = [];
  /** The complete items of the answer so far. */
  readonly items: HistoryItem[] = [];
  /**
   * The step that ended last. It is stored before the next model call or before tools run, else with the end of the
   * turn.
   */
  unstoredStep: Step | null = null;
  /** The time of the first output of the running step, by the clock of the process. Null if there is none yet. */
  outputAt: number | null = null;
  #callBegins = 0;
  /** True if listeners have received a tool call of the running model call, or its beginning. */
  callHasShownTool = false;
  /** True if the provider had forgotten the chain, and the history was sent again (C3). */
  isRebuilt = false;
  /** True if some of the run is stored as progress (R6). */
  hasProgress = false;
  usage: Usage = noUsage;
  /** The size of all responses so far, in bytes. They are kept in memory until the turn is stored. */
  bytesReceived = 0;
  modelRequests = 0;
  /** The tokens of the last answered call, input and output. Null if no call was answered yet. */
  contextTokens: number | null = null;
  readonly #byModel = new UsageByModel();
  answeredAt: number | null = null;

  constructor({ turnId, log, mayWrite, onAppended, onLogFailure }: RunRecorderParts) {
    this.turnId = turnId;
    this.#log = log;
    this.#mayWrite = mayWrite;
    this.#onAppended = onAppended;
    this.#onLogFailure = onLogFailure;
  }

  emit(event: TurnEvent): void {
    this.#events.push(event);
    this.#queue.push(event);
    if (this.#isAppending) return;
    this.#isAppending = true;
    this.#appending = this.#append();
  }

  /** Pieces of one text that arrive together are one event. A provider makes hundreds of them, which mean nothing (V2). */
  #emitPiece(piece: TurnEvent): void {
    const last = this.#queue.at(-1);
    const whole = last === undefined || this.#events.length === this.#kept.events ? null : joinedDelta(last, piece);
    if (whole === null) return this.emit(piece);
    this.#queue[this.#queue.length - 1] = whole;
    this.#events[this.#events.length - 1] = whole;
  }

  async #append(): Promise<void> {
    // Events that arrive in one piece of an answer are appended together, before anything else that the round of the event loop has.
    await endOfTick();
    const batch = this.#queue;
    this.#queue = [];
    if (!this.#logFailed) {
      try {
        await this.#log.append(this.turnId, batch, this.#mayWrite);
      } catch (error) {
        // A log with a gap would give later events wrong positions. From here on only the stored run counts.
        this.#logFailed = true;
        // The loss of a lease is reported where it is found.
        if (this.#mayWrite()) this.#onLogFailure(failureOf(error));
      }
      const before = this.#appended;
      this.#onAppended(this.#logFailed ? null : batch.map((event, at) => ({ seq: before + at + 1, event })));
    }
    this.#appended += batch.length;
    if (this.#queue.length > 0) this.#appending = this.#append();
    else this.#isAppending = false;
  }

  /** Resolves when all events so far are in the log. It does not wait for those that follow. */
  async flushed(): Promise<void> {
    const count = this.#events.length;
    while (this.#appended < count) await this.#appending;
  }

  /** Resolves when doors had the time to send all events so far. A short answer would else be packed and sealed before it is sent. */
  async taken(): Promise<void> {
    await this.flushed();
    // A door takes the events in ticks of this round, and its socket sends them there too.
    await endOfRound();
  }

  /** Keeps a whole output of which the model receives a part. Returns false if the turn already keeps too much. */
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

  /** Adds bytes of a response. If the provider replaced a key in them, they are not exact, and the turn says so. */
  addBytes(step: number, { bytes, isMasked = false }: { bytes: Uint8Array; isMasked?: boolean }): void {
    const isNews = isMasked && !this.warnings.some(({ code }) => code === maskedWarning.code);
    if (isNews) this.warn(maskedWarning);
    this.bytesReceived += bytes.length;
    const response = this.#responses.get(step) ?? new GrowingBytes();
    this.#responses.set(step, response);
    response.add(bytes);
  }

  addUsage(model: string, usage: Usage): void {
    this.usage = addUsage(this.usage, usage);
    this.#byModel.add(model, usage);
  }

  textDelta(messageId: string, delta: string): void {
    this.#begin(messageId, "text");
    this.#delta(messageId, delta);
  }

  reasoningDelta(messageId: string, delta: string): void {
    this.#begin(messageId, "reasoning");
    this.#delta(messageId, delta);
  }

  #begin(messageId: string, kind: "text" | "reasoning"): void {
    this.outputAt ??= performance.now();
    if (this.#open.has(messageId)) return;
    this.#open.set(messageId, { kind, text: "", half: "" });
    this.emit({ type: kind === "text" ? "text_started" : "reasoning_started", messageId });
  }

  /** Adds a piece of a text, and shows what is whole of it. */
  #delta(id: string, delta: string): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    open.text += delta;
    const known = open.half + delta;
    open.half = halfAtEnd(known);
    this.#show(id, open.kind, known.slice(0, known.length - open.half.length));
  }

  #show(id: string, kind: OpenText["kind"], delta: string): void {
    if (delta === "") return;
    if (kind === "tool_call") this.#emitPiece({ type: "tool_call_delta", callId: id, delta });
    else this.#emitPiece({ type: kind === "text" ? "text_delta" : "reasoning_delta", messageId: id, delta });
  }

  toolCallStarted(callId: string, name: string): void {
    if (this.#open.has(callId)) return;
    this.outputAt ??= performance.now();
    this.callHasShownTool = true;
    this.#open.set(callId, { kind: "tool_call", text: "", half: "" });
    this.emit({ type: "tool_call_started", callId, name });
  }

  toolCallDelta(callId: string, delta: string): void {
    this.#delta(callId, delta);
  }

  /** Ends the message or call `id`. */
  end(id: string): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    // The second half never came.
    this.#show(id, open.kind, open.half);
    if (open.kind === "tool_call") this.emit({ type: "tool_call_ended", callId: id });
    else this.emit({ type: open.kind === "text" ? "text_ended" : "reasoning_ended", messageId: id });
  }

  isOpen(id: string): boolean {
    return this.#open.has(id);
  }

  /** Returns what the deltas of an open message or call have given so far. Null: it is not open. */
  textOf(id: string): string | null {
    return this.#open.get(id)?.text ?? null;
  }

  /** Ends all messages and calls that were cut short, and keeps the text that was already shown as an item (T10). */
  endAll(): void {
    for (const [id, open] of [...this.#open]) {
      if (open.kind === "text" && open.text !== "") this.items.push({ type: "assistant", text: open.text });
      this.end(id);
    }
  }

  /** Starts a model call. From here on `callHasOutput` refers to it. */
  beginCall(): void {
    this.#callBegins = this.items.length;
    this.callHasShownTool = false;
  }

  /** Forgets a failed call that is retried: its reasoning belongs to no answer. */
  forgetCall(): void {
    this.items.length = this.#callBegins;
  }

  /** True if the running model call has output. */
  get callHasOutput(): boolean {
    return this.#hasOutputFrom(this.#callBegins);
  }

  get hasOutput(): boolean {
    return this.#hasOutputFrom(0);
  }

  #hasOutputFrom(from: number): boolean {
    const hasText = [...this.#open.values()].some((open) => open.kind === "text" && open.text !== "");
    return hasText || hasOutput(this.items.slice(from));
  }

  /** Returns all events and the terminal event, which listeners receive once the row is written. */
  eventsWith(terminal: TurnEvent): TurnEvent[] {
    return [...this.#events, terminal];
  }

  /** Returns the run in the form that is stored. */
  runBlob(events: readonly TurnEvent[]): RunBlob {
    return {
      format: 1,
      turnId: this.turnId,
      events: joinDeltas(events),
      responses: [...this.#responses].map(([step, bytes]) => encodeResponse(step, bytes.all)),
      ...(this.#outputs.size > 0 && { outputs: [...this.#outputs].map(([callId, text]) => ({ callId, text })) }),
    };
  }

  /** Returns what the run did since the last time, to be stored before the next model call. Null: it did nothing (R6). */
  takeProgress(): ProgressPart | null {
    const kept = this.#kept;
    const eventsBefore = kept.events;
    const items = this.items.slice(kept.items);
    const responses = [...this.#responses].filter(([step]) => !kept.responses.has(step));
    const outputs = [...this.#outputs].filter(([callId]) => !kept.outputs.has(callId));
    if (items.length === 0 && responses.length === 0) return null;
    const events = joinDeltas(this.#events.slice(eventsBefore));
    kept.events = this.#events.length;
    kept.items = this.items.length;
    for (const [step] of responses) kept.responses.add(step);
    for (const [callId] of outputs) kept.outputs.add(callId);
    return {
      eventsBefore,
      events,
      responses: responses.map(([step, bytes]) => encodeResponse(step, bytes.all)),
      outputs: outputs.map(([callId, text]) => ({ callId, text })),
      items,
      steps: this.unstoredStep === null ? [] : [this.unstoredStep],
    };
  }

  summary(durationMs: number): RunSummary {
    const { modelRequests, usage, contextTokens } = this;
    const isSum = modelRequests > 1 && contextTokens !== null;
    return { durationMs, modelRequests, usage, byModel: this.#byModel.sums, ...(isSum && { contextTokens }) };
  }
}

/** Returns the first half of a character at the end of a text, or nothing. */
function halfAtEnd(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : "";
}
