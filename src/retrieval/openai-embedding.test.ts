import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { rejectionOf } from "../../testing/refusals.ts";
import type { AptoveError } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import type { Embedder } from "./embedding.ts";
import { openaiEmbedder, type OpenaiEmbedderOptions } from "./openai-embedding.ts";

const apiKey = "sk-a-very-secret-key";

interface Request {
  method: string | undefined;
  url: string | undefined;
  authorization: string | undefined;
  body: { model: string; input: string[]; encoding_format: string; dimensions?: number };
}
type Reply = { status?: number; headers?: Record<string, string>; body: unknown };

interface Scene {
  embedder: Embedder;
  requests: Request[];
  waits: number[];
}

/** Starts a server that responds with `reply`, and returns an embedder that uses it. Waiting takes no time. */
async function scene(
  context: TestContext,
  reply: (request: Request, count: number) => Reply | "hang up",
  options: Partial<OpenaiEmbedderOptions> = {},
): Promise<Scene> {
  const requests: Request[] = [];
  const waits: number[] = [];
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = Buffer.concat(await incoming.toArray()).toString();
    const { method, url, headers } = incoming;
    const request = { method, url, authorization: headers.authorization, body: JSON.parse(text) as Request["body"] };
    requests.push(request);
    const replied = reply(request, requests.length);
    if (replied === "hang up") return void response.destroy();
    response.writeHead(replied.status ?? 200, { "content-type": "application/json", ...replied.headers });
    response.end(typeof replied.body === "string" ? replied.body : JSON.stringify(replied.body));
  };
  const server = createServer((incoming, response) => void answer(incoming, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
  const wait = (ms: number): Promise<void> => Promise.resolve(void waits.push(ms));
  const base = { apiKey, model: "text-embedding-3-small", dimension: 2, baseUrl, wait };
  return { embedder: openaiEmbedder({ ...base, ...options }), requests, waits };
}

/** Returns an item per input, as the real service does; here in reverse, because their order means nothing. */
function vectors({ body }: Request): Reply {
  const data = body.input.map((text, index) => ({ object: "embedding", index, embedding: [text.length, 1] }));
  return {
    body: { object: "list", data: data.toReversed(), model: body.model, usage: { prompt_tokens: 1, total_tokens: 1 } },
  };
}

const unit = (a: number, b: number): Float32Array => Float32Array.from([a, b].map((value) => value / Math.hypot(a, b)));

function assertClose(actual: Float32Array | undefined, expected: Float32Array): void {
  assert.equal(actual?.length, expected.length);
  actual?.forEach((value, at) => assert.ok(Math.abs(value - (expected[at] ?? 0)) < 1e-6));
}

async function refusalOf(promise: Promise<unknown>): Promise<AptoveError> {
  const error = await rejectionOf(promise);
  assert.equal(error.code, "retrieval_failed");
  const everything = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
  assert.ok(!everything.includes(apiKey), everything);
  return error;
}

test("[Q6] sends what the service accepts, and returns vectors of length 1 in the order of the texts", async (context) => {
  const { embedder, requests } = await scene(context, vectors);
  const [first, second, ...more] = await embedder.embed(["a", "bcd"]);
  assertClose(first, unit(1, 1));
  assertClose(second, unit(3, 1));
  assert.deepEqual(more, []);
  assert.deepEqual(requests, [
    {
      method: "POST",
      url: "/v1/embeddings",
      authorization: `Bearer ${apiKey}`,
      body: { model: "text-embedding-3-small", input: ["a", "bcd"], encoding_format: "float", dimensions: 2 },
    },
  ]);
});

test("[Q6] requests shorter vectors only from models that support it, and sends no key if there is none", async (context) => {
  const { embedder, requests } = await scene(context, vectors, { model: "nomic-embed-text", apiKey: "" });
  await embedder.embed(["a"]);
  assert.deepEqual([requests[0]?.body.dimensions, requests[0]?.authorization], [undefined, undefined]);
});

test("[Q6] accepts any number of texts of any length, within the limits of a request", async (context) => {
  const { embedder, requests } = await scene(context, vectors);
  const texts = [
    ...Array.from({ length: 4_100 }, (_, at) => `${at}`),
    "",
    "x".repeat(20_000),
    "half \uD800",
    ...Array.from({ length: 70 }, () => "y".repeat(8_000)),
  ];
  const embedded = await embedder.embed(texts);
  assert.equal(embedded.length, texts.length);
  assertClose(embedded[4_099], unit(4, 1));
  assert.ok(requests.length >= 4);
  for (const { body } of requests) {
    assert.ok(body.input.length <= 2_048);
    assert.ok(body.input.reduce((sum, { length }) => sum + length, 0) <= 250_000);
    for (const input of body.input) assert.ok(input !== "" && input.length <= 8_000 && input.isWellFormed());
  }
  assert.deepEqual(await embedder.embed([]), []);
});

test("[C7] rate limits and errors of the service are retried after the requested time", async (context) => {
  const replies: Reply[] = [
    { status: 429, headers: { "retry-after": "2" }, body: { error: { message: "slow down" } } },
    { status: 503, headers: { "retry-after-ms": "7" }, body: "not even JSON" },
    { status: 500, body: {} },
  ];
  const { embedder, waits } = await scene(context, (request, count) => replies[count - 1] ?? vectors(request));
  assertClose((await embedder.embed(["a"]))[0], unit(1, 1));
  assert.deepEqual(waits, [2_000, 7, limits.providerBackoffMs * 4]);
});

test("[C7] a lost connection is retried, and the attempts end", async (context) => {
  const { embedder, requests } = await scene(context, () => "hang up");
  assert.match((await refusalOf(embedder.embed(["a"]))).detail, /text-embedding-3-small failed: no answer: /);
  assert.equal(requests.length, limits.providerAttemptsMax);
});

const finalReplies: Record<string, [Reply, RegExp]> = {
  "a bad request": [{ status: 400, body: { error: { message: "no such model" } } }, /400 no such model/],
  "a key that is not accepted, and is repeated in the response": [
    { status: 401, body: { error: { message: `Incorrect API key provided: ${apiKey}.` } } },
    /401 Incorrect API key provided: \[key\]/,
  ],
  "a quota that is used up": [
    { status: 429, body: { error: { message: "You exceeded your current quota", code: "insufficient_quota" } } },
    /429 You exceeded/,
  ],
  "a longer wait than a turn may take": [
    { status: 429, headers: { "retry-after": "3600" }, body: { error: { message: "in an hour" } } },
    /in an hour/,
  ],
  "vectors of another dimension": [
    { body: { data: [{ index: 0, embedding: [1, 2, 3] }] } },
    /3 dimensions, not 2.*aptove index --rebuild/,
  ],
  "an answer without vectors": [{ body: { data: null } }, /no vectors/],
  "an answer with too few": [{ body: { data: [] } }, /lacks/],
  "an answer for another input": [{ body: { data: [{ index: 7, embedding: [1, 2] }] } }, /lacks/],
  "an answer with something else": [{ body: { data: [{ index: 0, embedding: ["x", 2] }] } }, /something else/],
};

for (const [what, [reply, words]] of Object.entries(finalReplies)) {
  test(`[Q6] [E8] fails at once, and without the key in its message: ${what}`, async (context) => {
    const { embedder, requests } = await scene(context, () => reply);
    assert.match((await refusalOf(embedder.embed(["a"]))).detail, words);
    assert.equal(requests.length, 1);
  });
}

test("[Q6] an aborted call ends with the signal's reason: before it, during it, and while it waits", async (context) => {
  const reason = new Error("enough");
  const { embedder, requests } = await scene(context, vectors);
  await assert.rejects(embedder.embed(["a"], AbortSignal.abort(reason)), reason);
  assert.equal(requests.length, 0);

  const during = new AbortController();
  const inCall = await scene(context, () => {
    during.abort(reason);
    return { body: "{" };
  });
  await assert.rejects(inCall.embedder.embed(["a"], during.signal), reason);

  const waiting = new AbortController();
  const busy = await scene(context, () => ({ status: 500, body: {} }), {
    wait: () => Promise.resolve(waiting.abort(reason)),
  });
  await assert.rejects(busy.embedder.embed(["a"], waiting.signal), reason);
  assert.equal(busy.requests.length, 1);
});
