/**
 * A server at an address, over streamable HTTP (P5): the library's transport, with an end to all that it leaves open.
 * An answer whose stream ends without it is a failure at once, and a stream that goes on after its answer is closed.
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

/** Between a stream that was cut and the next try, whatever the server asks for. */
const reconnectMs = { least: 100, most: 30_000 };
/** How long a stream may go on once its answer is there, and how long the goodbye of a session may take. */
const graceMs = 1_000;

/** The code of JSON-RPC for a fault of whoever answers. */
const internalError = -32_603;

export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly hasPerRequestStream = true;
  /** Why it ended, in words that go on after "it"; null: it has not. */
  why: string | null = null;
  readonly #inner: Transport & Pick<StreamableHTTPClientTransport, "setProtocolVersion" | "terminateSession">;
  /** Requests without an answer, by their ids: aborting one ends the stream that its answer would come in. */
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
        if (!("method" in message)) this.#answered(`${message.id}`);
        this.onmessage?.(message);
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
      await this.#ask(message, options);
      return;
    }
    await this.#inner.send(message, options);
    if ("method" in message && message.method === "notifications/cancelled") {
      this.#open.get(`${message.params?.["requestId"]}`)?.abort();
    }
  }

  /** Ends the server's session too, where it has one. */
  async close(): Promise<void> {
    if (this.why === null) {
      // A server that is gone has no session either.
      await withinMs(
        graceMs,
        this.#inner.terminateSession().catch(() => null),
      );
    }
    await this.#end("was closed");
  }

  async #ask(message: Extract<JSONRPCMessage, { method: string; id: unknown }>, options: TransportSendOptions) {
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
          const error = { code: internalError, message: "the stream of the answer ended without it" };
          this.#inner.onmessage?.({ jsonrpc: "2.0", id, error });
        },
      });
    } catch (error) {
      this.#open.delete(`${id}`);
      throw error;
    }
  }

  #answered(id: string): void {
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
