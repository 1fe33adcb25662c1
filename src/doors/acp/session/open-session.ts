/** A session that a client has open on its connection, with its folders, tools, settings and running prompts. */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { AptoveError } from "../../../domain/errors.ts";
import { whenAborted } from "../../../system/abort.ts";
import type { McpServer, SessionTools } from "../../../tools/session-tools.ts";
import type { AcpClient } from "../client/acp-client.ts";
import { clientFiles } from "../client/client-files.ts";
import { clientTerminal } from "../client/client-terminal.ts";
import type { AcpPorts, FolderRepository, OpenedPorts } from "../ports.ts";
import type { SessionOptions } from "./session-options.ts";
import type { FollowedEnd, TurnFeed } from "./turn-feed.ts";
import { toolCallId, type WaitingCalls } from "./turn-updates.ts";

export interface SessionFacts {
  id: string;
  /** The workspace whose configuration, permissions and MCP servers the session uses. */
  workspaceId: string;
  /** Absolute paths. The first is the working directory. */
  folders: readonly [string, ...string[]];
  options: SessionOptions;
  name: string;
  /** The repository of the working directory. Null: it is in none. */
  repo: string | null;
  /** The repositories of a session about several whose folders are open here, in the session's order (M7). Empty: it is about one. */
  repositories: readonly FolderRepository[];
  /** The turn that the next one continues from. Null: the session has none. */
  headTurnId: string | null;
}

export interface FollowedTurn {
  turnId: string;
  /** True if the turn was running when the client opened the session. */
  isAttached: boolean;
  /** Resolves when the client has received the end. Null: the client has left. Never rejects. */
  end: Promise<FollowedEnd | null>;
  /** Stops following an attached turn, which continues. */
  detach(): void;
}

/** What is needed to show a turn of the session. */
export interface FollowContext {
  opened: OpenedPorts;
  client: AcpClient;
  session: OpenSession;
  report: AcpPorts["report"];
}

export interface SessionDependencies {
  ports: AcpPorts;
  opened: OpenedPorts;
  client: AcpClient;
  mcpServers: readonly McpServer[];
}

export class OpenSession {
  readonly facts: SessionFacts;
  readonly prompts = new Set<PromptRun>();
  readonly waiting: WaitingCalls = new Map();
  /** The feed of the running turn. Null: no turn is running here. */
  feed: TurnFeed | null = null;
  /** The running turn that the client follows. Null: none. */
  followed: FollowedTurn | null = null;
  /** The messages that this client sent to the followed turn, and that the model has not received yet. */
  readonly #ownSteers: string[] = [];
  /** The ids of the client's terminals, keyed by the tool calls of the running turn. */
  readonly terminals = new Map<string, string>();
  /** The keys of calls that the user has refused for this session. */
  readonly refused = new Set<string>();
  /** The warnings about tools that the client has received. */
  readonly sentWarnings = new Set<string>();
  /** The turns of subagents whose end a running turn has already shown. */
  readonly announcedSubagents = new Set<string>();
  /** The paths of the files that prompts of this connection showed to the model. */
  readonly shownFiles = new Set<string>();
  /** What was chosen for the session when this connection read it last. */
  choice = "";
  /** True if the next turn begins with a summary of the history. */
  compactsNext = false;
  /** The session's name that the client knows. */
  name: string;
  /** The last turn that the client has seen. */
  seenTurnId: string | null;
  readonly #closing = new AbortController();
  readonly #deps: SessionDependencies;
  /** Null: the tools rest, and are opened again by the next prompt. */
  #tools: Promise<SessionTools> | null;
  readonly #running = new Set<Promise<unknown>>();
  #line: Promise<unknown> = Promise.resolve();

  constructor(facts: SessionFacts, deps: SessionDependencies) {
    this.facts = facts;
    this.name = facts.name;
    this.seenTurnId = facts.headTurnId;
    this.#deps = deps;
    // The tools are opened while the user writes the first prompt. That prompt waits for them.
    this.#tools = this.#openTools();
  }

