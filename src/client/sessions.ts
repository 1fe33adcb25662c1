/** The client's methods for sessions: the sessions themselves, their tree, and their turns. */
import type { QueryOf } from "../protocol/routes/routes.ts";
import type { WireSessionSize, WireSizes, WireVerifyReport } from "../protocol/explain.ts";
import type { WireMailbox } from "../protocol/mailbox.ts";
import type { WireSession, WireSessionList, WireSessionPatch, WireSessionStart } from "../protocol/session.ts";
import type { WireShared, WireSharingChange } from "../protocol/people.ts";
import type { WirePin, WirePinStart } from "../protocol/manifest/pin.ts";
import type { WireTurnName } from "../protocol/manifest/turn-name.ts";
import type { WireImportReport } from "../protocol/transfer.ts";
import type {
  WireForest,
  WireHeadMove,
  WireHeadMoves,
  WirePurgeReport,
  WireSessionGraph,
  WireUndo,
} from "../protocol/tree.ts";
import type { WireTurn, WireTurnList } from "../protocol/turn.ts";
import type { FetchJson, RequestContent, SendRequest } from "./send.ts";

export type SessionListOptions = Omit<QueryOf<"listSessions">, "removed">;
export type TurnListOptions = QueryOf<"listTurns">;

/** The content of an export file. Its media type is `application/x-ndjson`. */
export type ExportFile = RequestContent["bytes"];

/** Sessions themselves: creating, reading, sharing, and moving them between servers. */
export interface SessionMethods extends SessionTreeMethods, SessionTurnMethods {
  list(options?: SessionListOptions): Promise<WireSessionList>;
  /** Returns the caller's removed sessions. */
  listRemoved(): Promise<WireSession[]>;
  /**
   * Creates a session. With `forkOf` it continues from a finished turn of any session that the caller may read. With
   * `continueWorkspace` it continues where the workspace was (W3).
   */
  create(start?: WireSessionStart): Promise<WireSession>;
  get(id: string): Promise<WireSession>;
  update(id: string, patch: WireSessionPatch): Promise<WireSession>;
  /** Returns whether the session is public in the org, and its participants. */
  sharing(id: string): Promise<WireShared>;
  /** Makes the session readable for the org or private, and adds or removes participants, who may continue it. */
  share(id: string, change: WireSharingChange): Promise<WireShared>;
  /**
   * Returns a file for `import`, as a stream. With `turnId` it has only the branch that ends at this turn. Reading throws
   * if the file breaks off.
   */
  export(id: string, options?: { turnId?: string }): Promise<ReadableStream<Uint8Array>>;
  /** Returns the conversation as Markdown, for people to read. */
  markdown(id: string): Promise<string>;
  import(file: ExportFile): Promise<WireImportReport>;
}

/** The tree of sessions: the head, forks, archiving and deleting. */
export interface SessionTreeMethods {
  /** Moves the head. Throws `head_moved` if the head is no longer at `from`. */
  moveHead(id: string, move: WireHeadMove): Promise<WireSession>;
  /** Returns how people moved the head, oldest first. */
  headMoves(id: string): Promise<WireHeadMoves["moves"]>;
  /** Moves the head back to before the newest turn of the session's agent. */
  undo(id: string): Promise<WireUndo>;
  archive(id: string): Promise<WireSession>;
  unarchive(id: string): Promise<WireSession>;
  /** Removes the session from all lists. `restore` reverts this, `purge` deletes the session permanently. */
  remove(id: string): Promise<WireSession>;
  restore(id: string): Promise<WireSession>;
  purge(id: string): Promise<WirePurgeReport>;
  /** Returns a page of the session's turns, with their forks. `after` is the `nextAfter` of the page before. */
  graph(id: string, page?: QueryOf<"getGraph">): Promise<WireSessionGraph>;
  /** Returns sessions as trees, each fork after the session that it was forked from. */
  forest(query?: QueryOf<"getForest">): Promise<WireForest>;
  verify(id: string): Promise<WireVerifyReport>;
  /** Returns the room that the session takes, and that of its newest turns before `before`. */
  size(id: string, query?: QueryOf<"sessionSize">): Promise<WireSessionSize>;
  /** Returns the room of all sessions that the caller may see, and the largest of them. */
  sizes(query?: QueryOf<"getSizes">): Promise<WireSizes>;
}

