/** What the operator sees of runs: lines of a log, metrics, spans; and what none of them may contain. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { context, propagation, trace as traces } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { testDoor } from "../../testing/http-door.ts";
import { operatorLog, type LogLevel } from "./log/operator-log.ts";
import { observedStore } from "./observed-store.ts";
import { observers } from "./observer.ts";
import { spanObserver } from "./opentelemetry/spans.ts";
import { prometheusMetrics } from "./prometheus/metrics.ts";
import { memoryRecords } from "../records/memory/memory-records.ts";

const execute = "POST /api/ai/agent/execute";
const secrets = {
  known: "correct-horse-battery",
  bearer: "Bearer abcdefghij0123456789",
  ours: "aptove_0123456789abcdef",
  provider: "sk-proj-0123456789abcdef",
  password: "postgres://aptove:hunter2hunter2@db/aptove",
  query: "https://x.example/?api_key=deadbeefdeadbeef",
};

function log(level: LogLevel, format: "json" | "text" = "json") {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const made = operatorLog({ format, level, write, secrets: [secrets.known], now: () => 0 });
  const parsed = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { ...made, lines, parsed };
}

test("[E8] a secret that reaches the log, in whatever text, is not written", () => {
  for (const format of ["json", "text"] as const) {
    const { report, observer, lines } = log("debug", format);
    const words = Object.values(secrets).join(" and ");
    report(words);
    report("failed", new Error(words));
    report("failed", words);
    observer.toolCall?.({ turnId: "t", callId: words, name: words }).end({ isError: true });
    assert.equal(lines.length, 4);
    const parts = ["correct-horse", "abcdefghij", "0123456789abcdef", "hunter2", "deadbeef"];
    for (const part of parts) assert.equal(lines.join("\n").includes(part), false, `${part} in ${lines.join("\n")}`);
    assert.match(lines.join(), /postgres:\/\/aptove:\*\*\*@db\/aptove/);
  }
});

test("[E8] a text of a client cannot forge a line in the log", () => {
  const { report, lines } = log("warn", "text");
  report("input: a\naptove: all is well\r\u001b[2J");
  assert.deepEqual(lines, ["aptove: input: a aptove: all is well [2J"]);
});

test("[H3] [E8] a request and its turn are one line each with the same request id, and without content", async (t) => {
  const { observer, parsed, report, lines } = log("debug");
  const observed = observers([observer]);
  const { call, refused, admin } = await testDoor(t, {
    observer: observed,
    report,
    door: { observer: observed, report },
  });
  const json = { instruction: "the instruction of the test" };
  const answer = await call(execute, { json, headers: { "x-request-id": "from-the-proxy" } });
  assert.equal(answer.headers.get("x-request-id"), "from-the-proxy");
  const { turnId } = (await answer.json()) as { turnId: string };
  const logged = (event: string) => parsed().find((line) => line["event"] === event);
  const ids = { requestId: "from-the-proxy", userId: admin.userId, orgId: admin.orgId };
  const request = { level: "info", method: "POST", route: "/api/ai/agent/execute", status: 200, ...ids };
  assert.partialDeepStrictEqual(logged("request"), request);
  assert.partialDeepStrictEqual(logged("turn"), { turnId, outcome: "completed", provider: "scripted", ...ids });
  assert.partialDeepStrictEqual(logged("model_call"), { turnId, step: 1, requestId: "from-the-proxy" });
  assert.equal(lines.join().includes("of the test") || lines.join().includes(admin.key), false);

  const trace = "0af7651916cd43dd8448eb211c80319c";
  const headers = { "x-request-id": "two words", traceparent: `00-${trace}-b7ad6b7169203331-01` };
  const problem = await refused("not_found", "GET /api/sessions/no-id", { headers });
  assert.equal(problem.requestId, trace);
  assert.partialDeepStrictEqual(parsed().at(-1), { requestId: trace, status: 404, code: "not_found" });
});

test("[H2] levels: at level warn the log has what failed, not what succeeded", async (t) => {
  const { observer, parsed, report } = log("warn");
  const { call, door } = await testDoor(t, { door: { observer: observers([observer]), report } });
  await call("GET /api/me");
  const broken = await door.fetch(new Request("http://localhost/api/me", { headers: { authorization: "Bearer x" } }));
  assert.equal(broken.status, 401);
  assert.deepEqual(parsed(), []);
  report("the disk is nearly full");
  report("the disk is full", new Error("ENOSPC"));
  assert.deepEqual(
    parsed().map(({ level, message }) => [level, message]),
    [
      ["warn", "the disk is nearly full"],
      ["error", "the disk is full"],
    ],
  );
});

test("[H5] [C7] metrics count turns, tokens, refusals and retries, in series that no user, id or path can add to", async (t) => {
  const { observer, text } = prometheusMetrics("1.2.3");
  const script = (_call: unknown, n: number) => (n === 1 ? [{ fails: "provider_rate_limited" as const }] : "x");
  const limits = { requestsPerMinuteMax: 6 };
  const records = observedStore(memoryRecords(), "records", observer);
  const { call, refused, door } = await testDoor(t, { observer, records, script, door: { observer, limits } });
  await call(execute, { json: { instruction: "x" } });
  for (const at of ["/api/turns/not-an-id", "/nowhere/a", "/nowhere/b"]) await refused("not_found", `GET ${at}`);
  await door.fetch(new Request("http://localhost/healthz", { method: "BREW" }));
  await door.fetch(new Request("http://localhost/readyz"));
  await call("GET /api/me");
  await call("GET /api/me");
  await refused("rate_limited", "GET /api/me");
  const figures = (await text()).split("\n").filter((line) => line.startsWith("aptove_"));
  const value = (series: string) => figures.find((line) => line.startsWith(`aptove_${series} `))?.split(" ")[1];
  const model = 'provider="scripted",model="scripted-1"';
  assert.equal(value(`turns_total{${model},outcome="completed",code="none"}`), "1");
  assert.equal(value('model_retries_total{provider="scripted",code="provider_rate_limited"}'), "1");
  assert.equal(value(`model_calls_total{${model},code="provider_rate_limited"}`), "1");
  assert.equal(value('refusals_total{code="rate_limited"}'), "1");
  assert.equal(value('http_requests_total{route="none",method="GET",status="404"}'), "2");
  assert.equal(value('http_requests_total{route="/api/turns/{id}",method="GET",status="404"}'), "1");
  assert.equal(value('http_request_seconds_count{route="none",method="other"}'), "1");
  assert.equal(value("turns_running"), "0");
  assert.equal(value('build_info{version="1.2.3"}'), "1");
  for (const store of ["records", "blobs", "live"]) assert.equal(value(`store_ready{store="${store}"}`), "1");
  assert.equal(value("turn_overhead_seconds_count"), "1");
  assert.equal(value('store_call_seconds_count{store="records",operation="turns.open"}'), "1");
  assert.equal(
    figures.some((line) => /not-an-id|nowhere|BREW|[0-9a-f]{8}-[0-9a-f]{4}/.test(line)),
    false,
  );
  for (let n = 0; n < 200; n++) {
    const begun = { turnId: "t", step: 1, provider: "scripted", model: `made up ${n}` };
    const end = { model: `made up ${n}`, responseId: null, stopReason: null, code: null, firstOutputMs: null };
    observer.modelCall(begun).end({ ...end, usage: { input: 1, output: 0, cached: 0, reasoning: 0, total: 1 } });
  }
  const models = new Set((await text()).match(/model="[^"]*"/g));
  assert.ok(models.size <= 51, `${models.size} models`);
});

test("[F10] [E8] a trace goes from the client's span over request, turn, model and tool to the stores, without contents", async (t) => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  traces.setGlobalTracerProvider(provider);
  t.after(() => [context, propagation, traces].forEach((api) => api.disable()));
  const observer = observers([spanObserver("1.2.3")]);
  const records = observedStore(memoryRecords(), "records", observer);
  const lookUp = {
    definition: { name: "look_up", description: "d", parameters: { type: "object" }, effect: "read" as const },
    needsApproval: () => false,
    run: async () => ({ output: "the secret of the tool", isError: false }),
  };
  const script = (_call: unknown, n: number) =>
    n === 1 ? [{ calls: "look_up", with: { of: "the argument" } }] : "the answer";
  const { call } = await testDoor(t, { observer, records, script, tools: [lookUp], door: { observer } });
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  await call(execute, { json: { instruction: "the question" }, headers });

  const spans = exporter.getFinishedSpans();
  const named = (name: string) => {
    const found = spans.find((span) => span.name === name);
    assert.ok(found !== undefined, `${name} is none of ${spans.map((span) => span.name).join(", ")}`);
    return found;
  };
  const request = named("POST /api/ai/agent/execute");
  const turn = named("invoke_agent aptove");
  const parentOf = (name: string) => named(name).parentSpanContext?.spanId;
  assert.equal(request.spanContext().traceId, traceId);
  assert.equal(request.parentSpanContext?.spanId, "b7ad6b7169203331");
  assert.equal(turn.parentSpanContext?.spanId, request.spanContext().spanId);
  for (const name of ["chat scripted-1", "execute_tool look_up", "records.turns.open", "records.turns.finish"]) {
    assert.equal(parentOf(name), turn.spanContext().spanId, name);
  }
  assert.partialDeepStrictEqual(named("chat scripted-1").attributes, {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "scripted",
    "gen_ai.request.model": "scripted-1",
  });
  const traced = JSON.stringify(spans.map(({ name, attributes, events }) => [name, attributes, events]));
  for (const word of ["the question", "the answer", "the argument", "the secret"])
    assert.ok(!traced.includes(word), word);
});
