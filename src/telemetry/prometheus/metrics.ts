/**
 * What the observer hears as figures for Prometheus. The number of series is bounded by the program and its configuration, not
 * by use: labels are providers, models, routes, codes and methods of contracts, never an id, a user or a path; and of models,
 * which a request may name, so many and the rest as `other`.
 */
import type { Activity, Observer } from "../observer.ts";
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

export interface Metrics {
  observer: Observer;
  /** Everything, in Prometheus' text format. */
  text(): Promise<string>;
  contentType: string;
  /** From now on the use of a pool of connections is told too. */
  watchPool(use: () => Record<"open" | "idle" | "waiting", number>): void;
}

const modelsMax = 50;
const otherLabel = "other";

const short = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const long = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800];

export function prometheusMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const meters = makeMeters(registers);
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
        case "turns_recovered":
          return meters.recovered.inc(note.count);
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
  const gauge = (name: string, help: string): Gauge => new Gauge({ name: `aptove_${name}`, help, registers });
  const histogram = <L extends string>(name: string, help: string, shape: { labels: L[]; buckets: number[] }) =>
    new Histogram({ name: `aptove_${name}`, help, labelNames: shape.labels, buckets: shape.buckets, registers });
  const byModel: ("provider" | "model")[] = ["provider", "model"];
  const byStore: ("store" | "operation")[] = ["store", "operation"];
  return {
    requests: counter("http_requests_total", "Requests over HTTP.", ["route", "method", "status"]),
    requestSeconds: histogram("http_request_seconds", "Until an answer began.", {
      labels: ["route", "method"],
      buckets: short,
    }),
    refusals: counter("refusals_total", "Requests over a limit, by the code of the refusal.", ["code"]),
    streams: gauge("event_streams_open", "Listeners to events."),
    running: gauge("turns_running", "Turns that this server runs."),
    turns: counter("turns_total", "Turns that ended, or were refused.", [...byModel, "outcome", "code"]),
    turnSeconds: histogram("turn_seconds", "From accepting a turn to its stored end.", {
      labels: byModel,
      buckets: long,
    }),
    overheadSeconds: histogram("turn_overhead_seconds", "Of a turn, what is neither the model's nor its tools'.", {
      labels: [],
      buckets: short,
    }),
    firstOutputSeconds: histogram("turn_first_output_seconds", "From accepting a turn to its first output.", {
      labels: byModel,
      buckets: long,
    }),
    modelCalls: counter("model_calls_total", "Requests to providers, by the code of their failure.", [
      ...byModel,
      "code",
    ]),
    modelSeconds: histogram("model_call_seconds", "One request to a provider.", { labels: byModel, buckets: long }),
    tokens: counter("tokens_total", "Input includes cached, output includes reasoning.", [...byModel, "kind"]),
    cost: counter("cost_usd_total", "US dollars by the table of prices, where there is a price.", byModel),
    retries: counter("model_retries_total", "Requests to providers that were made again.", ["provider", "code"]),
    rebuilds: counter("chains_rebuilt_total", "Chains that a provider had forgotten.", ["provider"]),
    toolSeconds: histogram("tool_call_seconds", "One call of a tool beside the engine.", {
      labels: ["error"],
      buckets: long,
    }),
    recovered: counter(
      "turns_recovered_total",
      "Turns that ran nowhere any more, of dead servers mostly, and that this one failed.",
      [],
    ),
    leaseLate: histogram("lease_renewal_late_seconds", "How late a round of renewals came.", {
      labels: [],
      buckets: short,
    }),
    leaseErrors: counter("lease_renewal_errors_total", "Rounds of renewals that failed.", ["code"]),
    storeSeconds: histogram("store_call_seconds", "One call of a store.", { labels: byStore, buckets: short }),
    storeErrors: counter("store_errors_total", "Calls of a store that failed.", [...byStore, "code"]),
  };
}

function poolGauge(registers: Registers, use: () => Record<string, number>): Gauge {
  return new Gauge({
    name: "aptove_records_connections",
    help: "Connections to the database; waiting: calls that wait for one.",
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

/** A request may name any model: the first so many have a label of their own. */
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

/** A client may send any word as a method. */
function knownMethod(method: string): string {
  return methods.includes(method) ? method : otherLabel;
}
