/**
 * A strict fake of Google's Gemini API on the real wire: `POST /v1beta/models/<model>:streamGenerateContent?alt=sse`.
 * It refuses what the real endpoint refuses, in its words; signs parts and requires the signatures back where they
 * belong; and can fail in every way that matters. It records every request byte for byte.
 */
import { type Delivery, refusedWith, sendEvents, sendRaw, staySilent } from "../fake-server/deliver.ts";
import {
  type CameRequest,
  type Fake,
  FakeServer,
  type FakeServerOptions,
  parseJson,
} from "../fake-server/fake-server.ts";
import { answerChunks } from "./answer-chunks.ts";
import { GoogleRefusal } from "./refusal.ts";
import { apiKeyInvalid, type FakeAnswer, type FakeReply } from "./replies.ts";
import { checkGenerateBody, type GenerateBody } from "./request-rules.ts";

export interface FakeGoogleOptions extends FakeServerOptions {
  /** The only valid key; any key by default. */
  apiKey?: string;
  /** The models that the server has; any model by default. */
  models?: readonly string[];
}

export interface FakeRequest extends CameRequest {
  /** The model in the address. */
  model: string | null;
  /** The body, if the real endpoint would accept it. */
  body: GenerateBody | null;
  /** The reason of the refusal, if the request was refused. */
  refusal: GoogleRefusal | null;
}

export type AnswerScript = (body: GenerateBody) => FakeReply;

export interface FakeGoogle extends Fake<FakeRequest, FakeReply> {
  /** Sets the script that makes the answers from now on. The default is an echo. */
  answer(script: AnswerScript): void;
}

export async function startFakeGoogle(options: FakeGoogleOptions = {}): Promise<FakeGoogle> {
  const fake = new FakeGoogleServer(options);
  await fake.listen("/v1beta");
  return fake;
}

class FakeGoogleServer extends FakeServer<FakeRequest, FakeReply> implements FakeGoogle {
  readonly #apiKey: string | undefined;
  readonly #models: readonly string[] | undefined;
  #script: AnswerScript = echo;

  constructor({ apiKey, models, ...options }: FakeGoogleOptions) {
    super(options);
    this.#apiKey = apiKey;
    this.#models = models;
  }

  answer(script: AnswerScript): void {
    this.#script = script;
  }

  protected override record(came: CameRequest): FakeRequest {
    return { ...came, model: null, body: null, refusal: null };
  }

  protected override decide(request: FakeRequest, method: string): Delivery {
    try {
      this.#authenticate(request);
      const model = this.#modelOf(request, method);
      request.model = model;
      return this.#respond(request, model);
    } catch (error) {
      // A script that throws is a fault of the test. The client sees it as a server fault.
      const refusal =
        error instanceof GoogleRefusal
          ? error
          : new GoogleRefusal(`The fake's script failed: ${String(error)}`, { status: 500 });
      request.refusal = refusal;
      return (outgoing) => sendRaw(outgoing, refusedWith(refusal));
    }
  }

  /** Only the header counts: a key in the address would show up in logs. */
  #authenticate({ headers }: FakeRequest): void {
    const key = headers["x-goog-api-key"];
    if (key === undefined) {
      const message = "Method doesn't allow unregistered callers (callers without established identity).";
      throw new GoogleRefusal(message, { status: 403 });
    }
    if (this.#apiKey !== undefined && key !== this.#apiKey) throw apiKeyInvalid();
  }

  #modelOf({ path }: FakeRequest, method: string): string {
    const model = /^\/v1beta\/models\/([^/:?]+):streamGenerateContent\?alt=sse$/.exec(path)?.[1];
    if (model === undefined || method !== "POST") {
      throw new GoogleRefusal(`The requested URL ${path} was not found on this server.`, { status: 404 });
    }
    if (this.#models?.includes(model) !== false) return model;
    const message = `models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`;
    throw new GoogleRefusal(message, { status: 404 });
  }

  #respond(request: FakeRequest, model: string): Delivery {
    const body = parseJson(request.raw, () => new GoogleRefusal("Invalid JSON payload received. Unexpected token."));
    checkGenerateBody(body, model);
    request.body = body;
    const reply = this.queuedReply() ?? this.#script(body);
    if (typeof reply === "string") return this.#answerWith({ output: [{ type: "text", text: reply }] }, body, model);
    if ("output" in reply) return this.#answerWith(reply, body, model);
    if ("silentUntil" in reply) return (outgoing) => staySilent(outgoing, reply.silentUntil);
    return (outgoing) => sendRaw(outgoing, reply);
  }

  #answerWith(answer: FakeAnswer, body: GenerateBody, model: string): Delivery {
    const responseId = this.newId("response");
    const chunks = answerChunks(answer, { responseId, newCallId: () => this.newId("fc"), body, model });
    return (outgoing) => sendEvents(outgoing, chunks, { ...answer, delayMs: this.eventDelayMs });
  }
}

/** The default script: it repeats the first text of the last content. */
const echo: AnswerScript = ({ contents }) =>
  `Content ${contents.length} of this conversation says: ${contents.at(-1)?.parts?.find((part) => part.text)?.text ?? ""}`;
