/** The fake refuses what the real endpoint refuses, and signs what the real endpoint signs. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Content, Part } from "@google/genai";
import { closedAfter, post, type PostedAnswer } from "../fake-server/posted.ts";
import { type FakeGoogle, startFakeGoogle } from "./fake-google.ts";

const model = "gemini-3-flash";

async function started(context: TestContext): Promise<FakeGoogle> {
  return closedAfter(
    context,
    await startFakeGoogle({
      apiKey: "key-1",
      models: [model, "gemini-2.5-flash", "gemini-3-pro"],
      tag: "t",
    }),
  );
}

async function send(fake: FakeGoogle, body: unknown, { name = model, key = "key-1" } = {}): Promise<PostedAnswer> {
  return await post(`${fake.url}/models/${name}:streamGenerateContent?alt=sse`, body, { "x-goog-api-key": key });
}

/** Returns the parts of a streamed answer. */
function partsOf({ text }: PostedAnswer): Part[] {
  const chunks = text.split("\r\n\r\n").filter((chunk) => chunk !== "");
  return chunks.flatMap((chunk) => {
    const data = JSON.parse(chunk.replace(/^data: /, "")) as { candidates: { content: Content }[] };
    return data.candidates[0]?.content.parts ?? [];
  });
}

const user = (...parts: Part[]): Content => ({ role: "user", parts });
const fromModel = (...parts: Part[]): Content => ({ role: "model", parts });
const hello = user({ text: "hello" });
const skips = { thoughtSignature: "skip_thought_signature_validator" };
const call = (name = "f", more: Part = skips): Part => ({ functionCall: { name, args: {} }, ...more });
const response = (name = "f"): Part => ({ functionResponse: { name, response: { output: "4" } } });
const tools = [{ functionDeclarations: [{ name: "f", parametersJsonSchema: { type: "object" } }] }];
const choice = (config: object): object => ({ toolConfig: { functionCallingConfig: config } });

const taken: object[] = [
  { contents: [hello] },
  { contents: [hello, fromModel({ text: "hi" }), hello], systemInstruction: { parts: [{ text: "be brief" }] } },
  { contents: [hello, fromModel({ text: "hm", thought: true }, call()), user(response(), { text: "and" })], tools },
  { contents: [hello, fromModel(call("f"), call("g", {})), user(response("f"), response("g"))] },
  { contents: [hello, fromModel(call("f", {})), user(response()), fromModel({ text: "so" }), hello] },
  { contents: [hello], tools, ...choice({ mode: "ANY", allowedFunctionNames: ["f"] }) },
  { contents: [hello], tools, ...choice({ mode: "VALIDATED", allowedFunctionNames: ["f"] }) },
  { contents: [hello], generationConfig: { temperature: 1, thinkingConfig: { thinkingLevel: "MINIMAL" } } },
];

test("the fake accepts what the real endpoint accepts", async (context) => {
  const fake = await started(context);
  for (const body of taken) {
    const { status, text } = await send(fake, body);
    assert.equal(status, 200, text);
    assert.match(text, /"finishReason":"STOP"/);
  }
});

