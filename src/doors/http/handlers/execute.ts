/** `POST /api/ai/agent/execute`: starts a turn, and answers in the way that the request asks for (H1, V3). */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { streamKey } from "../../../domain/events.ts";
import type { RunningTurn, TurnRequest } from "../../../engine/engine.ts";
import { executeAnswerOf } from "./answer.ts";
import { answer } from "./call.ts";
import type { Call, Door, Handlers } from "./call.ts";
import { readExecuteCall } from "../request/execute-request.ts";
import type { ExecuteCall } from "../request/execute-request.ts";
import { runAnswer } from "./streams.ts";

export function executeHandler(door: Door): Handlers<"execute"> {
  return {
    execute: async (call) => {
      return await startAndAnswer(door, call, await readExecuteCall(call.request, door.limits));
    },
  };
}

/** Of any route that runs a turn. */
export async function startAndAnswer(door: Door, call: Asking, asked: ExecuteCall): Promise<Response> {
  const key = call.request.headers.get("idempotency-key");
  const turn: TurnRequest = {
    ...(await continued(door, call.caller, asked)),
    ...(key !== null && { idempotencyKey: key }),
  };
  const running = await run(door, call.caller, turn);
  return await deliver(door, { call, running, as: asked.delivery ?? accepted(call.request) });
}

type Asking = Pick<Call<"execute">, "request" | "caller" | "watchKey">;

/** `responseContinuationId` names the head that the caller saw, and by it the session. */
async function continued(door: Door, caller: Caller, { turn, continues }: ExecuteCall): Promise<TurnRequest> {
  if (continues === null) return turn;
  const sessionId = turn.sessionId ?? (await door.engine.turns.get(caller, continues)).sessionId;
  return { ...turn, sessionId, expectedHead: continues };
}

/** Holds one of the caller's slots until the turn is finished; a repeat starts nothing and holds none (T13). */
async function run(door: Door, caller: Caller, turn: TurnRequest): Promise<RunningTurn> {
  const free = door.slots.take(caller.userId);
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
  call: Asking;
  running: RunningTurn;
  as: NonNullable<ExecuteCall["delivery"]>;
}

async function deliver(door: Door, { call, running, as }: Delivery): Promise<Response> {
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
      return await whole(door, call.caller, running);
  }
}

/** The stored turn's answer; where not even its end could be stored, the reason. */
async function whole({ engine }: Door, caller: Caller, { turnId, finished }: RunningTurn): Promise<Response> {
  const ended = await finished;
  const reader = await engine.turns.read(caller, turnId);
  if (reader.turn.status === "pending" && ended.status === "failed") {
    const { code, message } = ended.failures[0];
    throw new AptoveError(code, message, { facts: { turnId } });
  }
  return answer("execute", await executeAnswerOf(reader));
}
