/**
 * The connection to a server over the older transport with one event stream (P5). The library would open a broken stream
 * again, but the server has forgotten the session of the first one. So the connection ends, and the next call makes a new one.
 */
import {
  type JSONRPCMessage,
  SSEClientTransport,
  SseError,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import { limits } from "../../domain/limits.ts";
import { boundedFetch } from "./bounded-fetch.ts";

export class SseTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  /** The reason why the connection ended, in words that follow the server's name. Null if it is open. */
  why: string | null = null;
  readonly #inner: Transport & Pick<SSEClientTransport, "setProtocolVersion">;

  constructor({ url, headers }: { url: string; headers: Record<string, string> }) {
    this.#inner = new SSEClientTransport(new URL(url), {
      requestInit: { headers },
      fetch: boundedFetch(() => void this.#end(`sent a message of more than ${limits.mcpMessageBytesMax} bytes`)),
    });
    Object.assign(this.#inner, {
      onclose: () => this.onclose?.(),
      onerror: (error: Error) => {
        this.onerror?.(error);
        if (error instanceof SseError) void this.#end("closed its stream");
      },
      onmessage: (message: JSONRPCMessage) => this.onmessage?.(message),
    });
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  async start(): Promise<void> {
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    await this.#inner.send(message, options);
  }

  async close(): Promise<void> {
    await this.#end("was closed");
  }

  async #end(why: string): Promise<void> {
    this.why ??= why;
    await this.#inner.close();
  }
}
