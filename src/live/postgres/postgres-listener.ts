/**
 * The one connection of this process that listens (`LISTEN`). It is opened for the first subscriber, and opened again whenever
 * it breaks. Until then no notification arrives, and listeners poll.
 */
import type { Client, ClientConfig } from "pg";
import { limits } from "../../domain/limits.ts";
import { pause } from "../../system/abort.ts";
import { apart } from "../../system/apart.ts";
import { RepeatedFault, type Report } from "../../system/repeated-fault.ts";
import { keepConnected } from "../keep-connected.ts";

export interface PostgresListenerOptions {
  settings: ClientConfig;
  channels: readonly string[];
  onMessage(channel: string, payload: string): void;
  /** Called if a notification may have been missed: the connection broke, or was restored. */
  onMissed(): void;
  report: Report;
}

export class PostgresListener {
  readonly #options: PostgresListenerOptions;
  readonly #closing = new AbortController();
  #keeping: Promise<void> | null = null;
  #isConnected = false;
  readonly #broken: RepeatedFault;

  constructor(options: PostgresListenerOptions) {
    this.#options = options;
    this.#broken = new RepeatedFault(
      options.report,
      "the connection that listens for notifications broke; until it is restored, events of other servers arrive later",
    );
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  start(): void {
    if (!this.#closing.signal.aborted) this.#keeping ??= apart(() => this.#keep());
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#keeping;
  }

  async #keep(): Promise<void> {
    const failed = (error: unknown): void => this.#broken.failed(error);
    await keepConnected({ connect: (opened) => this.#listen(opened), failed }, this.#closing.signal);
  }

  /** Listens until the connection breaks. Rejects if it could not be opened, or does not respond any more. */
  async #listen(opened: () => void): Promise<void> {
    const { settings, channels, onMessage, onMissed } = this.#options;
    const { Client } = (await import("pg")).default;
    const client: Client = new Client(settings);
    const broken = new AbortController();
    client.on("error", () => broken.abort());
    client.on("end", () => broken.abort());
    client.on("notification", ({ channel, payload = "" }) => onMessage(channel, payload));
    // A server that hangs does not close the connection properly.
    const hangUp = (): void => void client.connection.stream.destroy();
    this.#closing.signal.addEventListener("abort", hangUp);
    try {
      await client.connect();
      await client.query(channels.map((channel) => `listen ${channel}`).join(";"));
      this.#isConnected = true;
      this.#broken.succeeded();
      opened();
      onMissed();
      await this.#check(client, AbortSignal.any([broken.signal, this.#closing.signal]));
    } finally {
      const wasConnected = this.#isConnected;
      this.#isConnected = false;
      if (wasConnected) onMissed();
      this.#closing.signal.removeEventListener("abort", hangUp);
      hangUp();
    }
  }

  /** Checks regularly whether the server responds: a connection that the network dropped reports nothing by itself. */
  async #check(client: Client, end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      await pause(limits.liveCheckMs, end);
      if (!end.aborted) await client.query("select 1");
    }
  }
}
