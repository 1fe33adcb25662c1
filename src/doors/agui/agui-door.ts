/**
 * The door for AG-UI clients at the server's `/agui` (O6): a client sends its conversation and gets the events of a run. A thread
 * is a session, a run is a turn. The HTTP door has authenticated the client before.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { SequencedEvent } from "../../domain/events.ts";
import { isId, sha256 } from "../../domain/ids.ts";
import type { Session } from "../../domain/session.ts";
import type { Engine, TurnRequest } from "../../engine/engine.ts";
import { eventStream, eventStreamHeaders, eventText } from "../event-stream.ts";
import { parseJson } from "../json-body.ts";
import { aguiPlace } from "./place.ts";
import { runEvents } from "./run-events.ts";
import { readRunInput, type RunInput } from "./run-input.ts";

/** The door in the form that the HTTP door can mount. */
export interface AguiDoor {
  path: "/agui";
  methods: readonly string[];
  bodyBytesMax: number;
  fetch(request: Request, client: AguiClient): Promise<Response>;
  upgrade(): Promise<void>;
}

/** The client of a request, as the server's HTTP door found it. */
interface AguiClient {
  caller: Caller;
  takeRun(): () => void;
  watchKey(onEnd: () => void): () => void;
}

export interface AguiDoorOptions {
  engine: Engine;
  heartbeatMs: number;
  bodyBytesMax: number;
  report: (message: string, error?: unknown) => void;
}

/** The key of a session's metadata that holds the client's id of its thread. */
const threadKey = "aptove.dev/agui-thread";
/** The name under which a turn keeps the client's id of its run. */
const runKey = "aptoveAguiRun";
/** The name under which a turn keeps the digest of what the run was given. */
const givenKey = "aptoveAguiGiven";

/** A turn whose events are streamed. */
interface FollowedTurn {
  turnId: string;
  sessionId: string;
  events(signal: AbortSignal): AsyncIterable<SequencedEvent>;
}

export function aguiDoor({ bodyBytesMax, ...options }: AguiDoorOptions): AguiDoor {
  return {
    ...aguiPlace,
    bodyBytesMax,
    fetch: async (request, client) => {
      const asked = readRunInput(parseJson(await request.text(), "the body"));
      const turn = await turnOf(options.engine, client, asked);
      return streamed(options, { request, client, turn, asked });
    },
    upgrade: async () => {
      throw new AptoveError("not_found", "/agui takes requests, and no WebSockets");
    },
  };
}

/** Returns the turn of the run. A run that is sent again, because its stream was cut, is the turn that it was. */
async function turnOf(engine: Engine, { caller, takeRun }: AguiClient, asked: RunInput): Promise<FollowedTurn> {
  const { threadId, runId, follows, given, givenDigest } = asked;
  // The thread is looked up before the run: if the run makes its session in this moment, the engine compares the requests.
  const session = follows === null ? await sessionOf(engine, caller, threadId) : null;
  const idempotencyKey = `agui ${sha256(`${threadId}\n${runId}`)}`;
  const again = await turnOfRun(engine, caller, { idempotencyKey, givenDigest });
  if (again !== null) return again;
  const place: Partial<TurnRequest> =
    follows !== null
      ? { after: { turnId: follows } }
      : session !== null
        ? { sessionId: session.id, ifBusy: "queue" }
        : { session: { metadata: { [threadKey]: threadId } } };
  const free = takeRun();
  try {
    const clientData = { [runKey]: runId, [givenKey]: givenDigest };
    const running = await engine.turns.run(caller, { ...given, ...place, clientData, idempotencyKey });
    if (running.isRepeat) free();
    else void running.finished.then(free, free);
    return running;
  } catch (error) {
    free();
    throw error;
  }
}

/** Returns the session of a thread: the one with that id, or the caller's newest one that was made for it. Null: there is none. */
async function sessionOf(engine: Engine, caller: Caller, threadId: string): Promise<Session | null> {
  const query = { memberId: caller.userId, metadata: { key: threadKey, value: threadId }, archived: false, limit: 1 };
  const { sessions } = await engine.sessions.list(caller, query);
  const [made] = sessions.filter(({ userId }) => userId === caller.userId);
  if (made !== undefined || !isId(threadId)) return made ?? null;
  try {
    return await engine.sessions.get(caller, threadId);
  } catch (error) {
    if (error instanceof AptoveError && error.code === "not_found") return null;
    throw error;
  }
}

/**
 * Returns the turn of a run that came before, or null. The engine cannot compare the requests: it is given a place too, and the
 * head of the thread moves on. Throws `idempotency_key_reused` if the run was given something else then.
 */
async function turnOfRun(
  engine: Engine,
  caller: Caller,
  { idempotencyKey, givenDigest }: { idempotencyKey: string; givenDigest: string },
): Promise<FollowedTurn | null> {
  const turn = await engine.turns.ofKey(caller, idempotencyKey);
  if (turn === null) return null;
  const { clientData } = await (await engine.turns.read(caller, turn.id)).asked();
  // Earlier builds kept no digest.
  if ((clientData[givenKey] ?? givenDigest) !== givenDigest) {
    throw new AptoveError("idempotency_key_reused", "use a new runId for a new run");
  }
  return {
    turnId: turn.id,
    sessionId: turn.sessionId,
    events: async function* (signal) {
      yield* await engine.turns.events(caller, turn.id, { afterSeq: 0, signal });
    },
  };
}

interface Streaming {
  request: Request;
  client: AguiClient;
  turn: FollowedTurn;
  asked: RunInput;
}

function streamed(
  { heartbeatMs, report }: Omit<AguiDoorOptions, "bodyBytesMax">,
  { request, client, turn, asked }: Streaming,
): Response {
  const gone = new AbortController();
  const keyEnd = new AbortController();
  const unwatch = client.watchKey(() => keyEnd.abort());
  gone.signal.addEventListener("abort", unwatch, { once: true });
  const body = eventStream({
    events: runEvents(turn.events(gone.signal), { ...asked, ...turn }),
    textOf: eventText,
    gone,
    heartbeatMs,
    signal: AbortSignal.any([request.signal, keyEnd.signal]),
    onFault: (error) => report("a stream of /agui broke; its client can send the run again", error),
  });
  return new Response(body, { headers: eventStreamHeaders });
}
