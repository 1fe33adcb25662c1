/**
 * Reads the answer of a driver to its end. A driver that throws, or ends without an end event, breaks its contract; that counts as a
 * failed call. A driver that goes on after its signal has aborted is left behind, so that every run ends (T11, R4).
 */
import { failure } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { Provider, ProviderEvent, ProviderFailed, ProviderFinished } from "../../../providers/provider.ts";
import { unknownUsage } from "../../../domain/usage.ts";
import { onAbort } from "../../../system/abort.ts";
import type { EngineDependencies } from "../../dependencies.ts";

export type CallEnd = ProviderFinished | ProviderFailed;

/** Takes the next event of an answer. Returns the end of the call if the event is one, or if nothing more is to be read. */
export type TakeEvent = (event: ProviderEvent) => CallEnd | null;

/** Reads an answer: calls the function with each event, and returns the end. Never throws. */
export type ReadAnswer = (take: TakeEvent) => Promise<CallEnd>;

export interface AnswerSource {
  provider: Pick<Provider, "name">;
  signal: AbortSignal;
  send(): AsyncIterable<ProviderEvent>;
}

interface Reading {
  iterator: AsyncIterator<ProviderEvent> | null;
  isLeft: boolean;
}

export function answerReader(deps: Pick<EngineDependencies, "deadline" | "report">, source: AnswerSource): ReadAnswer {
  return async (take) => {
    const reading: Reading = { iterator: null, isLeft: false };
    const late = Promise.withResolvers<null>();
    const remove = onAbort(source.signal, () => {
      onAbort(deps.deadline(limits.providerEndMs), () => late.resolve(null));
    });
    const end = await Promise.race([readThrough(source, reading, take), late.promise]);
    remove();
    return end ?? leftBehind(deps, source, reading);
  };
}

async function readThrough({ provider, send }: AnswerSource, reading: Reading, take: TakeEvent): Promise<CallEnd> {
  try {
    const iterator = iteratorOf(send());
    if (iterator === null) return broken(provider, "`send` returns an async iterable of events");
    reading.iterator = iterator;
    for await (const event of { [Symbol.asyncIterator]: () => iterator }) {
      if (reading.isLeft) return brokenCall(failure("interrupted", "the call was left"));
      if (typeof event?.type !== "string") return broken(provider, "`send` gives events, each with its `type`");
      const end = take(event);
      if (end !== null) return end;
    }
    return brokenCall(failure("provider_stream_cut", `the driver of ${provider.name} ended without an end event`));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return brokenCall(failure("internal", `the driver of ${provider.name} threw: ${reason}`));
  }
}

/** Returns the iterator of an answer, or null if it has none: the driver may be written in JavaScript. */
function iteratorOf(answer: Partial<AsyncIterable<ProviderEvent>> | null | undefined): Reading["iterator"] {
  return answer?.[Symbol.asyncIterator]?.() ?? null;
}

function broken({ name }: Pick<Provider, "name">, contract: string): CallEnd {
  return brokenCall(failure("internal", `the driver of ${name} breaks its contract: ${contract}`));
}

/** Ends the call without its driver. What it has sent so far is kept, and nothing more of it is taken. */
function leftBehind({ report }: Pick<EngineDependencies, "report">, source: AnswerSource, reading: Reading): CallEnd {
  reading.isLeft = true;
  const seconds = limits.providerEndMs / 1_000;
  const message = `the driver of ${source.provider.name} breaks its contract: it did not end within ${seconds} s after its signal aborted`;
  report(message);
  // A generator that waits for ever never answers this.
  Promise.try(() => reading.iterator?.return?.()).catch(() => undefined);
  return brokenCall(failure("interrupted", message));
}

/** Returns the end of a call that was sent, and of which nothing more is known. */
export function brokenCall(reason: ProviderFailed["failure"]): ProviderFailed {
  return { type: "failed", failure: reason, retryAfterMs: null, usage: unknownUsage };
}
