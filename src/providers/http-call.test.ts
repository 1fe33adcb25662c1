/** What a person reads when a provider fails: a message that names the provider (C7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Failure } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { compatibleProvider } from "./compatible/compatible.ts";

const events = "text/event-stream";

/** Returns the failure of a call to the provider "acme". */
async function failureWith(send: typeof fetch): Promise<Failure> {
  const provider = compatibleProvider({ name: "acme", baseUrl: "http://acme.test/v1", model: "m", fetch: send });
  const call = { model: "m", prompt: null, items: [], store: false, settings: {}, tools: [], toolChoice: null };
  const request = provider.prepare({ ...call, allowedTools: null, previousResponseId: null });
  const last = (await Array.fromAsync(provider.send(request, new AbortController().signal))).at(-1);
  return last?.type === "failed" ? last.failure : assert.fail(JSON.stringify(last));
}

function answered(pieces: readonly string[], type: string, status = 200): Promise<Response> {
  const body = ReadableStream.from(pieces.map((piece) => Buffer.from(piece)));
  return Promise.resolve(new Response(body, { status, headers: { "content-type": type } }));
}

test("[C7] the message of each failure names the provider and says what it did", async () => {
  const large = `data: ${"x".repeat(65_536)}`;
  const line = [large, ...Array.from({ length: limits.providerEventBytesMax / 65_536 }, () => "x".repeat(65_536))];
  const cases: [given: Parameters<typeof answered>, code: string, message: string][] = [
    [[[""], events], "provider_stream_cut", "acme sent an empty answer"],
    [[[": waiting\n\n"], events], "provider_stream_cut", "acme ended its answer before the last event"],
    [[["<html>"], "text/html"], "provider_answer_invalid", "acme did not answer with a stream of events (text/html)"],
    [[["data: no\n\n"], events], "provider_answer_invalid", "acme sent an event that is not JSON: no"],
    [[line, events], "provider_answer_invalid", "acme sent an event that is too large; one may have 16 MB"],
    [[[""], events, 500], "provider_unavailable", "acme gave no reason (HTTP 500)"],
  ];
  for (const [given, code, message] of cases) {
    const { code: found, message: words } = await failureWith(() => answered(...given));
    assert.deepEqual([found, words], [code, message]);
  }
});

test("[C7] a provider that cannot be reached is named, with what to try", async () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:9"), { code: "ECONNREFUSED" });
  const { message } = await failureWith(() => Promise.reject(refused));
  assert.match(message, /^acme cannot be reached: connect ECONNREFUSED 127.0.0.1:9 \(ECONNREFUSED\); is the server/);
});

test("[C7] an answer that is compressed names the encoding and the fix", async () => {
  const packed = gzipSync('data: {"choices":[]}\n\n');
  const headers = { "content-type": events, "content-encoding": "gzip" };
  const { code, message } = await failureWith(() => Promise.resolve(new Response(packed, { headers })));
  assert.equal(code, "provider_answer_invalid");
  assert.match(
    message,
    /^acme compressed its answer \(content-encoding: gzip\); have it, or the proxy before it, send/,
  );
});

test("[C7] [E8] a redirect names where it leads, without query and password, and says what to set", async () => {
  const fix = "set the base URL to the address that answers there; the key is not sent to another address";
  const cases: [location: string, to: string | null][] = [
    ["https://ada:secret@gate.test/v2/chat?key=secret#secret", "https://gate.test/v2/chat"],
    ["/login?next=%2Fv1", "http://acme.test/login"],
    ["http://[", null],
  ];
  for (const [location, to] of cases) {
    const answer = new Response("", { status: 302, headers: { location } });
    const { code, message } = await failureWith(() => Promise.resolve(answer));
    assert.equal(code, "provider_rejected");
    const words = to === null ? "acme gave no reason (HTTP 302)" : `acme redirects to ${to} (HTTP 302); ${fix}`;
    assert.equal(message, words);
  }
});
