/**
 * The typed HTTP client. Its methods and types come from the route table. It loads no schema and starts in
 * milliseconds. It works in a browser, in Node, and without a socket on the `fetch` of an HTTP door.
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
import type { WireCosts, WireEstimate } from "../protocol/costs.ts";
import type { WireReadiness } from "../protocol/server/health.ts";
import type { WireCheck } from "../protocol/server/doctor.ts";
import type { WireIndex } from "../protocol/server/index-list.ts";
import type { WireNews } from "../protocol/live/news.ts";
import type { WireApprovals } from "../protocol/question.ts";
import type { WireMe } from "../protocol/key.ts";
import type { RouteName } from "../protocol/routes/paths.ts";
import type { AnswerOf, QueryOf } from "../protocol/routes/routes.ts";
import type {
  WireSignedIn,
  WireSignIn,
  WireSignInAttempt,
  WireSignInCode,
  WireSignInWays,
} from "../protocol/sign-in.ts";
import type { WireGarbageReport, WireSearchHits } from "../protocol/tree.ts";
import { AptoveApiError } from "./api-error.ts";
import { contextMethods, type ContextMethods } from "./contexts.ts";
import { dataOf, followEvents, messagesOf, type Silence, type StreamedEvent } from "./event-stream.ts";
import {
  budgetMethods,
  keyMethods,
  peopleMethods,
  type BudgetMethods,
  type KeyMethods,
  type ListAudit,
  type PeopleMethods,
} from "./people.ts";
import { indexRunMethods, inspect, type IndexRunMethods } from "./server.ts";
import {
  jsonOf,
  requestSender,
  type FetchJson,
  type ServerConnection,
  type SendRequest,
  type RequestOptions,
} from "./send.ts";
import { summaryMethods, type SummaryMethods } from "./summaries.ts";
import { memoryMethods, type MemoryMethods } from "./memory.ts";
import { sentAgain } from "./retry.ts";
import { sessionMethods, type SessionMethods } from "./sessions.ts";
import { turnMethods, type TurnMethods } from "./turns.ts";
import { workspaceMethods, type WorkspaceMethods } from "./workspaces.ts";

export { AptoveApiError } from "./api-error.ts";
export type { ApiErrorCode } from "./api-error.ts";
export { isTerminalEvent } from "./event-stream.ts";
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
export type { WireFact, WireForgotten, WireMemory } from "../protocol/workspaces/memory.ts";
export type { WirePermission, WireTranscript, WireWorkspace } from "../protocol/workspaces/workspace.ts";
export type { WireContext, WireContextEdit, WireContextVersion, WireOfferedModel } from "../protocol/context.ts";
export type { WireTurnDiff, WireVerifyReport } from "../protocol/explain.ts";
export type { WireMailbox, WireMailboxMessage } from "../protocol/mailbox.ts";
export type { WirePin, WirePinStart } from "../protocol/manifest/pin.ts";
export type { WireCheck } from "../protocol/server/doctor.ts";
export type { WireIndex, WireIndexRun, WireIndexStart } from "../protocol/server/index-list.ts";
export type { WireTurnName } from "../protocol/manifest/turn-name.ts";
export type { WireNews } from "../protocol/live/news.ts";
export type { WireApprovals } from "../protocol/question.ts";
export type { WireBudget, WireBudgetStart, WireCosts, WireEstimate } from "../protocol/costs.ts";
export type { WireSessionSize, WireSizes } from "../protocol/explain.ts";
export type { WireReadiness } from "../protocol/server/health.ts";
export type { WireApiKey, WireCreatedKey, WireKeyStart, WireMe } from "../protocol/key.ts";
export type { WireAuditEntry, WireOrg, WireShared, WireUser } from "../protocol/people.ts";
export type { BudgetMethods, KeyMethods, PeopleMethods } from "./people.ts";
export type { WireSession, WireSessionList, WireSessionPatch, WireSessionStart } from "../protocol/session.ts";
export type {
  WireSignedIn,
  WireSignIn,
  WireSignInAttempt,
  WireSignInCode,
  WireSignInWays,
} from "../protocol/sign-in.ts";
export type { WireStep } from "../protocol/step.ts";
export type { WireImportReport } from "../protocol/transfer.ts";
export type {
  WireForest,
  WireGarbageReport,
  WireHeadMove,
  WirePurgeReport,
  WireSearchHits,
  WireSessionGraph,
} from "../protocol/tree.ts";
export type { WireSummary, WireSummaryStart } from "../protocol/summary/summary.ts";
export type { WireTurn, WireTurnContext, WireTurnList, WireTurnSummary } from "../protocol/turn.ts";
export type { WireTokenUsage } from "../protocol/values.ts";
export type { ExportFile, SessionListOptions, SessionMethods, TurnListOptions } from "./sessions.ts";
export type { TurnMethods } from "./turns.ts";

export interface ClientOptions extends ServerConnection {
  /** How many times in a row a broken stream is opened again if no new event arrives, and a start or an answer is asked for again. Default: 5. */
  retries?: number;
  /** Milliseconds to wait before the first retry, doubled for each further one. Default: 200. */
  backoffMs?: number;
}

