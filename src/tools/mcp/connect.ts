/**
 * One connection to one server (P5), on the library of the protocol. Loading this file costs a tenth of a second, so
 * whoever has no server does not import it.
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
import { StdioTransport } from "./stdio-transport.ts";

export { faultOf, isSessionLost, isTimeout } from "./server-fault.ts";

export interface ConnectRequest {
  server: McpServer;
  /** Absolute paths that the server is told of as its roots; it is started in the first. */
  folders: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** Of this program. */
  version: string;
  /** Ends the attempt, and all that it started. */
  signal: AbortSignal;
  answerForm: AnswerForm | null;
  onStderr(text: string): void;
  onListChanged(): void;
  /** What goes wrong beside the calls: lines that are no messages, answers that nobody waits for. */
  onNoise(text: string): void;
}

export interface Connection {
  /** Name and version, as the server gives them; and the version of the protocol. */
  version: string;
  protocol: string;
  /** As the server gives them; of a list without an end, the beginning. */
  listTools(signal: AbortSignal): Promise<readonly unknown[]>;
  /** Whether it will be known when the list changes; it is asked for anew otherwise. */
  hearsChanges(): boolean;
  call(request: CallRequest): Promise<CallToolResult>;
  /** Whether it still answers at all; true where the protocol has no way to ask. */
  answersPing(timeMs: number): Promise<boolean>;
  /** Resolves when the connection has ended, with the reason, in words that go on after "it". */
  ended: Promise<string>;
  close(): Promise<void>;
}

export interface CallRequest {
  name: string;
  args: Record<string, unknown>;
  signal: AbortSignal;
  /** Without a sign of life. */
  idleMs: number;
  onProgress(text: string): void;
}

/**
 * Rejects with whatever the library or the system says. Over HTTP the newest version of the protocol is asked for
 * first. Over standard output the older way is: a process that does not know the question of the new one may end, or
 * never answer. What refuses the first way is tried by the other one.
 */
export async function connect(request: ConnectRequest): Promise<Connection> {
  const [first, second] =
    request.server.type === "http" ? (["auto", "legacy"] as const) : (["legacy", "auto"] as const);
  try {
    return await connectBy(first, request);
  } catch (error) {
    if (!isRefusal(error) || request.signal.aborted) throw error;
    // Where neither way leads in, the first says why.
    return await connectBy(second, request).catch(() => Promise.reject(error));
  }
}

async function connectBy(mode: VersionNegotiationMode, request: ConnectRequest): Promise<Connection> {
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
    const told = orItsEnd(error, transport);
    await transport.close();
    throw told;
  }
  const isModern = client.getProtocolEra() === "modern";
  let hearsChanges = true;
  void client.autoOpenedSubscription?.closed.then(() => (hearsChanges = false));
  const { name = "", version = "" } = client.getServerVersion() ?? {};
  return {
    version: `${name} ${version}`.trim().slice(0, 200).toWellFormed(),
    protocol: client.getNegotiatedProtocolVersion() ?? "",
    listTools: (signal) => unlessAborted(isModern ? listModern(client, signal) : listLegacy(client, signal), signal),
    hearsChanges: () => hearsChanges,
    call: async (call) => {
      try {
        return await unlessAborted(callTool(client, call), call.signal);
      } catch (error) {
        throw orItsEnd(error, transport);
      }
    },
    answersPing: (timeMs) => (isModern ? Promise.resolve(true) : answersPing(client, timeMs)),
    ended,
    close: () => transport.close(),
  };
}

function callTool(client: Client, { name, args, signal, idleMs, onProgress }: CallRequest): Promise<CallToolResult> {
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

/** Why the connection ended says more than that it did. */
function orItsEnd(error: unknown, { why }: { why: string | null }): unknown {
  return isClosed(error) && why !== null ? new ServerEnded(why) : error;
}

function transportTo({ server, folders, env, onStderr }: ConnectRequest): StdioTransport | HttpTransport {
  if (server.type === "http") {
    const { protocol = "" } = URL.parse(server.url) ?? {};
    if (!["http:", "https:"].includes(protocol)) throw new ServerEnded("is no address of http or https");
    return new HttpTransport(server);
  }
  const inherited = DEFAULT_INHERITED_ENV_VARS.flatMap((name): [string, string][] => {
    const value = env[name];
    // Functions that a shell exported are code.
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

function makeClient(mode: VersionNegotiationMode, request: ConnectRequest): Client {
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
  Object.assign(client, { onerror: (error: Error) => request.onNoise(error.message) });
  // Servers tell of changes that have not said before that they would.
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

/** What a tool gives is text for a model, whatever its schema promises; and a schema may be made to take for ever. */
const unchecked: NonNullable<ClientOptions["jsonSchemaValidator"]> = {
  getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
};

const listPagesMax = 20;
const listPage = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** Page by page and unchecked: one tool that is described wrongly must not cost the others. */
async function listLegacy(client: Client, signal: AbortSignal): Promise<unknown[]> {
  // The library says on standard output that there are none.
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

/** By the library, which keeps what the new way of calling needs to know of each tool. */
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
    // One that does not know the word answers too.
    return isAnswer(error);
  }
}

function progressText(progress: number, total: number | undefined, message: string | undefined): string {
  const share = total === undefined ? `${progress}` : `${progress} of ${total}`;
  return message === undefined ? share : `${share}: ${message.slice(0, 500)}`;
}
