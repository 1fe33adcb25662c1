/** The client at the other end of one connection, with what sessions need of it. */
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

export class AcpClient {
  readonly #connection: () => AgentConnection;
  /** The capabilities that the client declared. Empty before `initialize`. */
  capabilities: ClientCapabilities = {};

  /** Takes a function, because the handlers exist before the connection. It is called at each use. */
  constructor(connection: () => AgentConnection) {
    this.#connection = connection;
  }

  /** True if the client shows subagents as sessions of their own, which the stable protocol does not have yet. */
  takesSubagents = false;

  get takesNotices(): boolean {
    return this.capabilities.session?.notices != null;
  }

  get showsCompactions(): boolean {
    return this.capabilities.session?.compaction != null;
  }

  /** Aborts when the connection is closed. */
  get gone(): AbortSignal {
    return this.#connection().signal;
  }

  /**
   * Sends an update. Resolves when the client's end has taken it, so that a caller that waits reads events no faster than the
   * client does (R5). Resolves too when the client leaves, even in the middle of a message; the update is then lost.
   */
  async update(sessionId: string, update: SessionUpdate): Promise<void> {
    const { gone } = this;
    if (gone.aborted) return;
    const taken = this.#connection().client.notify("session/update", { sessionId, update });
    await unlessAborted(taken, gone).catch((error: unknown) => {
      if (!gone.aborted) throw error;
    });
  }

  /** Sends a request. If the signal aborts, it stops waiting and cancels the request at the client. Rejects if the client leaves. */
  async request<M extends ClientRequestMethod>(
    method: M,
    params: ClientRequestParamsByMethod[M],
    signal: AbortSignal,
  ): Promise<ClientRequestResponsesByMethod[M]> {
    const options: SendRequestOptions = { cancellationSignal: signal, stopWaitingOnCancel: true };
    return await this.#connection().client.request(method, params, options);
  }
}
