/**
 * The base of the fake providers: a server on its own port that records every request byte for byte,
 * answers from a queue, and makes ids that are unique and the same in every run.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Delivery } from "./deliver.ts";

export interface FakeServerOptions {
  /** Milliseconds between two events of a stream; 0 by default. */
  eventDelayMs?: number;
  /** A part of every id, so that ids of two fakes differ; random by default. */
  tag?: string;
}

/** A request as it arrived. */
export interface CameRequest {
  path: string;
  headers: IncomingMessage["headers"];
  /** The exact body. */
  raw: Buffer;
  /** Resolves when the answer has ended: it was sent to its planned end, or the client left before. */
  ended: Promise<"sent" | "left">;
}

/** A fake as a test sees it, for any provider. */
export interface Fake<Request, Reply> {
  /** The base URL for a client. */
  readonly url: string;
  readonly requests: readonly Request[];
  /** Resolves with the n-th request, counted from 1, when it has arrived. */
  request(n: number): Promise<Request>;
  /** Queues answers for the next valid requests, one each. Then the script answers again. */
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

  /** Makes the record of a request, before the request is checked. */
  protected abstract record(came: CameRequest): Request;

  /** Chooses the answer of a request and completes its record. Must not throw. */
  protected abstract decide(request: Request, method: string): Delivery;

  /** Starts the server. `path` is the end of the base URL, for example `/v1`. */
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

  /** Returns the answer that `next` queued for this request, if there is one. */
  protected queuedReply(): Reply | undefined {
    return this.#queue.shift();
  }

  protected newId(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${this.#tag}${String(this.#ids).padStart(6, "0")}`;
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (incoming.method === "GET" && /\/models(?:\?|$)/.test(incoming.url ?? "")) return sendModels(outgoing);
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

/** Parses a body as JSON. If it is not JSON, throws the error that `errorFor` makes of the reason. */
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

/** Answers with a list of models in the fields of every wire. It is no request to a model, so it is not recorded. */
function sendModels(outgoing: ServerResponse): void {
  const chat = { id: "model-of-the-account", name: "models/model-of-the-account", context_length: 123_456 };
  const older = { id: "gpt-5.1", name: "models/gpt-5.1" };
  const list = [chat, older, { id: "some-embedding-model", name: "models/some-embedding-model" }];
  outgoing.writeHead(200, { "content-type": "application/json" });
  outgoing.end(JSON.stringify({ data: list, models: list }));
}
