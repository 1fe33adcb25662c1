/**
 * An observer that makes OpenTelemetry spans (F10). A request contains its turn, a turn contains the calls of the model and of
 * tools, and each of them contains its calls of the stores. It uses only the API: without a registered SDK it does nothing. The
 * attributes follow the semantic conventions for HTTP and generative AI, without contents (E8).
 */
import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import type { Usage } from "../../domain/usage.ts";
import type { Activity, Observer } from "../observer.ts";

/** Creates the observer. It uses the tracer provider that is registered at the time of this call. */
export function spanObserver(version: string): Partial<Observer> {
  const tracer = trace.getTracer("aptove", version);
  return {
    request: ({ requestId, method, traceparent, tracestate }) => {
      const carrier = { ...(traceparent !== null && { traceparent }), ...(tracestate !== null && { tracestate }) };
      const parent = propagation.extract(ROOT_CONTEXT, carrier);
      const attributes = { "http.request.method": method, "aptove.request.id": requestId };
      const span = startSpan(tracer, { name: method, kind: SpanKind.SERVER, attributes, parent });
      return spanActivity(span, parent, ({ route, status, code, caller }) => {
        span.setAttribute("http.response.status_code", status);
        if (route !== null) span.updateName(`${method} ${route}`).setAttribute("http.route", route);
        if (caller !== null) span.setAttributes(callerAttributes(caller));
        // A 4xx status is the client's fault and does not mark the server's span as failed.
        if (code !== null) span.setAttribute("error.type", code);
        return status >= 500 ? (code ?? String(status)) : null;
      });
    },
    turn: ({ turnId, sessionId, provider, model, caller }) => {
      const span = startSpan(tracer, {
        name: "invoke_agent aptove",
        kind: SpanKind.INTERNAL,
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": "aptove",
          "gen_ai.conversation.id": sessionId,
          "gen_ai.provider.name": provider,
          "gen_ai.request.model": model,
          "aptove.turn.id": turnId,
          ...callerAttributes(caller),
        },
      });
      return spanActivity(span, context.active(), ({ outcome, code, usage, modelRequests, overheadMs }) => {
        span.setAttributes({ "aptove.turn.outcome": outcome, "aptove.turn.model_requests": modelRequests });
        if (overheadMs !== null) span.setAttribute("aptove.turn.overhead_ms", overheadMs);
        span.setAttributes(usageAttributes(usage));
        return code;
      });
    },
    modelCall: ({ turnId, step, provider, model }) => {
      const span = startSpan(tracer, {
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
      return spanActivity(
        span,
        context.active(),
        ({ model: answering, responseId, stopReason, code, usage, firstOutputMs }) => {
          span.setAttributes({ "gen_ai.response.model": answering, ...usageAttributes(usage) });
          if (responseId !== null) span.setAttribute("gen_ai.response.id", responseId);
          if (stopReason !== null) span.setAttribute("gen_ai.response.finish_reasons", [stopReason]);
          if (firstOutputMs !== null) span.setAttribute("aptove.first_output_ms", firstOutputMs);
          return code;
        },
      );
    },
    toolCall: ({ turnId, callId, name }) => {
      const span = startSpan(tracer, {
        name: `execute_tool ${name}`,
        kind: SpanKind.INTERNAL,
        attributes: {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": name,
          "gen_ai.tool.call.id": callId,
          "aptove.turn.id": turnId,
        },
      });
      return spanActivity(span, context.active(), ({ isError }) => (isError ? "tool_error" : null));
    },
    storeCall: ({ store, operation }) => {
      // A call without a parent belongs to a background job. There are too many of them.
      if (trace.getActiveSpan() === undefined) return noActivity;
      const attributes = { "aptove.store": store, "aptove.store.operation": operation };
      const span = startSpan(tracer, { name: `${store}.${operation}`, kind: SpanKind.CLIENT, attributes });
      return spanActivity(span, context.active(), ({ code }) => code);
    },
    note: ({ type, ...facts }) => {
      const attributes = Object.entries(facts).flatMap(([name, value]) =>
        value === null ? [] : [[name, value] as const],
      );
      trace.getActiveSpan()?.addEvent(`aptove.${type}`, Object.fromEntries(attributes));
    },
  };
}

const noActivity: Activity<unknown> = { within: (work) => work(), end: () => undefined };

interface SpanStart {
  name: string;
  kind: SpanKind;
  attributes: Attributes;
  parent?: Context;
}

function startSpan(tracer: Tracer, { name, kind, attributes, parent = context.active() }: SpanStart): Span {
  return tracer.startSpan(name, { kind, attributes }, parent);
}

/** Returns the activity of a span. `close` sets the last attributes and returns the error type, or null. */
function spanActivity<End>(span: Span, parent: Context, close: (end: End) => string | null): Activity<End> {
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

function callerAttributes({ orgId, userId }: { orgId: string; userId: string }): Attributes {
  return { "user.id": userId, "aptove.org.id": orgId };
}

function usageAttributes({ input, output, cached, reasoning }: Usage): Attributes {
  return {
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.output_tokens": output,
    "gen_ai.usage.cache_read.input_tokens": cached,
    "gen_ai.usage.reasoning.output_tokens": reasoning,
  };
}
