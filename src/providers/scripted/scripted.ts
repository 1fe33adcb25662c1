/**
 * The scripted provider: a model that does what a test prescribes, without a wire. It waits only for what the test holds
 * back (Y1). It keeps the contract, and remembers responses if an option says so. It refuses what every real provider
 * refuses: an unknown earlier response, and a tool call without its result.
 */
import { AptoveError } from "../../domain/errors.ts";
import { type HistoryItem, openToolCalls } from "../../domain/history.ts";
import { prepareLocalCall, readLocalCall, sendLocally } from "../local-wire.ts";
import type { ModelCall, PreparedRequest, Provider, ProviderEvent } from "../provider.ts";
import { estimateUsage } from "../usage-estimate.ts";
import { playScript, type Script } from "./script.ts";

export type { Script, ScriptedAnswer, ScriptedPart } from "./script.ts";

export interface ScriptedOptions {
  /** The answers; "answer n" by default. */
  script?: Script;
  /** True if responses can be continued by their ids (C1); false by default. */
  remembers?: boolean;
  name?: string;
  account?: string;
  model?: string;
  /** False if `exchanges` must stay empty, for long runs; true by default. */
  isRecording?: boolean;
}

/** A call that was sent. Refused calls are included. */
export interface ScriptedExchange {
  request: PreparedRequest;
  call: ModelCall;
  /** Everything that the model saw: what it remembered, then the items of the call itself. */
  context: HistoryItem[];
  /** The system message in force: the one of the call, or the one of the start of the chain. */
  prompt: string | null;
}

export interface ScriptedProvider extends Provider {
  /** The calls in the order of sending. */
  readonly exchanges: readonly ScriptedExchange[];
  /** Forgets one response, or all. */
  forget(responseId?: string): void;
}

export function scriptedProvider(options: ScriptedOptions = {}): ScriptedProvider {
  const model = new ScriptedModel(options);
  const { name = "scripted", account = "scripted", remembers = false } = options;
  return {
    name,
    account,
    defaultModel: options.model ?? "scripted-1",
    remembers,
    exchanges: model.exchanges,
    forget: (responseId) => model.forget(responseId),
    prepare: (call) => prepareLocalCall(call, name),
    send: (request, signal) => sendLocally(model.answer(request), signal),
  };
}

interface Remembered {
  before: Remembered | null;
  call: ModelCall;
  output: readonly HistoryItem[];
}

class ScriptedModel {
  readonly exchanges: ScriptedExchange[] = [];
  readonly #memory = new Map<string, Remembered>();
  readonly #script: Script;
  readonly #name: string;
  readonly #remembers: boolean;
  readonly #isRecording: boolean;
  #calls = 0;

  constructor({ script, name = "scripted", remembers = false, isRecording = true }: ScriptedOptions) {
    this.#script = script ?? ((_call, n) => `answer ${n}`);
    this.#name = name;
    this.#remembers = remembers;
    this.#isRecording = isRecording;
  }

  forget(responseId?: string): void {
    if (responseId === undefined) this.#memory.clear();
    else this.#memory.delete(responseId);
  }

  async *answer(request: PreparedRequest): AsyncGenerator<ProviderEvent, void, undefined> {
    const call = readLocalCall(request.body);
    const before = call.previousResponseId === null ? null : (this.#memory.get(call.previousResponseId) ?? null);
    if (this.#isRecording) this.exchanges.push(exchangeOf(request, call, before));
    refuse(call, before);
    this.#calls += 1;
    const given = this.#script(call, this.#calls);
    if (typeof given === "object" && Symbol.asyncIterator in given) return yield* given;
    const responseId = this.#remembers && call.store ? `resp_${this.#name}_${this.#calls}` : null;
    yield { type: "started", responseId };
    const output: HistoryItem[] = [];
    const tag = `${this.#name}_${this.#calls}`;
    const end = yield* playScript(given, { name: this.#name, model: call.model, tag, output });
    if (end === null) return;
    if (responseId !== null) this.#memory.set(responseId, { before, call, output });
    const usage = end.usage ?? estimateUsage(request.body, output);
    yield { type: "finished", stopReason: end.stopReason, usage, responseId, model: call.model };
  }
}

function refuse(call: ModelCall, before: Remembered | null): void {
  if (call.previousResponseId !== null && before === null) {
    throw new AptoveError("chain_forgotten", `there is no response ${call.previousResponseId}`);
  }
  // Earlier calls of a chain were answered, or that request would have been refused.
  const [open] = openToolCalls([...(before?.output ?? []), ...call.items]);
  if (open !== undefined) throw new AptoveError("provider_rejected", `there is no result for the call ${open.callId}`);
}

function exchangeOf(request: PreparedRequest, call: ModelCall, before: Remembered | null): ScriptedExchange {
  const chain: HistoryItem[][] = [[...call.items]];
  let prompt = call.prompt;
  for (let at = before; at !== null; at = at.before) {
    chain.unshift([...at.call.items, ...at.output]);
    prompt ??= at.call.prompt;
  }
  return { request, call, context: chain.flat(), prompt };
}
