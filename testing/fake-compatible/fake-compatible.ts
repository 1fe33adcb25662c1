/**
 * A strict fake of a server for chat completions: `POST /v1/chat/completions`. It refuses what any such
 * server refuses, and can answer in the styles of many servers. It records every request byte for byte.
 */
import { Refusal } from "../fake-openai/refusal.ts";
import { type Delivery, refusedWith, sendEvents, sendRaw, staySilent } from "../fake-server/deliver.ts";
import {
  type CameRequest,
  type Fake,
  FakeServer,
  type FakeServerOptions,
  parseJson,
} from "../fake-server/fake-server.ts";
import { answerChunks } from "./answer-chunks.ts";
import { type FakeAnswer, type FakeReply, modelMissing } from "./replies.ts";
import { type ChatBody, type ChatMessage, checkChatBody } from "./request-rules.ts";

export interface FakeCompatibleOptions extends FakeServerOptions {
  /** The only valid key. By default the server requires no key. */
  apiKey?: string;
  /** The models that the server has; any model by default. */
  models?: readonly string[];
}

export interface FakeRequest extends CameRequest {
  /** The body, if every server would accept it. */
  body: ChatBody | null;
  /** The reason of the refusal, if the request was refused. */
  refusal: Refusal | null;
}

export type AnswerScript = (body: ChatBody) => FakeReply;

export interface FakeCompatible extends Fake<FakeRequest, FakeReply> {
  /** Sets the script that makes the answers from now on. The default is an echo. */
  answer(script: AnswerScript): void;
}

export async function startFakeCompatible(options: FakeCompatibleOptions = {}): Promise<FakeCompatible> {
  const fake = new FakeCompatibleServer(options);
  await fake.listen("/v1");
  return fake;
}

class FakeCompatibleServer extends FakeServer<FakeRequest, FakeReply> implements FakeCompatible {
  readonly #apiKey: string | undefined;
  readonly #models: readonly string[] | undefined;
  #script: AnswerScript = echo;

  constructor({ apiKey, models, ...options }: FakeCompatibleOptions) {
    super(options);
    this.#apiKey = apiKey;
    this.#models = models;
  }

  answer(script: AnswerScript): void {
    this.#script = script;
  }

  protected override record(came: CameRequest): FakeRequest {
    return { ...came, body: null, refusal: null };
  }

  protected override decide(request: FakeRequest, method: string): Delivery {
    // Servers in Go and Python answer with plain text.
    if (`${method} ${request.path}` !== "POST /v1/chat/completions") {
      return (outgoing) => sendRaw(outgoing, { status: 404, body: "404 page not found" });
    }
    try {
      this.#authenticate(request);
      return this.#respond(request);
    } catch (error) {
      // A script that throws is a fault of the test. The client sees it as a server fault.
      const refusal =
        error instanceof Refusal ? error : new Refusal(`The fake's script failed: ${String(error)}`, { status: 500 });
      request.refusal = refusal;
      return (outgoing) => sendRaw(outgoing, refusedWith(refusal));
    }
  }

  #authenticate({ headers }: FakeRequest): void {
    if (this.#apiKey === undefined || headers.authorization === `Bearer ${this.#apiKey}`) return;
    throw new Refusal("Unauthorized", { status: 401 });
  }

  #respond(request: FakeRequest): Delivery {
    const body = parseJson(request.raw, () => new Refusal("invalid JSON"));
    checkChatBody(body);
    if (this.#models?.includes(body.model) === false) throw modelMissing(body.model);
    request.body = body;
    const reply = this.queuedReply() ?? this.#script(body);
    if (typeof reply === "string") return this.#answerWith({ output: [{ type: "text", text: reply }] }, body);
    if ("output" in reply) return this.#answerWith(reply, body);
    if ("silentUntil" in reply) return (outgoing) => staySilent(outgoing, reply.silentUntil);
    return (outgoing) => sendRaw(outgoing, reply);
  }

  #answerWith(answer: FakeAnswer, body: ChatBody): Delivery {
    if (body.stream !== true) throw new Refusal("This fake only streams.", { param: "stream" });
    const chunks = answerChunks(answer, { id: this.newId("chatcmpl"), newCallId: () => this.newId("call"), body });
    return (outgoing) => sendEvents(outgoing, chunks, { ...answer, delayMs: this.eventDelayMs });
  }
}

/** The default script: it repeats the last message. */
const echo: AnswerScript = ({ messages }) =>
  `Message ${messages.length} of this conversation says: ${textOf(messages.at(-1))}`;

function textOf(message: ChatMessage | undefined): string {
  const content = message?.content ?? "";
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "[image]")).join("");
}
