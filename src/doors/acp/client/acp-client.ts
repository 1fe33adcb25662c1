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
import { onAbort } from "../../../system/abort.ts";

export class AcpClient {
  readonly #connection: () => AgentConnection;
  /** Ends the waits of the updates that are being sent. Null: none was sent yet. */
  #sending: Set<() => void> | null = null;
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
    const sending = this.#sendingUntil(gone);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    sending.add(resolve);
    const failed = (error: unknown): void => (gone.aborted ? resolve() : reject(error));
    this.#connection().client.notify("session/update", { sessionId, update }).then(resolve, failed);
    try {
      await promise;
    } finally {
      sending.delete(resolve);
    }
  }

  /** One listener of the signal ends all waits, because a token is too small to pay for one of its own. */
  #sendingUntil(gone: AbortSignal): Set<() => void> {
    if (this.#sending !== null) return this.#sending;
    const sending = new Set<() => void>();
    onAbort(gone, () => {
      for (const end of sending) end();
    });
    this.#sending = sending;
    return sending;
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
