/**
 * The models of a simulation: scripted providers that think, answer, call tools, hesitate, fail and break off by
 * chance, with a record of their inputs and answers.
 */
import type { ErrorCode } from "../../src/domain/errors.ts";
import type { Provider, ProviderEvent } from "../../src/providers/provider.ts";
import {
  scriptedProvider,
  type Script,
  type ScriptedPart,
  type ScriptedProvider,
} from "../../src/providers/scripted/scripted.ts";
import { currentAsked, currentProcess, type Asked, type SeenExchange } from "./asked.ts";
import type { Gates } from "./gates.ts";
import type { Random } from "./random.ts";

export interface ActingModel {
  provider: Provider;
  /** True if the provider has forgotten its responses (C3). */
  forget(): void;
}

export function actingModel(gates: Gates, { name, remembers }: { name: string; remembers: boolean }): ActingModel {
  const scripted = scriptedProvider({
    name,
    account: name,
    remembers,
    model: "large",
    script: (call) => answerFor(gates, isSummary(call.items)),
  });
  return { provider: { ...scripted, send: witnessed(scripted) }, forget: () => scripted.forget() };
}

function isSummary(items: readonly { type: string; parts?: string[] }[]): boolean {
  return items.length === 1 && /(?:^|\n)\[CONVERSATION\]\n/.test(items[0]?.parts?.[0] ?? "");
}

function witnessed(scripted: ScriptedProvider): Provider["send"] {
  return (request, signal) => {
    const before = scripted.exchanges.length;
    const events = scripted.send(request, signal)[Symbol.asyncIterator]();
    // The provider records its input before it first waits.
    const first = events.next();
    const shown = scripted.exchanges.length > before ? scripted.exchanges.at(-1) : undefined;
    const exchange: SeenExchange = {
      provider: scripted.name,
      body: request.body,
      shown: shown === undefined ? null : { prompt: shown.prompt, context: shown.context },
      isChained: shown?.call.previousResponseId != null,
      isSummary: shown !== undefined && isSummary(shown.call.items),
      items: [],
      openText: "",
      bytes: [],
      end: null,
    };
    currentAsked()?.exchanges.push(exchange);
    return relayed(first, events, exchange);
  };
}

async function* relayed(
  first: Promise<IteratorResult<ProviderEvent>>,
  events: AsyncIterator<ProviderEvent>,
  exchange: SeenExchange,
): AsyncGenerator<ProviderEvent, void, undefined> {
  for (let next = await first; next.done !== true; next = await events.next()) {
    note(next.value, exchange);
    yield next.value;
  }
}

function note(event: ProviderEvent, exchange: SeenExchange): void {
  switch (event.type) {
    case "bytes":
      exchange.bytes.push(event.bytes);
      break;
    case "text_delta":
      exchange.openText += event.delta;
      break;
    case "item":
      exchange.items.push(event.item);
      if (event.item.type === "assistant") exchange.openText = "";
      break;
    case "finished":
    case "failed":
      exchange.end = event;
      break;
    default:
      break;
  }
}

/** The largest number of model calls in a turn that end with tool calls. */
const roundsMax = 4;

function answerFor(gates: Gates, summary: boolean): ReturnType<Script> {
  const asked = currentAsked();
  if (asked === undefined) return "no request";
  const { random, exchanges } = asked;
  const round = exchanges.length + 1;
  if (summary) return random.chance(0.1) ? [{ fails: "provider_unavailable" }] : `summary by ${asked.marker}.${round}`;
  if (asked.isEndless) return [{ calls: "work", with: { again: true } }];
  const wait = (): Promise<void> => gates.wait(currentProcess());
  const parts: ScriptedPart[] = [];
  const fault = faultFor(random);
  if (fault === "mid-call") return brokenCall(asked, wait());
  if (fault !== null) return random.chance(0.3) ? [{ thinks: `${asked.marker} thinks in vain` }, ...fault] : fault;
  if (random.chance(0.3)) parts.push({ waits: wait() });
  if (random.chance(0.25)) parts.push({ thinks: `${asked.marker} thinks ${round}`, opaque: { round } });
  const calls = random.chance(0.45) && round <= roundsMax ? random.below(3) + 1 : 0;
  if (calls === 0 || random.chance(0.5)) {
    const pieces: (string | Promise<void>)[] = [`${asked.marker} `, `says `, `${round}`];
    if (random.chance(0.3)) pieces.splice(random.below(pieces.length), 0, wait());
    parts.push({ says: pieces });
    if (random.chance(0.04)) return [...parts, { cuts: true }];
  }
  for (let at = 1; at <= calls; at += 1) parts.push(callPart(asked, at));
  if (random.chance(0.1)) parts.push({ waits: wait() });
  if (calls === 0 && random.chance(0.05)) parts.push({ stops: "length" });
  return parts;
}

const faults: readonly (readonly [number, ErrorCode | "cut" | "empty" | "mid-call" | null])[] = [
  [87, null],
  [4, "provider_rate_limited"],
  [3, "provider_unavailable"],
  [1, "provider_quota_exhausted"],
  [1, "provider_refused_content"],
  [1, "context_window_exceeded"],
  [1, "cut"],
  [1, "empty"],
  [1, "mid-call"],
];

function faultFor(random: Random): ScriptedPart[] | "mid-call" | null {
  const fault = random.weighted(faults);
  if (fault === null || fault === "mid-call") return fault;
  if (fault === "cut") return [{ cuts: true }];
  if (fault === "empty") return [];
  return [{ fails: fault, retryAfterMs: 5 }];
}

/** The arguments of a call begin, and never end. */
async function* brokenCall(
  { marker, exchanges }: Asked,
  wait: Promise<void>,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const callId = `call_${marker}_${exchanges.length}_broken`;
  yield { type: "tool_call_started", callId, name: "work" };
  yield { type: "tool_call_delta", callId, delta: '{"half": ' };
  await wait;
}

const calledTools: readonly (readonly [number, string])[] = [
  [5, "work"],
  [1, "break"],
  [2, "flood"],
  [3, "guarded"],
  [3, "ask_person"],
  [1, "ask_device"],
  [1, "no_such_tool"],
];

function callPart({ random, marker, exchanges }: Asked, at: number): ScriptedPart {
  const name = random.weighted(calledTools);
  const args = random.chance(0.05) ? '{"cut": "in the mid' : { of: marker, round: exchanges.length + 1, at };
  return { calls: name, with: args };
}
