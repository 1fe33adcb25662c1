/**
 * What the fakes of providers share: a server on a port of its own that records every request byte for byte,
 * answers from a queue, and gives ids that are unique and the same in every run.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Delivery } from "./deliver.ts";

export interface FakeServerOptions {
  /** Between two events of a stream; 0, if absent. */
  eventDelayMs?: number;
  /** Part of every id, so that ids of two fakes differ; random, if absent. */
  tag?: string;
}

/** A request as it came. */
export interface CameRequest {
  path: string;
  headers: IncomingMessage["headers"];
  /** The exact body. */
  raw: Buffer;
  /** Resolves when the answer has ended: sent to its planned end, or left by the client before. */
  ended: Promise<"sent" | "left">;
}

/** What a test sees of a fake, whoever it fakes. */
export interface Fake<Request, Reply> {
  /** For a client's base URL. */
  readonly url: string;
  readonly requests: readonly Request[];
  /** Resolves with the n-th request, from 1, once it has come. */
  request(n: number): Promise<Request>;
  /** Answers for the next valid requests, one each, before the script is asked again. */
  next(...replies: Reply[]): void;
  eventDelayMs: number;
  close(): Promise<void>;
}

export abstract class FakeServer<Request extends CameRequest, Reply> implements Fake<Request, Reply> {
  url = "";
  eventDelayMs: number;
  readonly requests: Request[] = [];
  readonly #server = createServer((incoming, outgoing) => void this.#serve(incoming, outgoing));
  readonly #tag: string;
  readonly #queue: Reply[] = [];
  readonly #awaited = new Map<number, PromiseWithResolvers<Request>>();
  #ids = 0;

  constructor({ eventDelayMs = 0, tag = randomBytes(8).toString("hex") }: FakeServerOptions) {
    this.#tag = tag;
    this.eventDelayMs = eventDelayMs;
  }

  /** The record that a request gets, before it is judged. */
  protected abstract record(came: CameRequest): Request;

  /** What the request gets for an answer. Notes in the record what was found. Must not throw. */
  protected abstract decide(request: Request, method: string): Delivery;

  /** `path` is what the base URL ends with, for example `/v1`. */
  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  next(...replies: Reply[]): void {
    this.#queue.push(...replies);
  }

  request(n: number): Promise<Request> {
    const come = this.requests[n - 1];
    if (come !== undefined) return Promise.resolve(come);
    const awaited = this.#awaited.get(n) ?? Promise.withResolvers<Request>();
    this.#awaited.set(n, awaited);
    return awaited.promise;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  /** What `next` was told for this request, if anything. */
  protected queuedReply(): Reply | undefined {
    return this.#queue.shift();
  }

  protected newId(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${this.#tag}${String(this.#ids).padStart(6, "0")}`;
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const ended = Promise.withResolvers<"sent" | "left">();
    outgoing.once("close", () => ended.resolve(outgoing.writableFinished ? "sent" : "left"));
    const request = this.record({
      path: incoming.url ?? "",
      headers: incoming.headers,
      raw: await buffer(incoming),
      ended: ended.promise,
    });
    const deliver = this.decide(request, incoming.method ?? "");
    this.#awaited.get(this.requests.push(request))?.resolve(request);
    await deliver(outgoing);
  }
}

/** Parses a body as JSON. If it is not JSON, throws the error that the fake makes of the reason. */
export function parseJson(
  raw: Buffer,
  errorFor: (reason: string) => Error,
  revive?: (name: string, value: unknown) => unknown,
): unknown {
  try {
    return JSON.parse(raw.toString("utf8"), revive);
  } catch (error) {
    throw errorFor(error instanceof Error ? error.message : String(error));
  }
}
