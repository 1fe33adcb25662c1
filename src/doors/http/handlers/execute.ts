/** `POST /api/ai/agent/execute`: starts a turn, and answers in the form that the request wants (H1, V3). */
import { toWireForeseen } from "../../../protocol/costs.ts";
import { runsTheServer, type Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { streamKey } from "../../../domain/events.ts";
import type { RunningTurn, TurnRequest } from "../../../engine/engine.ts";
import { executeAnswer, executeAnswerOf } from "./execute-answer.ts";
import { answer, type RouteCall, type HandlerDependencies, type RouteHandlers } from "./handler.ts";
import { readExecuteRequest, type ParsedExecuteRequest } from "../request/execute-request.ts";
import { runAnswer } from "./streams.ts";

export function executeHandler(door: HandlerDependencies): RouteHandlers<"execute" | "estimate"> {
  return {
    estimate: async ({ request, caller }) => {
      const asked = await readExecuteRequest(request, door.limits);
      const turn = withOwnFolder(caller, await continued(door, caller, asked));
      const { budgets, ...estimate } = await door.engine.turns.estimate(caller, turn);
      return answer("estimate", { ...estimate, budgets: toWireForeseen(budgets) });
    },
    execute: async (call) => {
      return await startAndAnswer(door, call, await readExecuteRequest(call.request, door.limits));
    },
  };
}

/** Runs a turn and creates the response, for every route that runs a turn. */
export async function startAndAnswer(
  door: HandlerDependencies,
  call: ExecuteRouteCall,
  asked: ParsedExecuteRequest,
): Promise<Response> {
  const key = call.request.headers.get("idempotency-key");
  const turn: TurnRequest = {
    ...withOwnFolder(call.caller, await continued(door, call.caller, asked)),
    ...(key !== null && { idempotencyKey: key }),
  };
  const running = await run(door, call.caller, turn);
  return await deliver(door, { call, running, as: asked.delivery ?? accepted(call.request) });
}

/** Leaves out the folders of working copies, unless the caller runs the server. No other caller may choose a folder of this machine. */
function withOwnFolder(caller: Caller, turn: TurnRequest): TurnRequest {
  if (runsTheServer(caller)) return turn;
  const { workingCopy: _folder, otherRepos, ...rest } = turn;
  if (otherRepos === undefined) return rest;
  return { ...rest, otherRepos: otherRepos.map(({ workingCopy: _own, ...other }) => other) };
}

type ExecuteRouteCall = Pick<RouteCall<"execute">, "request" | "caller" | "watchKey">;

/** Adds the session and the expected head. `responseContinuationId` is the head that the caller saw, and identifies the session. */
async function continued(
  door: HandlerDependencies,
  caller: Caller,
  { turn, continues }: ParsedExecuteRequest,
): Promise<TurnRequest> {
  if (continues === null) return turn;
  const sessionId = turn.sessionId ?? (await door.engine.turns.get(caller, continues)).sessionId;
  return { ...turn, sessionId, expectedHead: continues };
}

/** Starts the turn. It holds one of the caller's slots until the turn has finished. A repeat starts nothing and holds none (T13). */
async function run(door: HandlerDependencies, caller: Caller, turn: TurnRequest): Promise<RunningTurn> {
  const free = door.slots.take(caller);
  try {
    const running = await door.engine.turns.run(caller, turn);
    if (running.isRepeat) free();
    else void running.finished.then(free, free);
    return running;
  } catch (error) {
    free();
    throw error;
  }
}

function accepted(request: Request): "sse" | "json" {
  return request.headers.get("accept")?.includes("text/event-stream") === true ? "sse" : "json";
}

interface Delivery {
  call: ExecuteRouteCall;
  running: RunningTurn;
  as: NonNullable<ParsedExecuteRequest["delivery"]>;
}

async function deliver(door: HandlerDependencies, { call, running, as }: Delivery): Promise<Response> {
  const { sessionId, turnId } = running;
  switch (as) {
    case "sse":
      return runAnswer(door, call, running);
    case "stream": {
      const eventsUrl = `/api/turns/${turnId}/events`;
      const value = { sessionId, turnId, streamKey: streamKey(turnId), eventsUrl };
      return Response.json(value, { status: 202, headers: { location: eventsUrl } });
    }
    case "json":
      return await completeAnswer(door, call.caller, running);
  }
}

/**
 * Waits for the turn and returns its answer as it is stored. It is read back only if the engine does not know the end. A turn whose
 * end could not be stored has failed, and its answer says so: an error would not say that the turn was accepted, and invite the client
 * to run it twice. Throws the fault of a store that cannot be read.
 */
async function completeAnswer(
  { engine }: HandlerDependencies,
  caller: Caller,
  running: RunningTurn,
): Promise<Response> {
  const { turnId } = running;
  try {
    const turn = await running.finished;
    const ended = running.ended();
    if (ended !== null) return answer("execute", executeAnswer(ended.turn, ended.answer));
    const reading = engine.turns.read(caller, turnId);
    const reader = turn.status === "failed" ? await reading.catch(() => null) : await reading;
    if (reader !== null && reader.turn.status !== "pending") return answer("execute", await executeAnswerOf(reader));
    return answer("execute", executeAnswer(turn, (await reader?.answer()) ?? ""));
  } catch (error) {
    if (!(error instanceof AptoveError)) throw error;
    throw new AptoveError(error.code, error.detail, { facts: { ...error.facts, turnId }, cause: error });
  }
}
