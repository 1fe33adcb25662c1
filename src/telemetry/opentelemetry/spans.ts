/**
 * What the observer hears as OpenTelemetry spans (F10): a request, in it its turn, in that the calls of the model and of tools, and
 * in each what it asked of the stores. Only the API is used: without an SDK that somebody registered, nothing is made of it.
 * Attributes are those of the conventions for HTTP and for generative AI, as far as they are no contents (E8).
 */
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api";
import type { Usage } from "../../domain/usage.ts";
import type { Activity, Observer } from "../observer.ts";

/** Spans of the tracer provider that is registered when this is called. */
export function spanObserver(version: string): Partial<Observer> {
  const tracer = trace.getTracer("aptove", version);
  return {
    request: ({ requestId, method, traceparent, tracestate }) => {
      const carrier = { ...(traceparent !== null && { traceparent }), ...(tracestate !== null && { tracestate }) };
      const parent = propagation.extract(ROOT_CONTEXT, carrier);
      const attributes = { "http.request.method": method, "aptove.request.id": requestId };
      const span = begin(tracer, { name: method, kind: SpanKind.SERVER, attributes, parent });
      return ended(span, parent, ({ route, status, code, caller }) => {
        span.setAttribute("http.response.status_code", status);
        if (route !== null) span.updateName(`${method} ${route}`).setAttribute("http.route", route);
        if (caller !== null) span.setAttributes(who(caller));
        // A client's own fault is no fault of the server's span.
        if (code !== null) span.setAttribute("error.type", code);
        return status >= 500 ? (code ?? String(status)) : null;
      });
    },
    turn: ({ turnId, sessionId, provider, model, caller }) => {
      const span = begin(tracer, {
        name: "invoke_agent aptove",
        kind: SpanKind.INTERNAL,
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": "aptove",
          "gen_ai.conversation.id": sessionId,
          "gen_ai.provider.name": provider,
          "gen_ai.request.model": model,
          "aptove.turn.id": turnId,
          ...who(caller),
        },
      });
      return ended(span, context.active(), ({ outcome, code, usage, modelRequests, overheadMs }) => {
        span.setAttributes({ "aptove.turn.outcome": outcome, "aptove.turn.model_requests": modelRequests });
        if (overheadMs !== null) span.setAttribute("aptove.turn.overhead_ms", overheadMs);
        span.setAttributes(tokens(usage));
        return code;
      });
    },
    modelCall: ({ turnId, step, provider, model }) => {
      const span = begin(tracer, {
        name: `chat ${model}`,
        kind: SpanKind.CLIENT,
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": provider,
          "gen_ai.request.model": model,
          "aptove.turn.id": turnId,
          "aptove.turn.step": step,
        },
      });
      return ended(
        span,
        context.active(),
        ({ model: answering, responseId, stopReason, code, usage, firstOutputMs }) => {
          span.setAttributes({ "gen_ai.response.model": answering, ...tokens(usage) });
          if (responseId !== null) span.setAttribute("gen_ai.response.id", responseId);
          if (stopReason !== null) span.setAttribute("gen_ai.response.finish_reasons", [stopReason]);
          if (firstOutputMs !== null) span.setAttribute("aptove.first_output_ms", firstOutputMs);
          return code;
        },
      );
    },
    toolCall: ({ turnId, callId, name }) => {
      const span = begin(tracer, {
        name: `execute_tool ${name}`,
        kind: SpanKind.INTERNAL,
        attributes: {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": name,
          "gen_ai.tool.call.id": callId,
          "aptove.turn.id": turnId,
        },
      });
      return ended(span, context.active(), ({ isError }) => (isError ? "tool_error" : null));
    },
    storeCall: ({ store, operation }) => {
      // Without a parent it is the house's own work, of which there is a lot, all the time.
      if (trace.getActiveSpan() === undefined) return untold;
      const attributes = { "aptove.store": store, "aptove.store.operation": operation };
      const span = begin(tracer, { name: `${store}.${operation}`, kind: SpanKind.CLIENT, attributes });
      return ended(span, context.active(), ({ code }) => code);
    },
    note: ({ type, ...facts }) => {
      const said = Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
      trace.getActiveSpan()?.addEvent(`aptove.${type}`, Object.fromEntries(said));
    },
  };
}

const untold: Activity<unknown> = { within: (work) => work(), end: () => undefined };

interface Beginning {
  name: string;
  kind: SpanKind;
  attributes: Attributes;
  parent?: Context;
}

function begin(tracer: Tracer, { name, kind, attributes, parent = context.active() }: Beginning): Span {
  return tracer.startSpan(name, { kind, attributes }, parent);
}

/** `close` sets the last attributes, and gives what went wrong. */
function ended<End>(span: Span, parent: Context, close: (end: End) => string | null): Activity<End> {
  const inside = trace.setSpan(parent, span);
  return {
    within: (work) => context.with(inside, work),
    end: (end) => {
      const fault = close(end);
      if (fault !== null) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute("error.type", fault);
      span.end();
    },
  };
}

function who({ orgId, userId }: { orgId: string; userId: string }): Attributes {
  return { "user.id": userId, "aptove.org.id": orgId };
}

function tokens({ input, output, cached, reasoning }: Usage): Attributes {
  return {
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.output_tokens": output,
    "gen_ai.usage.cache_read.input_tokens": cached,
    "gen_ai.usage.reasoning.output_tokens": reasoning,
  };
}