export interface CallOptions {
  signal?: AbortSignal;
}

export interface ExecuteOptions extends CallOptions {
  /** Receives each event as it arrives. The first is RUN_STARTED, whose `runId` is the turn's id. */
  onEvent?: (streamed: StreamedEvent) => void;
  /** Identifies the request, so that a retry after a lost connection never runs the instruction twice (T13). Default: a new UUID. */
  idempotencyKey?: string;
}

export interface EventsOptions extends CallOptions, Silence {
  /** Id of the last event that the caller received. */
  after?: string;
  /** `now`: ends after the events that there are now, also if the turn runs. A proxy that holds streams back passes such an answer on. */
  until?: "now";
}

export interface NewsOptions extends CallOptions, Silence {
  /** A session that is news too if it is not among the newest, for example the one that is open. */
  sessionId?: string;
}

/** Every method throws an AptoveApiError if the server refuses or cannot be reached, and the signal's reason if the signal aborts. */
export interface AptoveClient {
  /**
   * Runs a turn and returns its complete answer. A failed turn is an answer of kind `error`. Aborting only stops
   * listening: the run continues (R5). `turns.interrupt` stops the run.
   */
  execute(request: ExecuteRequest, options?: ExecuteOptions): Promise<ExecuteAnswer>;
  /** Estimates the first call of a turn: its tokens by kind, and its price. Nothing is run. */
  estimate(request: ExecuteRequest): Promise<WireEstimate>;
  /** Starts a turn and returns at once. Read its events with `events`. */
  start(request: ExecuteRequest, options?: Omit<ExecuteOptions, "onEvent">): Promise<ExecuteAccepted>;
  /** Yields a turn's events up to the terminal one. If the connection breaks, it resumes after the last event. */
  events(turnId: string, options?: EventsOptions): AsyncIterable<StreamedEvent>;
  /**
   * Yields what changes in the caller's sessions and in what waits for them, over one connection. The first piece says to read
   * everything. When it ends or throws, call it again. A newer server may send types that this client does not know: take them as a change.
   */
  news(options?: NewsOptions): AsyncIterable<WireNews>;
  sessions: SessionMethods;
  summaries: SummaryMethods;
  turns: TurnMethods;
  /** Finds sessions that contain all of the words. */
  search(text: string, options?: Omit<QueryOf<"search">, "q">): Promise<WireSearchHits["hits"]>;
  keys: KeyMethods;
  /** What calls of models may cost (F11). */
  budgets: BudgetMethods;
  /** The users of the caller's org. */
  people: PeopleMethods;
  audit: ListAudit;
  devices: {
    list(): Promise<WireDevice[]>;
    /** Creates a code for one device. It can be used once, within five minutes. */
    createPairingCode(start?: WirePairingStart): Promise<WirePairingCode>;
    /** Returns the state of a pairing. Throws `not_found` some time after it has ended. */
    pairing(id: string): Promise<WirePairing>;
    /** Called by the device itself, without a key. Returns its token. Throws `pairing_refused`. */
    pair(claim: WirePairingClaim): Promise<WirePairedDevice>;
    /** Revokes the device with this `id`. */
    revoke(id: string): Promise<void>;
  };
  /** Returns the calls over all sessions that wait until the caller allows them. */
  approvals(): Promise<WireApprovals>;
  /** Returns what turns have cost, over the sessions that the caller may see. */
  costs(period: QueryOf<"getCosts">): Promise<WireCosts>;
  /** Returns the repositories that are indexed. */
  indexes(): Promise<WireIndex[]>;
  /** The runs that index repositories. */
  indexRuns: IndexRunMethods;
  /** Returns the indexed files of a repository whose path has this part, the best first. Throws `index_missing`. */
  indexedFiles(query: { repo: string; part?: string }): Promise<string[]>;
  /** A browser's sign-in to the page. */
  page: {
    /** Signs this browser in. The answer sets a cookie. Throws `sign_in_refused`, `pairing_refused`, `identity_unavailable`. */
    signIn(proof: WireSignIn): Promise<WireSignedIn>;
    /** Returns whether browsers can sign in at an identity provider. */
    ways(): Promise<WireSignInWays>;
    /** Begins a sign-in at the identity provider. Throws `sign_in_refused`, `identity_unavailable`. */
    begin(start: { redirectUri: string }): Promise<WireSignInAttempt>;
    signOut(): Promise<void>;
    /** Makes a code for one browser, which signs in as the caller. */
    createCode(): Promise<WireSignInCode>;
  };
  /** The configured contexts, and the org's own ones, which override them (G1). */
  contexts: ContextMethods;
  /** The workspaces of the server. */
  workspaces: WorkspaceMethods;
  /** The facts that a workspace remembers for its sessions (M3). */
  memory: MemoryMethods;
  /** Deletes the blobs that no turn needs. With `dryRun` it only reports them. Requires an admin. */
  collectGarbage(order: { dryRun: boolean; isMostExpected?: boolean }): Promise<WireGarbageReport>;
  /**
   * Checks the parts of the server. Yields each check first as `running`, and again when it is done. Requires an admin who runs the
   * server.
   */
  inspect(options?: CallOptions): AsyncIterable<WireCheck>;
  me(): Promise<WireMe>;
  /** Returns whether the server can run turns. A server that cannot is no error here. */
  health(options?: CallOptions): Promise<WireReadiness>;
}

