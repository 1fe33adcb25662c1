/**
 * The connection to a server over streamable HTTP (P5). It uses the library's transport and closes all that it leaves
 * open. A stream that ends without its response fails at once, and a stream that continues after it is closed.
 */
import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import { limits } from "../../domain/limits.ts";
import { anySignal, withinMs } from "../../system/abort.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { withKnownParts } from "./known-parts.ts";

/** The limits in milliseconds for the pause before a broken stream is opened again, whatever the server requests. */
const reconnectMs = { least: 100, most: 30_000 };
/** The time in milliseconds that a stream may continue after its response, and that ending a session may take. */
const graceMs = 1_000;

/** The JSON-RPC code for an internal error of the responding side. */
const internalError = -32_603;

export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly hasPerRequestStream = true;
  /** The reason why the connection ended, in words that follow the server's name. Null if it is open. */
  why: string | null = null;
  readonly #inner: Transport & Pick<StreamableHTTPClientTransport, "setProtocolVersion" | "terminateSession">;
  /** The open requests by id. Aborting one closes the stream of its response. */
  readonly #open = new Map<string, AbortController>();

  constructor({ url, headers }: { url: string; headers: Record<string, string> }) {
    this.#inner = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      fetch: boundedFetch(() => void this.#end(`sent a message of more than ${limits.mcpMessageBytesMax} bytes`)),
      reconnectionScheduler: (reconnect, delay) => {
        const timer = setTimeout(reconnect, Math.min(Math.max(delay, reconnectMs.least), reconnectMs.most));
        return () => clearTimeout(timer.unref());
      },
    });
    Object.assign(this.#inner, {
      onclose: () => this.onclose?.(),
      onerror: (error: Error) => this.onerror?.(error),
      onmessage: (message: JSONRPCMessage) => {
        if (!("method" in message)) this.#onResponse(`${message.id}`);
        this.onmessage?.(withKnownParts(message));
      },
    });
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  async start(): Promise<void> {
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if ("method" in message && "id" in message) {
      await this.#request(message, options);
      return;
    }
    await this.#inner.send(message, options);
    if ("method" in message && message.method === "notifications/cancelled") {
      this.#open.get(`${message.params?.["requestId"]}`)?.abort();
    }
  }

  /** Closes the connection, and ends the server's session if it has one. */
  async close(): Promise<void> {
    if (this.why === null) {
      // If the server is gone, there is no session to end.
      await withinMs(
        graceMs,
        this.#inner.terminateSession().catch(() => null),
      );
    }
    await this.#end("was closed");
  }

  async #request(message: Extract<JSONRPCMessage, { method: string; id: unknown }>, options: TransportSendOptions) {
    const { id } = message;
    const release = new AbortController();
    this.#open.set(`${id}`, release);
    const { requestSignal, onRequestStreamEnd } = options;
    try {
      await this.#inner.send(message, {
        ...options,
        requestSignal: anySignal(requestSignal, release.signal),
        onRequestStreamEnd: () => {
          onRequestStreamEnd?.();
          if (!this.#open.has(`${id}`)) return;
          const error = { code: internalError, message: "the stream ended without the response" };
          this.#inner.onmessage?.({ jsonrpc: "2.0", id, error });
        },
      });
    } catch (error) {
      this.#open.delete(`${id}`);
      throw error;
    }
  }

  #onResponse(id: string): void {
    const release = this.#open.get(id);
    if (release === undefined) return;
    this.#open.delete(id);
    setTimeout(() => release.abort(), graceMs).unref();
  }

  async #end(why: string): Promise<void> {
    this.why ??= why;
    await this.#inner.close();
  }
}
