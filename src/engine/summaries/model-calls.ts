/**
 * The calls of the model that make one summary (M5). Each request is stored before it is sent (E7), each response as it
 * arrived (D3), and calls are retried like those of a turn (C7).
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError, failure, type Failure } from "../../domain/errors.ts";
import { sha256 } from "../../domain/ids.ts";
import type { CompletedSummary, Summary, SummaryCall, SummaryCallEnd } from "../../domain/summary.ts";
import { addUsage, noUsage, unknownUsage, type Usage } from "../../domain/usage.ts";
import type { ModelCall, PreparedRequest, Provider } from "../../providers/provider.ts";
import { budgetTargets } from "../access/budgets.ts";
import { blobKeys } from "../turn/kept/turn-blobs.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { preparedRequest } from "../turn/request/prepared-request.ts";
import { priced, wholeEnd } from "../turn/run/model-step.ts";
import { answerReader, type CallEnd, type ReadAnswer } from "../turn/run/read-answer.ts";
import { textCallBound } from "../turn/run/call-bound.ts";
import { holdPlainCall, type HeldCall } from "../turn/run/hold-budgets.ts";
import { retryDelay } from "../turn/run/retry-delay.ts";

export interface SummaryJob {
  summary: Summary;
  /** The summary that this one begins with. */
  earlier: CompletedSummary | null;
  provider: Provider;
  /** Who pays for it. */
  caller: Caller;
  signal: AbortSignal;
}

/** The answer of one call. `tooLong`: the request does not fit into the model's window. */
export type Answered = { text: string } | { tooLong: Failure } | { failed: Failure };

export class ModelCalls {
  /** The summary with the calls so far. */
  summary: Summary;
  readonly #core: EngineCore;
  readonly #provider: Provider;
  readonly #signal: AbortSignal;
  readonly #caller: Caller;

  constructor(core: EngineCore, made: Pick<SummaryJob, "summary" | "provider" | "signal" | "caller">) {
    this.#core = core;
    this.summary = made.summary;
    this.#provider = made.provider;
    this.#signal = made.signal;
    this.#caller = made.caller;
  }

  /** What all calls have used. A call whose end is unknown may have used more. */
  usage(): Usage {
    return this.summary.calls.reduce((sum, { end }) => addUsage(sum, end?.usage ?? unknownUsage), noUsage);
  }

