/**
 * The one connection of this process to Redis, for commands and for messages. It is opened again whenever it breaks. No caller
 * waits for Redis: while it is unreachable or does not respond in time, its commands fail, and the log behind it takes over.
 */
import type { RedisClientType } from "@redis/client";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { pause } from "../../system/abort.ts";
import { RepeatedFault, type Report } from "../../system/repeated-fault.ts";
import { keepConnected } from "../keep-connected.ts";

export interface RedisConnectionOptions {
  url: string;
  channels: readonly string[];
  onMessage(channel: string, message: string): void;
  /** Called if a message may have been missed: the connection broke, or was restored. */
  onMissed(): void;
  report: Report;
}

export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #closing = new AbortController();
  readonly #keeping: Promise<void>;
  /** The open connection. Null while Redis is unreachable. */
  #open: { client: RedisClientType; broken: AbortController } | null = null;
  readonly #unreachable: RepeatedFault;
  /** The time at which Redis became unreachable, by the clock of the process. */
  #awaySince = performance.now();

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#unreachable = new RepeatedFault(
      options.report,
      "Redis is unreachable; until it is back, events are read from the log behind it",
    );
    this.#keeping = this.#keep();
  }

  get isConnected(): boolean {
    return this.#open !== null;
  }

  /** Runs a command. Rejects at once while Redis is unreachable, else after a timeout, and then closes the connection. */
  async ask<T>(command: (client: RedisClientType) => Promise<T>): Promise<T> {
    if (this.#open === null) throw new AptoveError("storage_failed", "Redis is unreachable");
    const { client, broken } = this.#open;
    try {
      return await inTime(command(client));
    } catch (error) {
      if (error instanceof AptoveError) broken.abort(error);
      throw error;
    }
  }

  /** Asks again until Redis responds, unless it has been unreachable for a while. Then it has no event that the log behind it lacks. */
  async patiently<T>(ask: () => Promise<T>): Promise<T> {
    const begun = performance.now();
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        const since = this.#open === null ? Math.min(begun, this.#awaySince) : begun;
        if (this.#closing.signal.aborted || performance.now() - since > limits.redisAwayMsMax) throw error;
        await pause(limits.liveReconnectMs, this.#closing.signal);
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#keeping;
  }

  async #keep(): Promise<void> {
    const failed = (error: unknown): void => this.#unreachable.failed(error);
    await keepConnected({ connect: (opened) => this.#connect(opened), failed }, this.#closing.signal);
  }

  /** Keeps one connection until it breaks. Rejects with the reason, also if it could not be opened. */
  async #connect(opened: () => void): Promise<void> {
    const { url, channels, onMessage, onMissed } = this.#options;
    const { createClient } = await import("@redis/client");
    const client: RedisClientType = createClient(clientOptions(url));
    const broken = new AbortController();
    client.on("error", (error) => broken.abort(error));
    const end = AbortSignal.any([broken.signal, this.#closing.signal]);
    try {
      await inTime(client.connect());
      await inTime(client.subscribe([...channels], (message, channel) => onMessage(channel, message)));
      this.#open = { client, broken };
      this.#unreachable.succeeded();
      opened();
      onMissed();
      while (!end.aborted) {
        await pause(limits.liveCheckMs, end);
        if (!end.aborted) await inTime(client.ping());
      }
      broken.signal.throwIfAborted();
    } finally {
      if (this.#open !== null) {
        this.#open = null;
        this.#awaySince = performance.now();
        onMissed();
      }
      if (client.isOpen) client.destroy();
    }
  }
}

/** Returns the options of a client that fails at once instead of retrying by itself. */
export function clientOptions(url: string) {
  return {
    url,
    RESP: 3,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
    socket: { connectTimeout: limits.redisAnswerMsMax, reconnectStrategy: false },
  } as const;
}

/** Adds the timeout to a response. A response that has arrived counts, even if this process was too busy to read it. */
export async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const fail = (): void => late.reject(new AptoveError("storage_failed", "Redis does not respond"));
  const timer = setTimeout(() => setImmediate(fail), limits.redisAnswerMsMax);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
    late.promise.catch(() => undefined);
    answer.catch(() => undefined);
  }
}
