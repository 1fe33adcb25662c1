/**
 * An observer that keeps metrics for Prometheus. The program and its configuration bound the number of series, not its use.
 * Labels are providers, models, routes, codes and methods of contracts; never an id, a user or a path. A request may name any
 * model, so only a limited number of models get a label, and the rest is `other`.
 */
import type { Activity, Observer } from "../observer.ts";
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

export interface PrometheusMetrics {
  observer: Observer;
  /** Returns all metrics in the text format of Prometheus. */
  text(): Promise<string>;
  contentType: string;
  /** Adds the use of a connection pool to the metrics. */
  watchPool(use: () => Record<"open" | "idle" | "waiting", number>): void;
}

const modelsMax = 50;
const otherLabel = "other";

const short = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const long = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800];

export function prometheusMetrics(version: string): PrometheusMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const meters = makeMeters(registers);
  meters.build.set({ version }, 1);
  const model = boundedLabels(modelsMax);

  const observer: Observer = {
    request: ({ method }) =>
      timed((seconds, { route, status, code }) => {
        const labels = { route: route ?? "none", method: knownMethod(method) };
        meters.requests.inc({ ...labels, status: String(status) });
        meters.requestSeconds.observe(labels, seconds);
        if (status === 429) meters.refusals.inc({ code: code ?? "none" });
      }),
    turn: (begun) => {
      meters.running.inc();
      const labels = { provider: begun.provider, model: model(begun.model) };
      return timed((seconds, end) => {
        meters.running.dec();
        meters.turns.inc({ ...labels, outcome: end.outcome, code: end.code ?? "none" });
        if (end.overheadMs === null) return;
        meters.turnSeconds.observe(labels, seconds);
        meters.overheadSeconds.observe(end.overheadMs / 1_000);
        if (end.firstOutputMs !== null) meters.firstOutputSeconds.observe(labels, end.firstOutputMs / 1_000);
      });
    },
    recovery: () => timed((_seconds, { outcome }) => void (outcome === "recovered" && meters.recovered.inc())),
    modelCall: ({ provider, model: asked }) =>
      timed((seconds, end) => {
        const labels = { provider, model: model(end.code === null ? end.model : asked) };
        meters.modelCalls.inc({ ...labels, code: end.code ?? "none" });
        meters.modelSeconds.observe(labels, seconds);
        const { input, output, cached, reasoning, costUsd } = end.usage;
        for (const [kind, count] of Object.entries({ input, output, cached, reasoning }))
          if (count > 0) meters.tokens.inc({ ...labels, kind }, count);
        if (costUsd !== undefined) meters.cost.inc(labels, costUsd);
      }),
    toolCall: () => timed((seconds, { isError }) => meters.toolSeconds.observe({ error: String(isError) }, seconds)),
    storeCall: ({ store, operation }) =>
      timed((seconds, { code }) => {
        meters.storeSeconds.observe({ store, operation }, seconds);
        if (code !== null) meters.storeErrors.inc({ store, operation, code });
      }),
    stream: () => {
      meters.streams.inc();
      return timed(() => meters.streams.dec());
    },
    note: (note) => {
      switch (note.type) {
        case "model_retried":
          return meters.retries.inc({ provider: note.provider, code: note.code });
        case "chain_rebuilt":
          return meters.rebuilds.inc({ provider: note.provider });
        case "budget_refused":
          return meters.budgetRefusals.inc({ scope: note.scope, waits: String(note.waits) });
        case "store_checked":
          return meters.storeReady.set({ store: note.store }, note.isReady ? 1 : 0);
        case "token_refused":
          return meters.tokenRefusals.inc({ reason: note.reason });
        case "leases_renewed":
          if (note.code !== null) meters.leaseErrors.inc({ code: note.code });
          return meters.leaseLate.observe(Math.max(0, note.lateMs) / 1_000);
      }
    },
  };
  return {
    observer,
    text: () => registry.metrics(),
    contentType: registry.contentType,
    watchPool: (use) => void poolGauge(registers, use),
  };
}

type Registers = [Registry] | Registry[];

