/**
 * Opens one connection to one server (P5), with the protocol's library. Loading this file takes a tenth of a second, so it
 * is imported only if there is a server.
 */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type CallToolResult,
  Client,
  type ClientCapabilities,
  type ClientOptions,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { DEFAULT_INHERITED_ENV_VARS } from "@modelcontextprotocol/client/stdio";
import * as z from "zod";
import { limits } from "../../domain/limits.ts";
import { unlessAborted } from "../../system/abort.ts";
import type { McpServer } from "../session-tools.ts";
import type { AnswerForm } from "./answer-form.ts";
import { HttpTransport } from "./http-transport.ts";
import { isAnswer, isClosed, isRefusal, ServerEnded } from "./server-fault.ts";
import { SseTransport } from "./sse-transport.ts";
import { StdioTransport } from "./stdio-transport.ts";

export { faultOf, isSessionLost, isTimeout } from "./server-fault.ts";

export interface McpConnectionRequest {
  server: McpServer;
  /** Absolute paths, which the server receives as its roots. It is started in the first one. */
  folders: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** The version of this program. */
  version: string;
  /** Ends the attempt and all processes that it started. */
  signal: AbortSignal;
  answerForm: AnswerForm | null;
  onStderr(text: string): void;
  onListChanged(): void;
  /** Receives errors outside of calls: lines that are not messages, and responses without a request. */
  onConnectionError(text: string): void;
}

export interface McpConnection {
  /** The server's name and version, as it reports them. */
  version: string;
  /** The version of the protocol. */
  protocol: string;
  /** Returns the tools as the server lists them. Of a list without an end, returns the beginning. */
  listTools(signal: AbortSignal): Promise<readonly unknown[]>;
  /** Returns true if the server reports changes of the list. If not, the list must be read again each time. */
  reportsListChanges(): boolean;
  call(request: McpCallRequest): Promise<CallToolResult>;
  /** Returns true if the server still responds. Also returns true if the protocol has no ping. */
  answersPing(timeMs: number): Promise<boolean>;
  /** Resolves when the connection has ended, with the reason in words that follow the server's name. */
  ended: Promise<string>;
  close(): Promise<void>;
}

export interface McpCallRequest {
  name: string;
  args: Record<string, unknown>;
  signal: AbortSignal;
  /** The longest time in milliseconds without progress. */
  idleMs: number;
  onProgress(text: string): void;
}

/**
 * Connects to a server. Rejects with the error of the library or the system. Over HTTP, the newest version of the protocol
 * is tried first. Over standard output, the older one is tried first: a process that does not know the newer handshake may
 * exit or never respond. If the server refuses the first version, the other one is tried.
 */
export async function connectMcpServer(request: McpConnectionRequest): Promise<McpConnection> {
  // Servers with the older transport do not know the newer version.
  if (request.server.type === "sse") return await connectBy("legacy", request);
  const [first, second] =
    request.server.type === "http" ? (["auto", "legacy"] as const) : (["legacy", "auto"] as const);
  try {
    return await connectBy(first, request);
  } catch (error) {
    if (!isRefusal(error) || request.signal.aborted) throw error;
    // If both fail, the first error is the reason.
    return await connectBy(second, request).catch(() => Promise.reject(error));
  }
}

async function connectBy(mode: VersionNegotiationMode, request: McpConnectionRequest): Promise<McpConnection> {
  const transport = transportTo(request);
  const client = makeClient(mode, request);
  const ended = new Promise<string>((resolve) => {
    Object.assign(client, { onclose: () => resolve(transport.why ?? "ended") });
  });
  try {
    // The library has waits that its own signal does not end.
    await unlessAborted(
      client.connect(transport, { timeout: limits.mcpStartMs, signal: request.signal }),
      request.signal,
    );
  } catch (error) {
    const reason = orEndReason(error, transport);
    await transport.close();
    throw reason;
  }
  const isModern = client.getProtocolEra() === "modern";
  let reportsChanges = true;
  void client.autoOpenedSubscription?.closed.then(() => (reportsChanges = false));
  const { name = "", version = "" } = client.getServerVersion() ?? {};
  return {
    version: `${name} ${version}`.trim().slice(0, 200).toWellFormed(),
    protocol: client.getNegotiatedProtocolVersion() ?? "",
    listTools: (signal) => unlessAborted(isModern ? listModern(client, signal) : listLegacy(client, signal), signal),
    reportsListChanges: () => reportsChanges,
    call: async (call) => {
      try {
        return await unlessAborted(callTool(client, call), call.signal);
      } catch (error) {
        throw orEndReason(error, transport);
      }
    },
    answersPing: (timeMs) => (isModern ? Promise.resolve(true) : answersPing(client, timeMs)),
    ended,
    close: () => transport.close(),
  };
}

