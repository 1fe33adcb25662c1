/**
 * A strict fake of Anthropic on the real wire: `POST /v1/messages`. It refuses what the real endpoint refuses, in its
 * words; checks thinking that comes back against what it wrote; has a prompt cache; streams in the right order; and
 * can fail in every way that matters. It records every request byte for byte.
 */
import type { IncomingHttpHeaders } from "node:http";
import { type Delivery, namedEvent, refusedWith, sendEvents, sendRaw, staySilent } from "../fake-server/deliver.ts";
import {
  type CameRequest,
  type Fake,
  FakeServer,
  type FakeServerOptions,
  parseJson,
} from "../fake-server/fake-server.ts";
import { streamAnswer } from "./answer-stream.ts";
import { fault } from "./check.ts";
import { checkConversation } from "./conversation-rules.ts";
import { Prefix } from "./prefix.ts";
import { Refusal } from "./refusal.ts";
import type { FakeAnswer, FakeReply } from "./replies.ts";
import { checkFields, type MessagesBody } from "./request-rules.ts";
import { type SeenConversation, seenConversation } from "./signed-thinking.ts";
import { bindingBeta, checkThinking } from "./thinking-rules.ts";

export interface FakeAnthropicOptions extends FakeServerOptions {
  /** The only valid key; any key by default. */
  apiKey?: string;
}

export interface FakeRequest extends CameRequest {
  /** The body, if the real endpoint would accept it. */
  body: MessagesBody | null;
  /** The conversation as the model saw it: thinking may have been dropped. */
  seen: SeenConversation | null;
  /** The reason of the refusal, if the request was refused. */
  refusal: Refusal | null;
}

export type AnswerScript = (seen: SeenConversation, body: MessagesBody) => FakeReply;

/** The fake as a test sees it. Its base URL has no version in it. */
export interface FakeAnthropic extends Fake<FakeRequest, FakeReply> {
  /** Sets the script that makes the answers from now on. The default is an echo. */
  answer(script: AnswerScript): void;
}

export async function startFakeAnthropic(options: FakeAnthropicOptions = {}): Promise<FakeAnthropic> {
  const fake = new FakeAnthropicServer(options);
  await fake.listen("");
  return fake;
}

const versions = ["2023-01-01", "2023-06-01", "2026-10-21"];
const bodyBytesMax = 32 * 1024 * 1024;

class FakeAnthropicServer extends FakeServer<FakeRequest, FakeReply> implements FakeAnthropic {
  readonly #apiKey: string | undefined;
  readonly #cache = new Set<string>();
  #script: AnswerScript = echo;

  constructor({ apiKey, ...options }: FakeAnthropicOptions) {
    super(options);
    this.#apiKey = apiKey;
  }

  answer(script: AnswerScript): void {
    this.#script = script;
  }

  protected override record(came: CameRequest): FakeRequest {
    return { ...came, body: null, seen: null, refusal: null };
  }

  protected override decide(request: FakeRequest, method: string): Delivery {
    try {
      this.#admit(request, `${method} ${request.path}`);
      return this.#respond(request);
    } catch (error) {
      // A script that throws is a fault of the test. The client sees it as a server fault.
      const detail = { status: 500, type: "api_error" } as const;
      const refusal =
        error instanceof Refusal ? error : new Refusal(`The fake's script failed: ${String(error)}`, detail);
      request.refusal = refusal;
      return (outgoing) => sendRaw(outgoing, refusedWith(refusal));
    }
  }

  #admit({ headers, raw }: FakeRequest, route: string): void {
    if (route !== "POST /v1/messages") throw new Refusal("Not Found", { status: 404, type: "not_found_error" });
    const key = headers["x-api-key"] ?? /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1];
    if (key === undefined) throw unauthenticated("x-api-key header is required");
    if (this.#apiKey !== undefined && key !== this.#apiKey) throw unauthenticated("invalid x-api-key");
    const version = headers["anthropic-version"];
    if (version === undefined) throw fault("anthropic-version", "header is required");
    if (!versions.includes(String(version))) throw fault("anthropic-version", `"${version}" is not a valid version`);
    if (raw.length > bodyBytesMax) {
      throw new Refusal("Request exceeds the maximum size", { status: 413, type: "request_too_large" });
    }
  }

  #respond(request: FakeRequest): Delivery {
    const body = parseJson(request.raw, (why) => new Refusal(`The request body is not valid JSON: ${why}`), wellFormed);
    checkFields(body);
    checkConversation(body);
    checkThinking(body, betasOf(request.headers));
    const seen = seenConversation(body);
    request.body = body;
    request.seen = seen;
    const reply = this.queuedReply() ?? this.#script(seen, body);
    if (typeof reply === "string") return this.#answerWith({ output: [{ type: "text", text: reply }] }, request);
    if ("output" in reply) return this.#answerWith(reply, request);
    if ("silentUntil" in reply) return (outgoing) => staySilent(outgoing, reply.silentUntil);
    return (outgoing) => sendRaw(outgoing, reply);
  }

  #answerWith(answer: FakeAnswer, { body, seen, headers }: FakeRequest): Delivery {
    if (body === null || seen === null) throw new Refusal("there is nothing to answer", { status: 500 });
    const transformations = seen.dropped.map((dropped) => ({ type: "thinking_dropped", ...dropped }));
    const { events, message } = streamAnswer(answer, {
      id: this.newId("msg"),
      newId: (prefix) => this.newId(prefix),
      model: body.model,
      input: this.#cached(body, seen),
      prefix: seen.prefix,
      extra: betasOf(headers).includes(bindingBeta) ? { input_transformations: transformations } : {},
    });
    if (body.stream !== true) return (outgoing) => sendRaw(outgoing, { status: 200, body: message });
    const texts = events.map((event) => namedEvent({ ...event }));
    return (outgoing) => sendEvents(outgoing, texts, { ...answer, delayMs: this.eventDelayMs });
  }

  /** Reads the longest beginning that an earlier request left in the cache. */
  #cached(body: MessagesBody, { blocks }: SeenConversation): { fresh: number; read: number; written: number } {
    const prefix = new Prefix(body);
    const beginning = prefix.cacheKey;
    let read = this.#cache.has(beginning) ? prefix.tokens : 0;
    for (const { role, block } of blocks) {
      prefix.add(role, block);
      if (this.#cache.has(prefix.cacheKey)) read = prefix.tokens;
    }
    if (JSON.stringify(body.system ?? "").includes('"cache_control":{')) this.#cache.add(beginning);
    if (!body.cache_control) return { fresh: prefix.tokens - read, read, written: 0 };
    this.#cache.add(prefix.cacheKey);
    return { fresh: 0, read, written: prefix.tokens - read };
  }
}

function unauthenticated(message: string): Refusal {
  return new Refusal(message, { status: 401, type: "authentication_error" });
}

function betasOf(headers: IncomingHttpHeaders): string[] {
  return String(headers["anthropic-beta"] ?? "").split(",");
}

/** Refuses half a surrogate pair, even as an escape. */
function wellFormed(_name: string, value: unknown): unknown {
  if (typeof value === "string" && !value.isWellFormed()) throw new Refusal("no low surrogate in string");
  return value;
}

/** The default script: it repeats the last text of the user. */
const echo: AnswerScript = ({ blocks }) => {
  const last = blocks.findLast(({ role, block }) => role === "user" && block.type === "text");
  const text = last?.block.type === "text" ? last.block.text : "";
  return `Block ${blocks.length} of this conversation says: ${text}`;
};