/** Throws an AptoveApiError, `request_invalid`, if `url` is no address of a server. */
export function createClient(options: ClientOptions): AptoveClient {
  const send = requestSender(options);
  const call: FetchJson = async <N extends RouteName>(name: N, more?: RequestOptions<N>) =>
    jsonOf<AnswerOf<N>>(await send(name, more));
  const stream = { send, retries: options.retries ?? 5, backoffMs: options.backoffMs ?? 200 };
  return {
    execute: (request, more) => execute(stream, request, more),
    estimate: (request) => call("estimate", { body: request }),
    start: async (request, more = {}) => {
      // The same idempotency key returns the same turn.
      const sent = { ...executeSend(request, more), body: { ...request, transport: "stream" as const } };
      return await sentAgain(async () => jsonOf(await send("execute", sent)), { ...stream, signal: more.signal });
    },
    events: (turnId, more = {}) => turnEvents(stream, turnId, more),
    news: async function* ({ sessionId, ...listening } = {}) {
      const query = sessionId === undefined ? {} : { query: { sessionId } };
      const open = (signal: AbortSignal) => send("followNews", { ...query, accept: "text/event-stream", signal });
      for await (const message of messagesOf(open, listening)) yield dataOf<WireNews>(message);
    },
    sessions: sessionMethods(send, call),
    summaries: summaryMethods(send, call),
    turns: turnMethods(send, call),
    search: async (q, more = {}) => (await call("search", { query: { q, ...more } })).hits,
    keys: keyMethods(send, call),
    budgets: budgetMethods(send, call),
    people: peopleMethods(call),
    audit: (query = {}) => call("listAudit", { query }),
    devices: {
      list: async () => (await call("listDevices")).devices,
      createPairingCode: (start = {}) => call("createPairingCode", { body: start }),
      pairing: (id) => call("getPairingCode", { id }),
      pair: (body) => call("pairDevice", { body }),
      revoke: async (id) => void (await send("revokeDevice", { id })),
    },
    approvals: () => call("listApprovals"),
    costs: (query) => call("getCosts", { query }),
    indexes: async () => (await call("listIndexes")).indexes,
    indexRuns: indexRunMethods(send, call),
    indexedFiles: async ({ repo, part = "" }) => (await call("listIndexedFiles", { query: { repo, part } })).paths,
    page: {
      signIn: (body) => call("signIn", { body }),
      ways: () => call("signInWays"),
      begin: (body) => call("beginSignIn", { body }),
      signOut: async () => void (await send("signOut")),
      createCode: () => call("createSignInCode"),
    },
    contexts: contextMethods(call),
    workspaces: workspaceMethods(send, call),
    memory: memoryMethods(call),
    collectGarbage: (body) => call("collectGarbage", { body }),
    inspect: ({ signal } = {}) => inspect(send, signal),
    me: () => call("me"),
    health: ({ signal } = {}) => call("readyz", { readsUnavailable: true, signal }),
  };
}

