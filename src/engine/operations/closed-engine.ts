/** The calls that come after an engine was closed (R4): its stores are closed too, and their own words would not say why a call fails. */
import { AptoveError, failureOf, type ErrorCode } from "../../domain/errors.ts";

/** What a store that is closed throws. Every other error is an answer. */
const closedStore: readonly ErrorCode[] = ["storage_failed", "records_unavailable", "blobs_unavailable", "internal"];

type Method = (...args: unknown[]) => unknown;

/** Returns the API. A call that fails because the engine is closed throws `shutting_down`. */
export function namingTheEnd<Api extends object>(api: Api, isClosed: () => boolean): Api {
  const guarded = Object.entries(api).map(([name, member]: [string, unknown]) => {
    if (isPlain(member)) return [name, namingTheEnd(member, isClosed)];
    if (typeof member !== "function") return [name, member];
    const method = member.bind(api) as Method;
    return [name, (...args: unknown[]) => (isClosed() ? namedResult(method(...args)) : method(...args))];
  });
  return Object.fromEntries(guarded) as Api;
}

function isPlain(member: unknown): member is object {
  return typeof member === "object" && member !== null && Object.getPrototypeOf(member) === Object.prototype;
}

function namedResult(result: unknown): unknown {
  if (isIterable(result)) return namedIterable(result);
  if (!(result instanceof Promise)) return result;
  return result.catch((error: unknown) => {
    throw closedOr(error);
  });
}

function isIterable(result: unknown): result is AsyncIterable<unknown> {
  return typeof result === "object" && result !== null && Symbol.asyncIterator in result;
}

async function* namedIterable(result: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  try {
    yield* result;
  } catch (error) {
    throw closedOr(error);
  }
}

function closedOr(error: unknown): unknown {
  if (!closedStore.includes(failureOf(error).code)) return error;
  const fix = "the engine is closed; make another one, for example with createAptove";
  return new AptoveError("shutting_down", fix, { cause: error });
}
