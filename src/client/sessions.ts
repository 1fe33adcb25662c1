/** The client's methods about sessions and their tree. */
import type { QueryOf } from "../protocol/routes/routes.ts";
import type { WireVerifyReport } from "../protocol/explain.ts";
import type { WireMailbox } from "../protocol/mailbox.ts";
import type { WireSession, WireSessionList, WireSessionPatch, WireSessionStart } from "../protocol/session.ts";
import type { WireShared, WireSharingChange } from "../protocol/people.ts";
import type { WireImportReport } from "../protocol/transfer.ts";
import type { WireHeadMove, WirePurgeReport, WireSessionGraph } from "../protocol/tree.ts";
import type { WireTurn, WireTurnList } from "../protocol/turn.ts";
import type { Call, Content, Send } from "./send.ts";

export type SessionListOptions = Omit<QueryOf<"listSessions">, "removed">;
export type TurnListOptions = QueryOf<"listTurns">;

/** Of `export` and `import`; the media type of the file is `application/x-ndjson`. */
export type ExportFile = Content["bytes"];

export interface SessionMethods {
  list(options?: SessionListOptions): Promise<WireSessionList>;
  /** The caller's removed sessions. */
  listRemoved(): Promise<WireSession[]>;
  /** With `forkOf`: below a finished turn of any session that the caller may read. With `continueWorkspace`: where the workspace was (W3). */
  create(start?: WireSessionStart): Promise<WireSession>;
  get(id: string): Promise<WireSession>;
  update(id: string, patch: WireSessionPatch): Promise<WireSession>;
  /** Whether it is public in the org, and who takes part in it. */
  sharing(id: string): Promise<WireShared>;
  /** With all of the org to read, with some to continue; or no more. */
  share(id: string, change: WireSharingChange): Promise<WireShared>;
  /** Throws `head_moved` where the head is not at `from` any more. */
  moveHead(id: string, move: WireHeadMove): Promise<WireSession>;
  archive(id: string): Promise<WireSession>;
  unarchive(id: string): Promise<WireSession>;
  /** Softly: `restore` brings it back, `purge` deletes it for ever. */
  remove(id: string): Promise<WireSession>;
  restore(id: string): Promise<WireSession>;
  purge(id: string): Promise<WirePurgeReport>;
  graph(id: string): Promise<WireSessionGraph>;
  verify(id: string): Promise<WireVerifyReport>;
  turns(id: string, options?: TurnListOptions): Promise<WireTurnList>;
  lastTurn(id: string): Promise<WireTurn>;
  /** Id of the turn that was stopped; null when nothing ran. */
  interrupt(id: string): Promise<string | null>;
  /** Id of the running turn that got the message. Throws `turn_not_running`. */
  steer(id: string, text: string): Promise<string>;
  /** What subagents left, oldest first; `fire` in a turn's request takes what waits. */
  mailbox(id: string, options?: QueryOf<"getMailbox">): Promise<WireMailbox>;
  /** A file for `import`, as it comes; only the branch that ends at `turnId`, if there is one. A file that breaks off throws while it is read. */
  export(id: string, options?: { turnId?: string }): Promise<ReadableStream<Uint8Array>>;
  /** For reading. */
  markdown(id: string): Promise<string>;
  import(file: ExportFile): Promise<WireImportReport>;
}

export function sessionMethods(send: Send, call: Call): SessionMethods {
  return {
    list: (query = {}) => call("listSessions", { query }),
    listRemoved: async () => (await call("listSessions", { query: { removed: true } })).sessions,
    create: (start = {}) => call("createSession", { body: start }),
    get: (id) => call("getSession", { id }),
    update: (id, body) => call("updateSession", { id, body }),
    sharing: (id) => call("getSharing", { id }),
    share: (id, body) => call("changeSharing", { id, body }),
    moveHead: (id, body) => call("moveHead", { id, body }),
    archive: (id) => call("archiveSession", { id }),
    unarchive: (id) => call("unarchiveSession", { id }),
    remove: (id) => call("removeSession", { id }),
    restore: (id) => call("restoreSession", { id }),
    purge: (id) => call("purgeSession", { id }),
    graph: (id) => call("getGraph", { id }),
    verify: (id) => call("verifySession", { id }),
    turns: (id, query = {}) => call("listTurns", { id, query }),
    lastTurn: (id) => call("getLastTurn", { id }),
    interrupt: async (id) => (await call("interruptSession", { id })).interruptedTurnId,
    steer: async (id, text) => (await call("steerSession", { id, body: { text } })).steeredTurnId,
    mailbox: (id, query = {}) => call("getMailbox", { id, query }),
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
