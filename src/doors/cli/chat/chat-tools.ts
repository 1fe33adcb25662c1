/**
 * The tools that a chat offers (V5). They run in the chat's own process, in the folder where the person works,
 * whichever server runs the turns. A tool that writes or runs something needs permission; what was allowed permanently
 * is not asked again.
 */
import { failureOf } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { OfferedAlways } from "../../../domain/tool.ts";
import type { ExecuteRequest } from "../../../client/client.ts";
import { onAbort } from "../../../system/abort.ts";
import type { SessionTools } from "../../../tools/session-tools.ts";
import { failedResult, outputForModel } from "../../../tools/tool-call.ts";
import type { Tool, ToolContext, ToolResult } from "../../../tools/tool.ts";
import type { TurnOptions } from "../turn/turn-options.ts";
import { addedCopies } from "../working-copy/added-copies.ts";
import type { CliInvocation } from "../invocation.ts";
import { WrittenFiles } from "./written-files.ts";

export type ChatToolDefinition = NonNullable<ExecuteRequest["tools"]>[number];

/** Permissions that a person gave permanently, by key. */
export interface ToolPermissions {
  isAllowed(key: string): Promise<boolean>;
  allow(key: string): Promise<void>;
  /** How far a permission reaches. */
  scope: OfferedAlways["scope"];
}

/** Whole outputs that were cut for the model and that it can read again. The oldest are removed first. */
const keptOutputsCharactersMax = 33_554_432;
/** How long a stopped tool may take to end what it started, in milliseconds. */
const endMs = 1_000;

export class ChatTools {
  readonly permits: ToolPermissions;
  /** What the tools wrote, so that it can be put back. */
  readonly written = new WrittenFiles();
  readonly #open: () => Promise<SessionTools>;
  readonly #whole = new Map<string, string>();
  #opened: Promise<SessionTools> | null = null;
  #tools: ReadonlyMap<string, Tool> | null = null;
  #isClosed = false;

  constructor(open: () => Promise<SessionTools>, permits: ToolPermissions) {
    this.#open = open;
    this.permits = permits;
  }

  /** The tools work in the repository of the current folder and in those that `options` add. */
  static of(invocation: CliInvocation, workspaceId: string | null, options: TurnOptions): ChatTools {
    return new ChatTools(() => openTools(invocation, workspaceId, options), permitsOf(invocation, workspaceId));
  }

  /**
   * Starts to open the tools, so that they are ready for the first line. Faults are reported to the caller that uses
   * the tools.
   */
  begin(): void {
    if (!this.#isClosed) this.#session().catch(() => undefined);
  }

  /** Returns the definitions of the tools, and warnings about tools that are missing. */
  async offered(): Promise<{ tools: ChatToolDefinition[]; warnings: readonly string[] }> {
    const opened = await this.#session();
    const tools = await opened.tools();
    const isFirst = this.#tools === null;
    this.#tools = new Map(tools.map((tool) => [tool.definition.name, tool]));
    return { tools: tools.map(({ definition }) => definition), warnings: isFirst ? opened.warnings() : [] };
  }

  /** Finds a tool by name. Null if the chat has no such tool. */
  async find(name: string): Promise<Tool | null> {
    if (this.#tools === null) await this.offered();
    return this.#tools?.get(name) ?? null;
  }

  /** Runs a tool. Never rejects, and ends soon after the signal aborts. */
  async run(tool: Tool, args: Record<string, unknown>, context: Omit<ToolContext, "readOutput">): Promise<ToolResult> {
    const timeMs = tool.timeMs ?? limits.toolTimeMs;
    const deadline = AbortSignal.timeout(timeMs);
    const signal = AbortSignal.any([context.signal, deadline]);
    const readOutput = async (callId: string): Promise<string | null> => this.#whole.get(callId) ?? null;
    try {
      const running = tool.run(args, { ...context, signal, readOutput });
      return this.#bounded(context.callId, await Promise.race([running, untilEnded(signal)]));
    } catch (error) {
      if (context.signal.aborted) return stopped;
      if (deadline.aborted) return failedResult(`no result within ${timeMs / 1_000} s`);
      return failedResult(failureOf(error).message);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opened?.catch(() => null);
    await opened?.close();
  }

  #session(): Promise<SessionTools> {
    return (this.#opened ??= this.#open());
  }

  #bounded(callId: string, result: ToolResult): ToolResult {
    const output = outputForModel(result.output, (whole) => {
      this.#keep(callId, whole);
      return `the whole output can be read as output:${callId} while this chat runs`;
    });
    return { ...result, output };
  }

  #keep(callId: string, text: string): void {
    this.#whole.set(callId, text);
    let total = [...this.#whole.values()].reduce((sum, { length }) => sum + length, 0);
    for (const [id, { length }] of this.#whole) {
      if (total <= keptOutputsCharactersMax || id === callId) break;
      this.#whole.delete(id);
      total -= length;
    }
  }
}

const stopped: ToolResult = { output: "interrupted: the user stopped the call", isError: true };

async function openTools(
  invocation: CliInvocation,
  workspaceId: string | null,
  options: TurnOptions,
): Promise<SessionTools> {
  const own = invocation.server() === null ? workspaceId : null;
  const [{ configuration }, copy, added] = await Promise.all([
    own === null ? invocation.loaded() : invocation.loadedFor(own),
    invocation.copy(),
    addedCopies(invocation, options),
  ]);
  const copies = [copy, ...added];
  return await invocation.openSessionTools(configuration, {
    folders: copies.map(({ root }) => root),
    ...(added.length > 0 && { repositories: new Map(copies.map(({ repo, root }) => [repo, root])) }),
    workspaceId: own,
    mcpServers: [],
  });
}

/**
 * Returns the permissions of a workspace. The workspaces of another server are not on this machine; there, a permission
 * lasts for this chat.
 */
function permitsOf(invocation: CliInvocation, workspaceId: string | null): ToolPermissions {
  if (workspaceId === null || invocation.server() !== null) {
    const allowed = new Set<string>();
    return {
      isAllowed: async (key) => allowed.has(key),
      allow: async (key) => void allowed.add(key),
      scope: "chat",
    };
  }
  return {
    isAllowed: async (key) => await (await invocation.workspaces()).permissions.isAllowed(workspaceId, key),
    allow: async (key) => await (await invocation.workspaces()).permissions.allow(workspaceId, key),
    scope: "workspace",
  };
}

/** Rejects shortly after the signal aborts, so that a tool that ends in time can still report how it ended. */
function untilEnded(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    onAbort(signal, () => void setTimeout(() => reject(signal.reason), endMs).unref());
  });
}