  /** Sends the request, again if that may help. Throws what a store throws. */
  async ask(call: ModelCall): Promise<Answered> {
    const { deps, windows } = this.#core;
    const request = preparedRequest(this.#provider, call);
    for (let attempt = 1; ; attempt += 1) {
      if (this.#signal.aborted) return { failed: stopped };
      const written: string[] = [];
      const end = await this.#callOnce(request, written);
      if (this.#signal.aborted) return { failed: stopped };
      if (end.type === "finished") return answerOf(written.join("").trim(), end);
      if (end.contextTokens !== undefined) {
        windows.learn({ provider: this.#provider, model: request.model }, end.contextTokens);
      }
      if (end.failure.code === "context_window_exceeded") return { tooLong: end.failure };
      const { providerAttemptsMax: attemptsMax } = deps.limits;
      const { failure: reason, retryAfterMs } = end;
      const delay = retryDelay({ attempt, attemptsMax, failure: reason, retryAfterMs, random: deps.random() });
      if (delay === null) return { failed: reason };
      deps.observer.note({ type: "model_retried", provider: this.#provider.name, code: reason.code });
      await deps.sleep(delay, this.#signal);
    }
  }

  async #callOnce(request: PreparedRequest, written: string[]): Promise<CallEnd> {
    const { deps } = this.#core;
    const { id, throughTurnId } = this.summary;
    const index = this.summary.calls.length + 1;
    const held = await this.#hold(request, index);
    if ("failure" in held) return { type: "failed", failure: held.failure, retryAfterMs: null, usage: noUsage };
    const stored = await this.#storeRequest(request, index).catch(async (error: unknown) => {
      await held.settle({ model: request.model, usage: noUsage });
      throw error;
    });
    const chunks: Uint8Array[] = [];
    const activity = deps.observer.modelCall({
      turnId: throughTurnId,
      step: index,
      provider: this.#provider.name,
      model: request.model,
    });
    const [provider, signal] = [this.#provider, this.#signal];
    const read = answerReader(deps, { provider, signal, send: () => provider.send(request, signal) });
    const end = wholeEnd(await activity.within(() => listen(read, { chunks, written })), provider.name);
    const model = end.type === "finished" ? end.model : request.model;
    const usage = priced(this.#provider, model, end.usage);
    const responded =
      end.type === "finished"
        ? { responseId: end.responseId, stopReason: end.stopReason, code: null }
        : { responseId: null, stopReason: null, code: end.failure.code };
    await held.settle({ model, usage });
    activity.end({ model, ...responded, usage, firstOutputMs: null });
    const bytes = Buffer.concat(chunks);
    const response = bytes.length === 0 ? null : blobKeys.summaryResponse(throughTurnId, index, id);
    if (response !== null) await deps.blobs.put(response, bytes);
    await this.#note({ ...stored, model, end: { endedAt: deps.now(), outcome: outcomeOf(end), usage, response } });
    return end;
  }

  /** Holds the bound of the call in the budgets that it counts for (F11). */
  async #hold(request: PreparedRequest, index: number): Promise<HeldCall | { failure: Failure }> {
    const { id, sessionId } = this.summary;
    const provider = this.#provider;
    const window = this.#core.windows.of({ provider, model: request.model });
    return await holdPlainCall(this.#core, {
      call: { turnId: id, step: index },
      targets: budgetTargets(this.#caller, sessionId),
      bound: textCallBound({ provider, request, window }),
      asked: { model: request.model, isFree: provider.isFree === true },
    });
  }

  async #storeRequest(request: PreparedRequest, index: number): Promise<SummaryCall> {
    const { deps } = this.#core;
    const { id, throughTurnId } = this.summary;
    const blob = blobKeys.summaryRequest(throughTurnId, index, id);
    const bytes = Buffer.from(request.body);
    await deps.blobs.put(blob, bytes);
    const stored: SummaryCall = {
      index,
      provider: this.#provider.name,
      model: request.model,
      startedAt: deps.now(),
      request: { blob, bytes: bytes.length, sha256: sha256(bytes) },
      end: null,
    };
    await this.#note(stored);
    return stored;
  }

  /** Stores the call, as a new one or in the place of the same one. Throws if the summary is not this process's any more. */
  async #note(call: SummaryCall): Promise<void> {
    const others = this.summary.calls.filter(({ index }) => index !== call.index);
    const summary = { ...this.summary, calls: [...others, call] };
    if (!(await this.#core.deps.records.summaries.update(summary))) throw new SummaryGone();
    this.summary = summary;
  }
}

/** The summary was purged, or another process has ended it. */
export class SummaryGone extends AptoveError {
  constructor() {
    super("not_found", "the summary is not being made any more");
  }
}

const stopped = failure("interrupted", "the summary was stopped before it was complete");

function answerOf(text: string, { stopReason }: Extract<CallEnd, { type: "finished" }>): Answered {
  if (stopReason === "length") {
    return { tooLong: failure("output_limit_reached", "the summary was cut off by the output limit") };
  }
  return { text };
}

function outcomeOf(end: CallEnd): SummaryCallEnd["outcome"] {
  if (end.type === "finished") return { status: "completed", stopReason: end.stopReason };
  return { status: "failed", failure: end.failure };
}

/** Reads the answer to its end. */
async function listen(
  read: ReadAnswer,
  { chunks, written }: { chunks: Uint8Array[]; written: string[] },
): Promise<CallEnd> {
  return await read((event) => {
    if (event.type === "bytes") chunks.push(event.bytes);
    if (event.type === "item" && event.item.type === "assistant") written.push(event.item.text);
    return event.type === "finished" || event.type === "failed" ? event : null;
  });
}
