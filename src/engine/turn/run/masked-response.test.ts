/** What is stored of an answer that repeats the key of the request (E8). */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { testEngine } from "../../../../testing/engine.ts";
import { compatibleProvider } from "../../../providers/compatible/compatible.ts";
import { openaiProvider } from "../../../providers/openai/openai.ts";

test("[E8] a key in the body of a provider's error is not stored, and the turn says that it was replaced", async (t) => {
  const apiKey = "sk-0123456789-abcdefgh";
  // A proxy that shows the request, in pieces that cut the key.
  const proxy = createServer((request, response) => {
    const page = `{"error":{"message":"bad header ${request.headers.authorization}"},"bytes":"`;
    response.writeHead(400, { "content-type": "application/json" });
    response.write(page.slice(0, 50));
    setImmediate(() => response.end(Buffer.concat([Buffer.from(page.slice(50)), Buffer.from([0xff, 0x22, 0x7d])])));
  }).listen(0, "127.0.0.1");
  t.after(() => proxy.close());
  await once(proxy, "listening");
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/v1`;
  const { engine, caller, ask } = await testEngine(t, {
    provider: openaiProvider({ apiKey, baseUrl, model: "gpt-5.1" }),
  });
  const turn = await ask("hello");
  assert.equal(turn.status, "failed");
  assert.doesNotMatch(JSON.stringify(turn), new RegExp(apiKey));
  assert.deepEqual(
    turn.warnings.map(({ code }) => code),
    ["response_masked"],
  );
  const response = Buffer.from(await (await engine.turns.read(caller, turn.id)).response(1));
  assert.ok(response.includes("bad header Bearer [secret]"), response.toString());
  assert.ok(response.includes(0xff), "other bytes stay as they are");
  const report = await engine.explain.verify(caller, turn.sessionId);
  assert.equal(report.fault, null);
});

test("[E8] a key that a gateway repeats in a whole answer is not stored, shown or sent again", async (t) => {
  const apiKey = "sk-0123456789-abcdefgh";
  const gateway = createServer((request, response) => {
    const { authorization = "" } = request.headers;
    const chunk = (content: string): string => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
    const stream = `: ${authorization}\n\n${chunk(`you sent ${authorization}`)}data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
    const cut = stream.lastIndexOf(apiKey) + 7;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(stream.slice(0, cut));
    setImmediate(() => response.end(stream.slice(cut)));
  }).listen(0, "127.0.0.1");
  t.after(() => gateway.close());
  await once(gateway, "listening");
  const baseUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}/v1`;
  const { engine, caller, ask } = await testEngine(t, {
    provider: compatibleProvider({ name: "gateway", apiKey, baseUrl, model: "m" }),
  });
  const turn = await ask("hello");
  const read = await engine.turns.read(caller, turn.id);
  const response = Buffer.from(await read.response(1)).toString();
  assert.equal(await read.answer(), "you sent Bearer [secret]");
  assert.match(response, /^: Bearer \[secret\]\n/);
  assert.ok(!response.includes(apiKey) && response.endsWith("data: [DONE]\n\n"), response);
  assert.deepEqual(
    turn.warnings.map(({ code }) => code).filter((code) => code !== "usage_estimated"),
    ["response_masked"],
  );
  assert.equal((await engine.explain.verify(caller, turn.sessionId)).fault, null);
});
