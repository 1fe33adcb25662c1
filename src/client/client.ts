/**
 * The typed HTTP client. Its methods and types come from the route table; it loads no schema and starts in
 * milliseconds. It works in a browser, in Node, and without a socket on a door's own `fetch`.
 */
import type {
  WireDevice,
  WirePairedDevice,
  WirePairing,
  WirePairingClaim,
  WirePairingCode,
  WirePairingStart,
} from "../protocol/device.ts";
import type { ExecuteAccepted, ExecuteAnswer, ExecuteRequest } from "../protocol/execute.ts";
import type { WireReadiness } from "../protocol/health.ts";
import type { WireMe } from "../protocol/key.ts";
import type { RouteName } from "../protocol/routes/paths.ts";
import type { AnswerOf, QueryOf } from "../protocol/routes/routes.ts";
import type { WireGarbageReport, WireSearchHits } from "../protocol/tree.ts";
import { AptoveApiError } from "./api-error.ts";
import { contextMethods } from "./contexts.ts";
import type { ContextMethods } from "./contexts.ts";
import { followEvents } from "./event-stream.ts";
import type { StreamedEvent } from "./event-stream.ts";
import { keyMethods, peopleMethods } from "./people.ts";
import type { KeyMethods, ListAudit, PeopleMethods } from "./people.ts";
import { jsonOf, sender } from "./send.ts";
import type { Call, Connection, Send, SendOptions } from "./send.ts";
import { sessionMethods } from "./sessions.ts";
import type { SessionMethods } from "./sessions.ts";
import { turnMethods } from "./turns.ts";
import type { TurnMethods } from "./turns.ts";

export { AptoveApiError } from "./api-error.ts";
export type { ApiErrorCode } from "./api-error.ts";
export { isTerminal } from "./event-stream.ts";
export type { StreamedEvent } from "./event-stream.ts";
export type { AgUiEvent, AptoveCustomEvent } from "../protocol/ag-ui.ts";
export type { ExecuteAccepted, ExecuteAnswer, ExecuteRequest } from "../protocol/execute.ts";
export type {
  WireDevice,
  WirePairedDevice,
  WirePairing,
  WirePairingClaim,
  WirePairingCode,
  WirePairingStart,
} from "../protocol/device.ts";
export type { WireContext, WireContextEdit, WireContextVersion } from "../protocol/context.ts";
export type { WireTurnDiff, WireVerifyReport } from "../protocol/explain.ts";
export type { WireMailbox, WireMailboxMessage } from "../protocol/mailbox.ts";
export type { WireReadiness } from "../protocol/health.ts";
export type { WireApiKey, WireCreatedKey, WireKeyStart, WireMe } from "../protocol/key.ts";
export type { WireAuditEntry, WireOrg, WireShared, WireUser } from "../protocol/people.ts";
export type { KeyMethods, PeopleMethods } from "./people.ts";
export type { WireSession, WireSessionList, WireSessionPatch, WireSessionStart } from "../protocol/session.ts";
export type { WireStep } from "../protocol/step.ts";
export type { WireImportReport } from "../protocol/transfer.ts";
export type {
  WireGarbageReport,
  WireHeadMove,
  WirePurgeReport,
  WireSearchHits,
  WireSessionGraph,
} from "../protocol/tree.ts";
export type { WireTurn, WireTurnContext, WireTurnList, WireTurnSummary } from "../protocol/turn.ts";
export type { WireTokenUsage } from "../protocol/values.ts";
export type { ExportFile, SessionListOptions, SessionMethods, TurnListOptions } from "./sessions.ts";
export type { TurnMethods } from "./turns.ts";

export interface ClientOptions extends Connection {
  /** How often in a row a broken stream is opened again without one new event in between; 5. */
  retries?: number;
  /** Wait before the first of them, doubled each time; 200 ms. */
  backoffMs?: number;
}

export interface CallOptions {
  signal?: AbortSignal;
}

export interface ExecuteOptions extends CallOptions {
  /** Every event, as it comes. The first is RUN_STARTED, whose `runId` is the turn's id. */
  onEvent?: (streamed: StreamedEvent) => void;
  /** Made up where there is none, so that a lost connection never runs an instruction twice (T13). */
  idempotencyKey?: string;
}

export interface EventsOptions extends CallOptions {
  /** Id of the last event that was had. */
  after?: string;
}