/** The turns of a session, the one that runs, and the mailbox. */
export interface SessionTurnMethods {
  turns(id: string, options?: TurnListOptions): Promise<WireTurnList>;
  lastTurn(id: string): Promise<WireTurn>;
  /** Stops the running turn. Returns its id, or null if no turn was running. */
  interrupt(id: string): Promise<string | null>;
  /** Sends a message to the running turn. Returns the turn's id. Throws `turn_not_running`. */
  steer(id: string, text: string): Promise<string>;
  /** Returns the answers of subagents, oldest first. A turn with `fire` takes those that wait. */
  mailbox(id: string, options?: QueryOf<"getMailbox">): Promise<WireMailbox>;
  /** Returns what no compaction of the history drops, oldest turn first (M6). */
  pins(id: string): Promise<WirePin[]>;
  /** Pins a turn, or a passage of one. Throws `pin_invalid`, `pins_too_large`. */
  pin(id: string, passage: WirePinStart): Promise<WirePin>;
  /** Removes a pin, and returns the pins that are left. */
  unpin(id: string, pinId: string): Promise<WirePin[]>;
  /** Returns the names that turns have in the session. */
  turnNames(id: string): Promise<WireTurnName[]>;
  /** Names a turn of the session or above it. Null takes the name away. Returns all names. */
  nameTurn(id: string, turnId: string, name: string | null): Promise<WireTurnName[]>;
}

export function sessionMethods(send: SendRequest, call: FetchJson): SessionMethods {
  return {
    ...sessionTreeMethods(call),
    ...sessionTurnMethods(call),
    list: (query = {}) => call("listSessions", { query }),
    listRemoved: async () => (await call("listSessions", { query: { removed: true } })).sessions,
    create: (start = {}) => call("createSession", { body: start }),
    get: (id) => call("getSession", { id }),
    update: (id, body) => call("updateSession", { id, body }),
    sharing: (id) => call("getSharing", { id }),
    share: (id, body) => call("changeSharing", { id, body }),
    export: async (id, query = {}) => {
      const response = await send("exportSession", { id, query, accept: "application/x-ndjson" });
      return response.body ?? new Blob().stream();
    },
    markdown: async (id) => {
      const response = await send("exportSession", { id, query: { format: "markdown" }, accept: "text/markdown" });
      return await response.text();
    },
    import: (bytes) => call("importSessions", { content: { mediaType: "application/x-ndjson", bytes } }),
  };
}

function sessionTreeMethods(call: FetchJson): SessionTreeMethods {
  return {
    moveHead: (id, body) => call("moveHead", { id, body }),
    headMoves: async (id) => (await call("listHeadMoves", { id })).moves,
    undo: (id) => call("undo", { id }),
    archive: (id) => call("archiveSession", { id }),
    unarchive: (id) => call("unarchiveSession", { id }),
    remove: (id) => call("removeSession", { id }),
    restore: (id) => call("restoreSession", { id }),
    purge: (id) => call("purgeSession", { id }),
    graph: (id, query = {}) => call("getGraph", { id, query }),
    forest: (query = {}) => call("getForest", { query }),
    verify: (id) => call("verifySession", { id }),
    size: (id, query = {}) => call("sessionSize", { id, query }),
    sizes: (query = {}) => call("getSizes", { query }),
  };
}

function sessionTurnMethods(call: FetchJson): SessionTurnMethods {
  return {
    turns: (id, query = {}) => call("listTurns", { id, query }),
    lastTurn: (id) => call("getLastTurn", { id }),
    interrupt: async (id) => (await call("interruptSession", { id })).interruptedTurnId,
    steer: async (id, text) => (await call("steerSession", { id, body: { text } })).steeredTurnId,
    mailbox: (id, query = {}) => call("getMailbox", { id, query }),
    pins: async (id) => (await call("listPins", { id })).pins,
    pin: (id, body) => call("addPin", { id, body }),
    unpin: async (id, pinId) => (await call("removePin", { params: { id, pinId } })).pins,
    turnNames: async (id) => (await call("listTurnNames", { id })).names,
    nameTurn: async (id, turnId, name) => (await call("nameTurn", { params: { id, turnId }, body: { name } })).names,
  };
}
