import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorCode, Failure } from "../../domain/errors.ts";
import { failedStream, refusedRequest } from "../../../testing/provider-wire.ts";
import { compatibleErrors } from "./failures.ts";

function refused(status: number, body: unknown, hasKey = true): Failure {
  return refusedRequest(compatibleErrors, [status, body], { model: "qwen3:8b", hasKey }).failure;
}

const cases: [status: number, body: unknown, code: ErrorCode][] = [
  [400, { error: { message: "bad", type: "BadRequestError", param: null, code: 400 } }, "provider_rejected"],
  [400, { object: "error", message: "bad", type: "BadRequestError", code: 400 }, "provider_rejected"],
  [400, { error: "registry.ollama.ai/library/llama2 does not support tools" }, "provider_rejected"],
  [400, { error: { message: "x", type: "exceed_context_size_error" } }, "context_window_exceeded"],
  [400, { message: "This model's maximum context length is 4096 tokens." }, "context_window_exceeded"],
  [400, { error: { message: "x", code: "content_filter" } }, "provider_refused_content"],
  [401, { error: { message: "no", code: "invalid_api_key" } }, "provider_unauthenticated"],
  [402, { error: { message: "Insufficient Balance" } }, "provider_quota_exhausted"],
  [403, "Forbidden", "provider_unauthenticated"],
  [404, "404 page not found", "provider_rejected"],
  [405, { detail: "Method Not Allowed" }, "provider_rejected"],
  [422, { detail: [{ loc: ["body", "messages"], msg: "Field required" }] }, "provider_rejected"],
  [429, { error: { code: "insufficient_quota" } }, "provider_quota_exhausted"],
  [429, {}, "provider_rate_limited"],
  [500, "<html>oh no</html>", "provider_unavailable"],
  [503, { error: { message: "Loading model", type: "unavailable_error", code: 503 } }, "provider_unavailable"],
];

test("[C7] every server's errors have their code and their message", () => {
  for (const [status, body, code] of cases) {
    const failure = refused(status, body);
    assert.equal(failure.code, code, `${status} ${JSON.stringify(body)}`);
    assert.notEqual(failure.message, "");
  }
  assert.equal(
    refused(422, cases[11]?.[1]).message,
    'acme: [{"loc":["body","messages"],"msg":"Field required"}] (HTTP 422)',
  );
  assert.equal(refused(500, "<html>oh no</html>").message, "acme gave no reason (HTTP 500)");
  assert.equal(refused(500, "out of memory\n").message, "acme: out of memory (HTTP 500)");
});

test("[C7] a failure names what the person who runs the server can fix", () => {
  const missing = { error: { message: 'model "qwen3:8b" not found, try pulling it first', type: "api_error" } };
  assert.equal(
    refused(404, missing).message,
    'acme: model "qwen3:8b" not found, try pulling it first; does it serve the model "qwen3:8b"? With Ollama: ollama pull qwen3:8b (HTTP 404)',
  );
  assert.match(refused(400, { error: { code: "model_not_found" } }).message, /ollama pull qwen3:8b/);
  for (const status of [404, 405]) assert.match(refused(status, "").message, /is the base URL right\?/);
  assert.equal(refused(401, {}, false).message, "acme requires an API key, and none is configured (HTTP 401)");
  assert.match(refused(401, {}).message, /acme answered 401 to the API key/);
});

test("[C7] an error within a stream has its code too", () => {
  const codeOf = (error: unknown): ErrorCode => failedStream(compatibleErrors, error).code;
  assert.equal(codeOf({ message: "oh", code: 400 }), "provider_rejected");
  assert.equal(codeOf({ message: "oh", code: "429" }), "provider_rate_limited");
  assert.equal(codeOf({ message: "oh", code: "rate_limit_exceeded" }), "provider_rate_limited");
  assert.equal(codeOf({ message: "exceeds the available context size" }), "context_window_exceeded");
  for (const other of ["CUDA out of memory", null, 5, {}, { message: "oh", code: "12" }]) {
    assert.equal(codeOf(other), "provider_unavailable");
  }
});

test("errors are read from any body", () => {
  for (const other of ["", "[]", "null", "7", '{"error":null}', "<!doctype html>", " \n"]) {
    assert.equal(refused(400, other).message, "acme gave no reason (HTTP 400)", other);
  }
  assert.equal(refused(400, { error: { message: "x".repeat(5_000) } }).message.length < 1_200, true);
});