interface StreamSettings {
  send: SendRequest;
  retries: number;
  backoffMs: number;
}

function executeSend(request: ExecuteRequest, options: Omit<ExecuteOptions, "onEvent">): RequestOptions<"execute"> {
  const headers = { "idempotency-key": options.idempotencyKey ?? crypto.randomUUID() };
  return { body: request, headers, signal: options.signal };
}

function turnEvents(streaming: StreamSettings, turnId: string, options: EventsOptions): AsyncGenerator<StreamedEvent> {
  const { after = null, until, ...listening } = options;
  const open = (lastId: string | null, signal: AbortSignal | undefined) =>
    streaming.send("turnEvents", {
      id: turnId,
      ...(until !== undefined && { query: { until } }),
      accept: "text/event-stream",
      headers: lastId === null ? {} : { "last-event-id": lastId },
      signal,
    });
  return followEvents({ ...streaming, ...listening, open, after, endsEarly: until === "now" });
}

async function execute(
  streaming: StreamSettings,
  request: ExecuteRequest,
  options: ExecuteOptions = {},
): Promise<ExecuteAnswer> {
  const { signal } = options;
  const sent = { ...executeSend({ ...request, transport: "sse" }, options), accept: "text/event-stream" };
  let turnId: string | null = null;
  // The same idempotency key returns the same turn. So until the turn's id is known, a retry sends the request again.
  const open = (lastId: string | null, until: AbortSignal | undefined) =>
    turnId === null
      ? streaming.send("execute", { ...sent, signal: until })
      : streaming.send("turnEvents", {
          id: turnId,
          accept: "text/event-stream",
          headers: lastId === null ? {} : { "last-event-id": lastId },
          signal: until,
        });
  for await (const streamed of followEvents({ ...streaming, open, signal })) {
    if (streamed.event.type === "RUN_STARTED") turnId = streamed.event.runId;
    options.onEvent?.(streamed);
  }
  if (turnId === null) throw new AptoveApiError("answer_invalid", "the stream named no turn");
  const id = turnId;
  const read = async (): Promise<ExecuteAnswer> => jsonOf(await streaming.send("getAnswer", { id, signal }));
  return await sentAgain(read, { ...streaming, signal }, true);
}
