/** The client at the other end of one connection, as far as sessions need it. */
import type {
  AgentConnection,
  ClientCapabilities,
  ClientRequestMethod,
  ClientRequestParamsByMethod,
  ClientRequestResponsesByMethod,
  SendRequestOptions,
  SessionUpdate,
} from "@agentclientprotocol/sdk";
import { unlessAborted } from "../../../system/abort.ts";

export class Client {
  readonly #connection: () => AgentConnection;
  /** What it said that it can do; nothing before `initialize`. */
  capabilities: ClientCapabilities = {};

  /** The connection is asked for when it is first used: handlers are there before it. */
  constructor(connection: () => AgentConnection) {
    this.#connection = connection;
  }

  get takesNotices(): boolean {
    return this.capabilities.session?.notices != null;
  }

  /** Aborts when the connection is closed. */
  get gone(): AbortSignal {
    return this.#connection().signal;
  }

  /**
   * Resolves when the client's end has taken it, so that whoever waits reads no faster than the client does (R5); or when
   * the client is gone, which may be in the middle of that. Nobody hears what is said to it then.
   */
  async update(sessionId: string, update: SessionUpdate): Promise<void> {
    const { gone } = this;
    if (gone.aborted) return;
    const taken = this.#connection().client.notify("session/update", { sessionId, update });
    await unlessAborted(taken, gone).catch((error: unknown) => {
      if (!gone.aborted) throw error;
    });
  }

  /** Gives up waiting, and tells the client so, when the signal aborts. Rejects also when the client goes away. */
  async request<M extends ClientRequestMethod>(
    method: M,
    params: ClientRequestParamsByMethod[M],
    signal: AbortSignal,
  ): Promise<ClientRequestResponsesByMethod[M]> {
    const options: SendRequestOptions = { cancellationSignal: signal, stopWaitingOnCancel: true };
    return await this.#connection().client.request(method, params, options);
  }
}
