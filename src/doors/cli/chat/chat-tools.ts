/**
 * The tools that a chat brings along (V5): they run in its own process, in the folder where the person works, whichever
 * server runs the turns. What writes or runs is asked for first; what was allowed for ever is not asked for again.
 */
import { failureOf } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { ExecuteRequest } from "../../../client/client.ts";
import { onAbort } from "../../../system/abort.ts";
import type { SessionTools } from "../../../tools/session-tools.ts";
import { failed, outputForModel } from "../../../tools/tool-call.ts";
import type { Tool, ToolContext, ToolResult } from "../../../tools/tool.ts";
import type { Call } from "../call.ts";

export type OfferedTool = NonNullable<ExecuteRequest["tools"]>[number];

/** What somebody allowed for ever, by key. */
export interface Permits {
  isAllowed(key: string): Promise<boolean>;
  allow(key: string): Promise<void>;
  /** For how long that is: `in this workspace`. */
  scope: string;
}

/** Outputs that were cut for the model, and can be asked for again; the oldest go first. */
const keptOutputsCharactersMax = 33_554_432;
/** How long a tool that was stopped may take to end what it started. */
const endMs = 1_000;

export class ChatTools {
  readonly permits: Permits;
  readonly #open: () => Promise<SessionTools>;
  readonly #whole = new Map<string, string>();
  #opened: Promise<SessionTools> | null = null;
  #tools: ReadonlyMap<string, Tool> | null = null;
  #isClosed = false;

  constructor(open: () => Promise<SessionTools>, permits: Permits) {
    this.#open = open;
    this.permits = permits;
  }

  static of(call: Call, workspaceId: string | null): ChatTools {
    return new ChatTools(() => openTools(call, workspaceId), permitsOf(call, workspaceId));
  }

  /** Begins to start them, so that they are there when the first line is said. Whoever asks for them is told of faults. */
  begin(): void {
    if (!this.#isClosed) this.#session().catch(() => undefined);
  }

  /** Their definitions, and what to say of those that are not there. */
  async offered(): Promise<{ tools: OfferedTool[]; warnings: readonly string[] }> {
    const opened = await this.#session();
    const tools = await opened.tools();
    const isFirst = this.#tools === null;
    this.#tools = new Map(tools.map((tool) => [tool.definition.name, tool]));
    return { tools: tools.map(({ definition }) => definition), warnings: isFirst ? opened.warnings() : [] };
  }

  /** Null: there is no such tool here. */
  async find(name: string): Promise<Tool | null> {
    if (this.#tools === null) await this.offered();
    return this.#tools?.get(name) ?? null;
  }

  /** Never rejects, and ends soon after the signal aborts. */
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
      if (deadline.aborted) return failed(`no result within ${timeMs / 1_000} s`);
      return failed(failureOf(error).message);
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
      return `all of it is kept as output:${callId} while this chat goes on`;
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

async function openTools(call: Call, workspaceId: string | null): Promise<SessionTools> {
  const own = call.server() === null ? workspaceId : null;
  const [{ configuration }, { root }] = await Promise.all([
    own === null ? call.loaded() : call.loadedFor(own),
    call.copy(),
  ]);
  return await call.openSessionTools(configuration, { folders: [root], workspaceId: own, mcpServers: [] });
}

/** Another server's workspaces are not this machine's: there, what is allowed is allowed for this chat. */
function permitsOf(call: Call, workspaceId: string | null): Permits {
  if (workspaceId === null || call.server() !== null) {
    const allowed = new Set<string>();
    return {
      isAllowed: async (key) => allowed.has(key),
      allow: async (key) => void allowed.add(key),
      scope: "in this chat",
    };
  }
  return {
    isAllowed: async (key) => await (await call.workspaces()).permissions.isAllowed(workspaceId, key),
    allow: async (key) => await (await call.workspaces()).permissions.allow(workspaceId, key),
    scope: "in this workspace",
  };
}

/** A little after it aborts, so that what ends in time can still say how it ended. */
function untilEnded(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    onAbort(signal, () => void setTimeout(() => reject(signal.reason), endMs).unref());
  });
}