/** Every method throws an AptoveApiError when the server refuses or cannot be reached, and the signal's reason when it aborts. */
export interface AptoveClient {
  /**
   * Runs a turn and gives its whole answer; a turn that failed is an answer of kind `error`. Aborting only
   * stops listening: the run goes on (R5), `turns.interrupt` stops it.
   */
  execute(request: ExecuteRequest, options?: ExecuteOptions): Promise<ExecuteAnswer>;
  /** Starts a turn and returns at once; read it with `events`. */
  start(request: ExecuteRequest, options?: Omit<ExecuteOptions, "onEvent">): Promise<ExecuteAccepted>;
  /** A turn's events up to the terminal one, picked up again where a connection broke. */
  events(turnId: string, options?: EventsOptions): AsyncIterable<StreamedEvent>;
  sessions: SessionMethods;
  turns: TurnMethods;
  /** Sessions that hold all of the words. */
  search(text: string, options?: Omit<QueryOf<"search">, "q">): Promise<WireSearchHits["hits"]>;
  keys: KeyMethods;
  /** The caller's own org. */
  people: PeopleMethods;
  audit: ListAudit;
  devices: {
    list(): Promise<WireDevice[]>;
    /** A code for one device, good once and for five minutes. */
    createPairingCode(start?: WirePairingStart): Promise<WirePairingCode>;
    /** What became of it. Throws `not_found` some time after its end. */
    pairing(id: string): Promise<WirePairing>;
    /** What the device itself calls, without a key: it gets its token. Throws `pairing_refused`. */
    pair(claim: WirePairingClaim): Promise<WirePairedDevice>;
    /** By the device's `id`. */
    revoke(id: string): Promise<void>;
  };
  /** Contexts of the configuration, and those that the org keeps as records over them (G1). */
  contexts: ContextMethods;
  /** Deletes what no turn needs; with `dryRun` only says what that is. For admins. */
  collectGarbage(options: { dryRun: boolean }): Promise<WireGarbageReport>;
  me(): Promise<WireMe>;
  /** Whether the server can take turns. */
  health(): Promise<WireReadiness>;
}

export function createClient(options: ClientOptions): AptoveClient {
  const send = sender(options);
  const call: Call = async <N extends RouteName>(name: N, more?: SendOptions<N>) =>
    jsonOf<AnswerOf<N>>(await send(name, more));
  const stream = { send, retries: options.retries ?? 5, backoffMs: options.backoffMs ?? 200 };
  return {
    execute: (request, more) => execute(stream, request, more),
    start: async (request, more = {}) => {
      const response = await send("execute", {
        ...executeSend(request, more),
        body: { ...request, transport: "stream" },
      });
      return jsonOf(response);
    },
    events: (turnId, more = {}) => turnEvents(stream, turnId, more),
    sessions: sessionMethods(send, call),
    turns: turnMethods(send, call),
    search: async (q, more = {}) => (await call("search", { query: { q, ...more } })).hits,
    keys: keyMethods(send, call),
    people: peopleMethods(call),
    audit: (query = {}) => call("listAudit", { query }),
    devices: {
      list: async () => (await call("listDevices")).devices,
      createPairingCode: (start = {}) => call("createPairingCode", { body: start }),
      pairing: (id) => call("getPairingCode", { id }),
      pair: (body) => call("pairDevice", { body }),
      revoke: async (id) => void (await send("revokeDevice", { id })),
    },
    contexts: contextMethods(call),
    collectGarbage: (body) => call("collectGarbage", { body }),
    me: () => call("me"),
    health: () => call("readyz"),
  };
}

interface Streaming {
  send: Send;
  retries: number;
  backoffMs: number;
}

function executeSend(request: ExecuteRequest, options: Omit<ExecuteOptions, "onEvent">): SendOptions<"execute"> {
  const headers = { "idempotency-key": options.idempotencyKey ?? crypto.randomUUID() };
  return { body: request, headers, signal: options.signal };
}

function turnEvents(streaming: Streaming, turnId: string, options: EventsOptions): AsyncGenerator<StreamedEvent> {
  const open = (lastId: string | null) =>
    streaming.send("turnEvents", {
      id: turnId,
      accept: "text/event-stream",
      headers: lastId === null ? {} : { "last-event-id": lastId },
      signal: options.signal,
    });
  return followEvents({ ...streaming, open, after: options.after ?? null, signal: options.signal });
}

async function execute(
  streaming: Streaming,
  request: ExecuteRequest,
  options: ExecuteOptions = {},
): Promise<ExecuteAnswer> {
  const { signal } = options;
  const sent = { ...executeSend({ ...request, transport: "sse" }, options), accept: "text/event-stream" };
  let turnId: string | null = null;
  // The same key gives the same turn, so until its id is known the request itself is sent again.
  const open = (lastId: string | null) =>
    turnId === null
      ? streaming.send("execute", sent)
      : streaming.send("turnEvents", {
          id: turnId,
          accept: "text/event-stream",
          headers: lastId === null ? {} : { "last-event-id": lastId },
          signal,
        });
  for await (const streamed of followEvents({ ...streaming, open, signal })) {
    if (streamed.event.type === "RUN_STARTED") turnId = streamed.event.runId;
    options.onEvent?.(streamed);
  }
  if (turnId === null) throw new AptoveApiError("answer_invalid", "the stream named no turn");
  return jsonOf(await streaming.send("getAnswer", { id: turnId, signal }));
}