  /** Aborts when the session is closed here. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** The tools of the session. Rejects if they could not be opened. */
  get tools(): Promise<SessionTools> {
    return (this.#tools ??= this.#openTools());
  }

  /** True if the tools are open and not in use. */
  get mayRest(): boolean {
    return this.#tools !== null && this.prompts.size === 0 && this.#running.size === 0;
  }

  /** Closes the tools and MCP servers until the next prompt, because many sessions are open. Never rejects. */
  async rest(): Promise<void> {
    const resting = this.#tools;
    this.#tools = null;
    await this.#closeTools(resting);
  }

  report(message: string, error: unknown): void {
    this.#deps.ports.report(`session ${this.facts.id}: ${message}`, error);
  }

  update(update: SessionUpdate): Promise<void> {
    return this.#deps.client.update(this.facts.id, update);
  }

  /** Runs the body after all earlier ones have ended, so that the updates of two prompts never mix. */
  async inOrder<T>(body: () => Promise<T>): Promise<T> {
    const mine = this.#line.then(body);
    this.#line = mine.catch(() => undefined);
    return await mine;
  }

  /** Keeps the tools open until the turn has ended, even if the client has left (R5). */
  holdOpenFor(turn: Promise<unknown>): void {
    const over = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#running.add(over);
    void over.then(() => this.#running.delete(over));
  }

  /** Cancels the prompts, and a followed turn that no prompt of this client began. */
  cancel(): void {
    for (const prompt of this.prompts) prompt.cancel();
    const { followed } = this;
    if (followed?.isAttached === true) void this.interrupt(followed.turnId);
  }

  /** Never rejects. */
  async interrupt(turnId: string): Promise<void> {
    const { engine, caller } = this.#deps.opened;
    try {
      await engine.turns.interrupt(caller, { turnId });
    } catch (error) {
      this.report("a cancelled turn could not be interrupted; it continues", error);
    }
  }

  /** Sends a message to a running turn. Returns false if it takes no more messages. */
  async steer(turnId: string, text: string): Promise<boolean> {
    const { engine, caller } = this.#deps.opened;
    this.#ownSteers.push(text);
    try {
      await engine.turns.steer(caller, { turnId, text });
      return true;
    } catch (error) {
      this.takeOwnSteer(text);
      if (error instanceof AptoveError && error.code === "turn_not_running") return false;
      throw error;
    }
  }

  /** Returns true, once for each message that this client has sent. */
  takeOwnSteer(text: string): boolean {
    const at = this.#ownSteers.indexOf(text);
    if (at !== -1) this.#ownSteers.splice(at, 1);
    return at !== -1;
  }

  /** Waits until everything of the session has ended, then closes its tools. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.followed?.detach();
    await this.followed?.end;
    await this.#line;
    await Promise.all(this.#running);
    await this.#closeTools(this.#tools);
  }

  async #closeTools(opened: Promise<SessionTools> | null): Promise<void> {
    const tools = await opened?.catch(() => null);
    try {
      await tools?.close();
    } catch (error) {
      this.#deps.ports.report(`the tools of session ${this.facts.id} could not be closed`, error);
    }
  }

  #openTools(): Promise<SessionTools> {
    const { opened, client, mcpServers } = this.#deps;
    const { id, folders, workspaceId, repositories } = this.facts;
    const onTerminal = (callId: string, terminalId: string): Promise<void> => this.#showTerminal(callId, terminalId);
    const opening = opened.openSessionTools({
      folders,
      ...(repositories.length > 0 && { repositories: new Map(repositories.map(({ repo, root }) => [repo, root])) }),
      workspaceId,
      mcpServers,
      files: clientFiles(client, id),
      ...(client.capabilities.terminal === true && {
        commands: clientTerminal({ client, sessionId: id, onTerminal }),
      }),
    });
    opening.catch(() => undefined);
    return opening;
  }

  async #showTerminal(callId: string, terminalId: string): Promise<void> {
    const { feed } = this;
    if (feed === null) return;
    this.terminals.set(callId, terminalId);
    await feed.shown(callId);
    await this.update({
      sessionUpdate: "tool_call_update",
      toolCallId: toolCallId(feed.turnId, callId),
      status: "in_progress",
      content: [{ type: "terminal", terminalId }],
    });
  }
}

/** A running prompt, which the client may cancel. */
export class PromptRun {
  readonly #controller = new AbortController();

  /** Aborts when the client cancels the prompt. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  cancel(): void {
    this.#controller.abort();
  }

  /** Resolves when the client cancels the prompt. Never rejects. */
  async cancelled(): Promise<null> {
    await whenAborted(this.signal);
    return null;
  }
}
