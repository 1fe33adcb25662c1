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
import { withKnownParts } from "./known-parts.ts";

export class SseTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  /** The reason why the connection ended, in words that follow the server's name. Null if it is open. */
  why: string | null = null;
  /** The error of the last request that got no response at all. */
  #unreachable: unknown = null;
  readonly #inner: Transport & Pick<SSEClientTransport, "setProtocolVersion">;

  constructor({ url, headers }: { url: string; headers: Record<string, string> }) {
    const bounded = boundedFetch(
      () => void this.#end(`sent a message of more than ${limits.mcpMessageBytesMax} bytes`),
    );
    this.#inner = new SSEClientTransport(new URL(url), {
      requestInit: { headers },
      fetch: async (...request) => {
        this.#unreachable = null;
        return await bounded(...request).catch((error: unknown) => {
          this.#unreachable = error;
          throw error;
        });
      },
    });
    Object.assign(this.#inner, {
      onclose: () => this.onclose?.(),
      onerror: (error: Error) => {
        this.onerror?.(error);
        if (error instanceof SseError) void this.#end("closed its stream");
      },
      onmessage: (message: JSONRPCMessage) => this.onmessage?.(withKnownParts(message)),
    });
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  async start(): Promise<void> {
    try {
      await this.#inner.start();
    } catch (error) {
      // The library's error has only a text, and not the code that says why there was no response.
      throw this.#unreachable ?? error;
    }
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