const refused: [name: string, body: object, message: RegExp][] = [
  ["no contents", { contents: [] }, /contents is not specified/],
  ["an unknown field", { contents: [hello], stream: true }, /Unknown name "stream": Cannot find field/],
  [
    "an unknown field of a part",
    { contents: [user({ txt: "a" } as Part)] },
    /Unknown name "txt" at 'contents\[0\]\.parts\[0\]'/,
  ],
  ["an unknown role", { contents: [{ role: "system", parts: [{ text: "a" }] }] }, /valid role: user, model/],
  ["two of a role", { contents: [hello, hello] }, /alternate between user and model/],
  ["an answer at the end", { contents: [hello, fromModel({ text: "hi" })] }, /end with a user role/],
  ["no parts", { contents: [user()] }, /contents\.parts must not be empty/],
  ["a part with nothing", { contents: [user({})] }, /must have one initialized field/],
  ["an empty text", { contents: [user({ text: "" })] }, /empty text parameter/],
  ["a call by the user", { contents: [user(call())] }, /not supported for role: user/],
  ["a response by the model", { contents: [hello, fromModel(response()), hello] }, /not supported for role: model/],
  [
    "a call before anybody asked",
    { contents: [fromModel(call()), user(response())] },
    /function call turn comes immediately after/,
  ],
  [
    "too few responses",
    { contents: [hello, fromModel(call(), call()), user(response())] },
    /is equal to the number of function call parts/,
  ],
  ["no response", { contents: [hello, fromModel(call()), hello] }, /is equal to the number of function call parts/],
  ["a response without a call", { contents: [user(response())] }, /response turn comes immediately after/],
  [
    "a response to another call",
    { contents: [hello, fromModel(call("f")), user(response("g"))] },
    /does not belong to the call of `f`/,
  ],
  [
    "words before a response",
    { contents: [hello, fromModel(call()), user({ text: "a" }, response())] },
    /does not belong/,
  ],
  [
    "a call without a signature",
    { contents: [hello, fromModel(call("f", {})), user(response())] },
    /missing a thought_signature/,
  ],
  [
    "a made up signature",
    { contents: [hello, fromModel({ text: "a", thoughtSignature: "abc" }), hello] },
    /Corrupted thought signature/,
  ],
  [
    "a bad function name",
    { contents: [hello], tools: [{ functionDeclarations: [{ name: "2f" }] }] },
    /Invalid function name/,
  ],
  [
    "names with AUTO",
    { contents: [hello], tools, ...choice({ mode: "AUTO", allowedFunctionNames: ["f"] }) },
    /only be set when/,
  ],
  [
    "a name that is not declared",
    { contents: [hello], tools, ...choice({ mode: "ANY", allowedFunctionNames: ["g"] }) },
    /`g` is not a declared/,
  ],
  ["a choice without tools", { contents: [hello], ...choice({ mode: "ANY" }) }, /without function_declarations/],
  [
    "a temperature too high",
    { contents: [hello], generationConfig: { temperature: 3 } },
    /generationConfig\.temperature/,
  ],
  [
    "a budget and a level",
    { contents: [hello], generationConfig: { thinkingConfig: { thinkingBudget: 1, thinkingLevel: "LOW" } } },
    /only set one of/,
  ],
];

for (const [name, body, message] of refused) {
  test(`it refuses ${name}`, async (context) => {
    const fake = await started(context);
    const { status, text } = await send(fake, body);
    assert.equal(status, 400, text);
    const { error } = JSON.parse(text) as { error: Record<string, unknown> };
    assert.deepEqual([error["code"], error["status"]], [400, "INVALID_ARGUMENT"]);
    assert.match(String(error["message"]), message);
  });
}

test("models differ in the thinking settings, and earlier models accept calls without a signature", async (context) => {
  const fake = await started(context);
  const thinking = (config: object): object => ({ contents: [hello], generationConfig: { thinkingConfig: config } });
  assert.equal((await send(fake, thinking({ thinkingLevel: "LOW" }), { name: "gemini-2.5-flash" })).status, 400);
  assert.equal((await send(fake, thinking({ thinkingBudget: 1_024 }), { name: "gemini-2.5-flash" })).status, 200);
  assert.equal((await send(fake, thinking({ thinkingLevel: "MINIMAL" }), { name: "gemini-3-pro" })).status, 400);
  const unsigned = { contents: [hello, fromModel(call("f", {})), user(response())] };
  assert.equal((await send(fake, unsigned, { name: "gemini-2.5-flash" })).status, 200);
});

test("a signature is valid only for its own part and model", async (context) => {
  const fake = await started(context);
  fake.next({ output: [{ type: "call", name: "f", args: { a: 1 } }] });
  const [part] = partsOf(await send(fake, { contents: [hello], tools }));
  assert.ok(part?.functionCall !== undefined && part.thoughtSignature !== undefined);
  const { functionCall, thoughtSignature } = part;
  const answer: Part = { functionResponse: { id: functionCall.id ?? "", name: "f", response: { output: "4" } } };
  const replay = (sent: Part): object => ({ contents: [hello, fromModel(sent), user(answer)] });
  assert.equal((await send(fake, replay(part))).status, 200);
  const altered = { functionCall: { ...functionCall, args: { a: 2 } }, thoughtSignature };
  assert.match((await send(fake, replay(altered))).text, /Corrupted thought signature/);
  assert.match((await send(fake, replay(part), { name: "gemini-3-pro" })).text, /Corrupted thought signature/);
});

test("only the key in the header counts, and only known models are served", async (context) => {
  const fake = await started(context);
  const body = { contents: [hello] };
  const wrong = await send(fake, body, { key: "key-2" });
  assert.deepEqual([wrong.status, /API_KEY_INVALID/.test(wrong.text)], [400, true]);
  const url = `${fake.url}/models/${model}:streamGenerateContent?alt=sse&key=key-1`;
  assert.equal((await fetch(url, { method: "POST", body: JSON.stringify(body) })).status, 403);
  const missing = await send(fake, body, { name: "gemini-9" });
  assert.deepEqual([missing.status, /is not found for API version/.test(missing.text)], [404, true]);
});