function makeMeters(registers: Registers) {
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> =>
    new Counter({ name: `aptove_${name}`, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: L[] = []): Gauge<L> =>
    new Gauge({ name: `aptove_${name}`, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, shape: { labels: L[]; buckets: number[] }) =>
    new Histogram({ name: `aptove_${name}`, help, labelNames: shape.labels, buckets: shape.buckets, registers });
  const byModel: ("provider" | "model")[] = ["provider", "model"];
  const byStore: ("store" | "operation")[] = ["store", "operation"];
  return {
    requests: counter("http_requests_total", "Requests over HTTP.", ["route", "method", "status"]),
    requestSeconds: histogram("http_request_seconds", "Seconds until the response began.", {
      labels: ["route", "method"],
      buckets: short,
    }),
    refusals: counter("refusals_total", "Requests over a limit, by the code of the refusal.", ["code"]),
    budgetRefusals: counter("budget_refusals_total", "Calls of models that could have passed a budget.", [
      "scope",
      "waits",
    ]),
    streams: gauge("event_streams_open", "Open streams of events."),
    build: gauge("build_info", "The version of this server. The value is 1.", ["version"]),
    storeReady: gauge("store_ready", "1 if the store worked at the last check of readiness, else 0.", ["store"]),
    running: gauge("turns_running", "Turns that run on this server."),
    turns: counter("turns_total", "Turns that ended or were refused.", [...byModel, "outcome", "code"]),
    turnSeconds: histogram("turn_seconds", "Seconds from accepting a turn until its end is stored.", {
      labels: byModel,
      buckets: long,
    }),
    overheadSeconds: histogram(
      "turn_overhead_seconds",
      "Seconds of a turn without the model, the tools and the pauses before retries.",
      {
        labels: [],
        buckets: short,
      },
    ),
    firstOutputSeconds: histogram(
      "turn_first_output_seconds",
      "Seconds from accepting a turn until its first output.",
      {
        labels: byModel,
        buckets: long,
      },
    ),
    modelCalls: counter("model_calls_total", "Requests to providers, by error code.", [...byModel, "code"]),
    modelSeconds: histogram("model_call_seconds", "Seconds of one request to a provider.", {
      labels: byModel,
      buckets: long,
    }),
    tokens: counter("tokens_total", "Tokens by kind. Input includes cached, output includes reasoning.", [
      ...byModel,
      "kind",
    ]),
    cost: counter("cost_usd_total", "Cost in US dollars, for models with a known price.", byModel),
    retries: counter("model_retries_total", "Retried requests to providers.", ["provider", "code"]),
    rebuilds: counter(
      "chains_rebuilt_total",
      "Response chains that a provider no longer had, and that were sent again in full.",
      ["provider"],
    ),
    toolSeconds: histogram("tool_call_seconds", "Seconds of one tool call in this process.", {
      labels: ["error"],
      buckets: long,
    }),
    recovered: counter(
      "turns_recovered_total",
      "Turns that no process ran any more and that this server marked as failed.",
      [],
    ),
    leaseLate: histogram("lease_renewal_late_seconds", "Seconds by which a renewal of leases was late.", {
      labels: [],
      buckets: short,
    }),
    tokenRefusals: counter("token_refusals_total", "Tokens of the identity provider that were refused.", ["reason"]),
    leaseErrors: counter("lease_renewal_errors_total", "Renewals of leases that failed.", ["code"]),
    storeSeconds: histogram("store_call_seconds", "Seconds of one store call.", { labels: byStore, buckets: short }),
    storeErrors: counter("store_errors_total", "Store calls that failed.", [...byStore, "code"]),
  };
}

function poolGauge(registers: Registers, use: () => Record<string, number>): Gauge {
  return new Gauge({
    name: "aptove_records_connections",
    help: "Connections to the database. State `waiting`: calls that wait for one.",
    labelNames: ["state"],
    registers,
    collect() {
      for (const [state, count] of Object.entries(use())) this.set({ state }, count);
    },
  });
}

function timed<End>(ended: (seconds: number, end: End) => void): Activity<End> {
  const begun = performance.now();
  return { within: (work) => work(), end: (end) => ended((performance.now() - begun) / 1_000, end) };
}

/** Returns a function that keeps the first `max` values as labels and turns all others into `other`. */
function boundedLabels(max: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= max) return otherLabel;
    known.add(value);
    return value;
  };
}

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Returns the method, or `other` if it is unknown: a client may send any text as a method. */
function knownMethod(method: string): string {
  return methods.includes(method) ? method : otherLabel;
}
