/** A session that a client has open on its connection: its folders, tools and settings, and the prompts that run in it. */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { whenAborted } from "../../../system/abort.ts";
import type { McpServer, SessionTools } from "../../../tools/session-tools.ts";
import type { Client } from "../client/client.ts";
import { clientFiles } from "../client/client-files.ts";
import { clientTerminal } from "../client/client-terminal.ts";
import type { AcpPorts, OpenedPorts } from "../ports.ts";
import type { SessionOptions } from "./session-options.ts";
import type { TurnFeed } from "./turn-feed.ts";
import { toolCallId, type WaitingCalls } from "./turn-updates.ts";

export interface SessionFacts {
  id: string;
  /** Whose configuration, permissions and MCP servers count. */
  workspaceId: string;
  /** Absolute; the first is the working directory. */
  folders: readonly [string, ...string[]];
  options: SessionOptions;
  name: string;
  /** The repository of the folders; null: they belong to none. */
  repo: string | null;
  /** The turn that it goes on from; null: it has none. */
  headTurnId: string | null;
}

export interface SessionSurroundings {
  ports: AcpPorts;
  opened: OpenedPorts;
  client: Client;
  mcpServers: readonly McpServer[];
}

export class OpenSession {
  readonly facts: SessionFacts;
  readonly prompts = new Set<PromptRun>();
  readonly waiting: WaitingCalls = new Map();
  /** Of the turn that runs here; null: none does. */
  feed: TurnFeed | null = null;
  /** The client's terminals by the calls of the running turn. */
  readonly terminals = new Map<string, string>();
  /** What was said of the tools. */
  readonly warned = new Set<string>();
  /** Turns of subagents whose end was told by a turn that ran then. */
  readonly toldSubagents = new Set<string>();
  /** As the client knows them. */
  name: string;
  seenTurnId: string | null;
  readonly #around: SessionSurroundings;
  readonly #tools: Promise<SessionTools>;
  readonly #running = new Set<Promise<unknown>>();
  #line: Promise<unknown> = Promise.resolve();

  constructor(facts: SessionFacts, around: SessionSurroundings) {
    this.facts = facts;
    this.name = facts.name;
    this.seenTurnId = facts.headTurnId;
    this.#around = around;
    // This goes on while the person writes the first prompt, and is waited for then.
    this.#tools = this.#openTools();
    this.#tools.catch(() => undefined);
  }

  /** Rejects where the session's tools could not be opened. */
  get tools(): Promise<SessionTools> {
    return this.#tools;
  }

  report(message: string, error: unknown): void {
    this.#around.ports.report(`session ${this.facts.id}: ${message}`, error);
  }

  update(update: SessionUpdate): Promise<void> {
    return this.#around.client.update(this.facts.id, update);
  }

  /** Runs the body after all that came before it: what the client sees of two prompts never mixes. */
  async inLine<T>(body: () => Promise<T>): Promise<T> {
    const mine = this.#line.then(body);
    this.#line = mine.catch(() => undefined);
    return await mine;
  }

  /** Tools are not closed under a turn that still uses them, also when the client is gone (R5). */
  holdOpenFor(turn: Promise<unknown>): void {
    const over = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#running.add(over);
    void over.then(() => this.#running.delete(over));
  }

  cancel(): void {
    for (const prompt of this.prompts) prompt.cancel();
  }

  /** Resolves when nothing of it runs any more. */
  async close(): Promise<void> {
    await this.#line;
    await Promise.all(this.#running);
    const tools = await this.#tools.catch(() => null);
    try {
      await tools?.close();
    } catch (error) {
      this.#around.ports.report(`the tools of session ${this.facts.id} could not be closed`, error);
    }
  }

  #openTools(): Promise<SessionTools> {
    const { opened, client, mcpServers } = this.#around;
    const { id, folders, workspaceId } = this.facts;
    const onTerminal = (callId: string, terminalId: string): Promise<void> => this.#showTerminal(callId, terminalId);
    return opened.openSessionTools({
      folders,
      workspaceId,
      mcpServers,
      files: clientFiles(client, id),
      ...(client.capabilities.terminal === true && {
        commands: clientTerminal({ client, sessionId: id, onTerminal }),
      }),
    });
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

/** A prompt that is being answered, and whether the client still wants it. */
export class PromptRun {
  readonly #controller = new AbortController();

  /** Aborts when the client cancels the prompt. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  cancel(): void {
    this.#controller.abort();
  }

  /** Resolves at the cancellation; never rejects. */
  async cancelled(): Promise<null> {
    await whenAborted(this.signal);
    return null;
  }
}