function callTool(client: Client, { name, args, signal, idleMs, onProgress }: McpCallRequest): Promise<CallToolResult> {
  return client.callTool(
    { name, arguments: args },
    {
      signal,
      timeout: idleMs,
      resetTimeoutOnProgress: true,
      onprogress: ({ progress, total, message }) => onProgress(progressText(progress, total, message)),
    },
  );
}

/** Returns the reason for the end of the connection if there is one, because it is more specific than the error. */
function orEndReason(error: unknown, { why }: { why: string | null }): unknown {
  return isClosed(error) && why !== null ? new ServerEnded(why) : error;
}

function transportTo({
  server,
  folders,
  env,
  onStderr,
}: McpConnectionRequest): StdioTransport | HttpTransport | SseTransport {
  if (server.type !== "stdio") {
    const { protocol = "" } = URL.parse(server.url) ?? {};
    if (!["http:", "https:"].includes(protocol)) throw new ServerEnded("has no address with http or https");
    return server.type === "sse" ? new SseTransport(server) : new HttpTransport(server);
  }
  const inherited = DEFAULT_INHERITED_ENV_VARS.flatMap((name): [string, string][] => {
    const value = env[name];
    // A value that begins with `()` is an exported shell function, which is code.
    return value === undefined || value.startsWith("()") ? [] : [[name, value]];
  });
  const { command, args } = server;
  return new StdioTransport({
    command,
    args,
    env: { ...Object.fromEntries(inherited), ...server.env },
    cwd: folders[0] ?? null,
    onStderr,
  });
}

function makeClient(mode: VersionNegotiationMode, request: McpConnectionRequest): Client {
  const { folders, answerForm, server } = request;
  const capabilities: ClientCapabilities = {
    ...(folders.length > 0 && { roots: {} }),
    ...(answerForm !== null && { elicitation: { form: { applyDefaults: true } } }),
  };
  const client = new Client(
    { name: "aptove", version: request.version },
    {
      capabilities,
      versionNegotiation: { mode },
      listMaxPages: listPagesMax,
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => request.onListChanged() } },
      jsonSchemaValidator: unchecked,
    },
  );
  Object.assign(client, { onerror: (error: Error) => request.onConnectionError(error.message) });
  // Some servers report changes without having declared it.
  client.setNotificationHandler("notifications/tools/list_changed", () => request.onListChanged());
  if (folders.length > 0) {
    client.setRequestHandler("roots/list", () => ({
      roots: folders.map((folder) => ({ uri: pathToFileURL(folder).href, name: basename(folder) })),
    }));
  }
  if (answerForm !== null) {
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) => {
      if (!("requestedSchema" in params)) return { action: "decline" };
      const { message, requestedSchema } = params;
      return await answerForm({ server: server.name, message, schema: requestedSchema, signal: mcpReq.signal });
    });
  }
  return client;
}

/** Skips the check of results against the tool's schema. The result is only text for a model, and a malicious schema may take unlimited time. */
const unchecked: NonNullable<ClientOptions["jsonSchemaValidator"]> = {
  getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
};

const listPagesMax = 20;
const listPage = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** Lists the tools page by page and unchecked, so that one invalid tool does not cost the others. */
async function listLegacy(client: Client, signal: AbortSignal): Promise<unknown[]> {
  // Without this check, the library prints to standard output that the server has no tools.
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const pages: unknown[][] = [];
  let count = 0;
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: "tools/list", params }, listPage, {
      signal,
      timeout: limits.mcpStartMs,
    });
    pages.push(page.tools);
    count += page.tools.length;
    cursor = page.nextCursor;
  } while (cursor !== undefined && pages.length < listPagesMax && count <= limits.mcpToolsListedMax);
  return pages.flat();
}

/** Lists the tools by the library, which remembers facts about each tool that calls with the new protocol need. */
async function listModern(client: Client, signal: AbortSignal): Promise<unknown[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const { tools } = await client.listTools(undefined, { signal, timeout: limits.mcpStartMs, cacheMode: "refresh" });
  return tools;
}

async function answersPing(client: Client, timeMs: number): Promise<boolean> {
  try {
    await client.ping({ timeout: timeMs });
    return true;
  } catch (error) {
    // A server that does not know `ping` responds with an error, which is a response too.
    return isAnswer(error);
  }
}

function progressText(progress: number, total: number | undefined, message: string | undefined): string {
  const share = total === undefined ? `${progress}` : `${progress} of ${total}`;
  return message === undefined ? share : `${share}: ${message.slice(0, 500)}`;
}
