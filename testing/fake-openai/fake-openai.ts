/**
 * A strict fake of OpenAI on the real wire: `POST /v1/responses` and `POST /v1/embeddings`. It refuses what
 * the real endpoint refuses, with its messages and codes; keeps chains and forgets them on demand; streams in the right
 * order; and can fail in every way that matters. It records every request byte for byte.
 */
import type { ResponseCreateParams, ResponseInputItem } from "openai/resources/responses/responses";
import { type Delivery, namedEvent, refusedWith, sendEvents, sendRaw, staySilent } from "../fake-server/deliver.ts";
import {
  type CameRequest,
  type Fake,
  FakeServer,
  type FakeServerOptions,
  parseJson,
} from "../fake-server/fake-server.ts";
import { streamAnswer, tokensOf } from "./answer-stream.ts";
import { embed } from "./embeddings.ts";
import { Refusal } from "./refusal.ts";
import type { FakeAnswer, FakeReply } from "./replies.ts";
import { checkEmbeddingsBody, checkResponsesBody } from "./request-rules.ts";
import { type ForgottenForm, ResponseMemory } from "./response-memory.ts";

export interface FakeOpenAIOptions extends FakeServerOptions {
  /** The only valid key; any key by default. */
  apiKey?: string;
}

export interface FakeRequest extends CameRequest {
  /** The body, if the real endpoint would accept it. */
  body: ResponseCreateParams | null;
  /** All that the model would see: the items of the chain, then the request's own input. */
  assembled: ResponseInputItem[] | null;
  /** The id of the response, if there was one. */
  responseId: string | null;
  /** The reason of the refusal, if the request was refused. */
  refusal: Refusal | null;
}

export type AnswerScript = (assembled: ResponseInputItem[], body: ResponseCreateParams) => FakeReply;

export interface FakeOpenAI extends Fake<FakeRequest, FakeReply> {
  /** Sets the script that makes the answers from now on. The default is an echo. */
  answer(script: AnswerScript): void;
  forget(ids: readonly string[] | "all"): void;
  forgottenForm: ForgottenForm;
}

export async function startFakeOpenai(options: FakeOpenAIOptions = {}): Promise<FakeOpenAI> {
  const fake = new FakeOpenAIServer(options);
  await fake.listen("/v1");
  return fake;
}

class FakeOpenAIServer extends FakeServer<FakeRequest, FakeReply> implements FakeOpenAI {
  readonly #memory = new ResponseMemory();
  readonly #apiKey: string | undefined;
  #script: AnswerScript = echo;

  constructor({ apiKey, ...options }: FakeOpenAIOptions) {
    super(options);
    this.#apiKey = apiKey;
  }

  get forgottenForm(): ForgottenForm {
    return this.#memory.forgottenForm;
  }
  set forgottenForm(form: ForgottenForm) {
    this.#memory.forgottenForm = form;
  }

  answer(script: AnswerScript): void {
    this.#script = script;
  }

  forget(ids: readonly string[] | "all"): void {
    this.#memory.forget(ids);
  }

  protected override record(came: CameRequest): FakeRequest {
    return { ...came, body: null, assembled: null, responseId: null, refusal: null };
  }

  protected override decide(request: FakeRequest, method: string): Delivery {
    try {
      this.#authenticate(request);
      return this.#route(request, method);
    } catch (error) {
      // A script that throws is a fault of the test. The client sees it as a server fault.
      const refusal =
        error instanceof Refusal ? error : new Refusal(`The fake's script failed: ${String(error)}`, { status: 500 });
      request.refusal = refusal;
      return (outgoing) => sendRaw(outgoing, refusedWith(refusal));
    }
  }

  #authenticate({ headers }: FakeRequest): void {
    const key = /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1];
    if (key === undefined) throw new Refusal("You didn't provide an API key.", { status: 401 });
    if (this.#apiKey === undefined || key === this.#apiKey) return;
    const masked = `${key.slice(0, 5)}***${key.slice(-4)}`;
    throw new Refusal(`Incorrect API key provided: ${masked}.`, { status: 401, code: "invalid_api_key" });
  }

  #route(request: FakeRequest, method: string): Delivery {
    const route = `${method} ${request.path}`;
    if (route === "POST /v1/responses") return this.#respond(request);
    if (route !== "POST /v1/embeddings") throw new Refusal(`Invalid URL (${route})`, { status: 404 });
    const body = parseJson(request.raw, () => new Refusal("We could not parse the JSON body of your request."));
    checkEmbeddingsBody(body);
    const answer = embed(body);
    return (outgoing) => sendRaw(outgoing, { status: 200, body: answer });
  }

  #respond(request: FakeRequest): Delivery {
    const body = parseJson(request.raw, () => new Refusal("We could not parse the JSON body of your request."));
    checkResponsesBody(body);
    request.body = body;
    const assembled = this.#memory.assemble(body);
    request.assembled = assembled;
    const reply = this.queuedReply() ?? this.#script(assembled, body);
    if (typeof reply === "string") return this.#answerWith({ output: [{ type: "message", text: reply }] }, request);
    if ("output" in reply) return this.#answerWith(reply, request);
    if ("silentUntil" in reply) return (outgoing) => staySilent(outgoing, reply.silentUntil);
    return (outgoing) => sendRaw(outgoing, reply);
  }

  #answerWith(answer: FakeAnswer, request: FakeRequest): Delivery {
    const { body, assembled } = request;
    if (body === null || assembled === null) throw new Refusal("there is nothing to answer", { status: 500 });
    const own = typeof body.input === "string" ? 1 : (body.input ?? []).length;
    const id = this.newId("resp");
    const { events, response } = streamAnswer(answer, {
      id,
      newId: (prefix) => this.newId(prefix),
      body,
      inputTokens: tokensOf(assembled),
      cachedTokens: own === assembled.length ? 0 : tokensOf(assembled.slice(0, assembled.length - own)),
    });
    request.responseId = id;
    if (body.store !== false && response.status !== "failed") this.#memory.remember(id, assembled, response.output);
    if (body.stream !== true) return (outgoing) => sendRaw(outgoing, { status: 200, body: response });
    const texts = events.map((event, number) => namedEvent({ ...event, sequence_number: number }));
    return (outgoing) => sendEvents(outgoing, texts, { ...answer, delayMs: this.eventDelayMs });
  }
}

/** The default script: it repeats the first part of the user's last message. */
const echo: AnswerScript = (assembled) => {
  const last = assembled.findLast((item) => "role" in item && item.role === "user");
  const content = last !== undefined && "content" in last ? last.content : "";
  const first = Array.isArray(content) ? content.find((part) => "text" in part) : { text: content };
  const text = first !== undefined && "text" in first ? first.text : "";
  return `Item ${assembled.length} of this context says: ${String(text)}`;
};
