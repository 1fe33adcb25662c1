/**
 * The frame of every driver that answers over HTTP with server-sent events. A driver declares what is its own: how a
 * call becomes a body, how the events of the stream are read, and what an error means. This file makes a `Provider`
 * from that. Sending, timeouts, aborts, broken streams and the limits on bodies are the same for all drivers.
 */
import { mediaTaken, modelFamily, type Wire } from "../domain/models.ts";
import { type AnswerWire, AnswerReader } from "./answer-reader.ts";
import { sendOverHttp } from "./http-call.ts";
import type { HttpConnection } from "./http-connection.ts";
import { type ErrorWire, httpErrorEvent } from "./http-failures.ts";
import { listModels } from "./model-list.ts";
import type { ModelCall, PreparedRequest, Provider } from "./provider.ts";
import { wellFormedJson } from "./well-formed-json.ts";

/** What a driver declares. `Part` is one parsed event of its stream, `WireError` an error as its wire writes it. */
export interface HttpDriver<Part, WireError> {
  /** The name of the wire in the table of models. */
  wire: Wire;
  connection: HttpConnection;
  defaultModel: string;
  /** True if a later call can continue a response by its id (C1). */
  remembers: boolean;
  /** True if a message of the history can have the weight of the system message. Absent: only the prompt has it. */
  ranks?: true;
  /** Returns the path and query, below the base URL, for requests to a model. It begins with a slash. */
  pathFor(model: string): string;
  /** The path and query of the list of models, below the base URL. */
  modelsPath: string;
  /** Builds the body of a call. Pure. */
  bodyFor(call: ModelCall): HttpBody;
  answers: AnswerWire<Part>;
  errors: ErrorWire<WireError>;
  /** What the user can try if no connection to the server can be made. */
  unreachableHint?: string;
}

export interface HttpBody<Body extends object = object> {
  body: Body;
  /** The number of reasoning items that were left out, because this provider or model cannot read them (C5). */
  droppedReasoning: number;
  /** The settings that the model cannot take, one text each (G3). */
  adjusted?: readonly string[];
  /** The limit of the output in the body, if it is not that of the settings. */
  outputTokensMax?: number;
}

/** Makes the provider that a driver declares. */
export function httpProvider<Part, WireError>(driver: HttpDriver<Part, WireError>): Provider {
  const { connection, wire, defaultModel, remembers } = driver;
  return {
    name: connection.name,
    account: connection.account,
    defaultModel,
    remembers,
    ...(driver.ranks === true && { ranks: true as const }),
    takes: (model) => mediaTaken(wire, model),
    contextTokens: (model) => configuredWindow(connection, model),
    models: (signal) => listModels(connection, driver.modelsPath, signal),
    prepare: (call) => prepare(driver, call),
    send: (request, signal) =>
      sendOverHttp(
        {
          connection,
          url: `${connection.baseUrl}${driver.pathFor(request.model)}`,
          request,
          reader: new AnswerReader(driver.answers, connection.name, request),
          errorEvent: (response) =>
            httpErrorEvent(driver.errors, {
              ...response,
              provider: connection.name,
              model: request.model,
              hasKey: connection.hasKey,
            }),
          ...(driver.unreachableHint !== undefined && { unreachableHint: driver.unreachableHint }),
        },
        signal,
      ),
  };
}

/** Returns the configured window of a model. A dated snapshot has that of its family. */
function configuredWindow({ contextTokens }: HttpConnection, model: string): number | null {
  const name = [model, modelFamily(model)].find((each) => Object.hasOwn(contextTokens, each));
  return name === undefined ? null : (contextTokens[name] ?? null);
}

function prepare<Part, WireError>(driver: HttpDriver<Part, WireError>, call: ModelCall): PreparedRequest {
  const { body, droppedReasoning: count, adjusted = [], ...limit } = driver.bodyFor(call);
  const { outputTokensMax = call.settings.maxOutputTokens } = limit;
  return {
    model: call.model,
    body: wellFormedJson(body),
    dropped: count === 0 ? [] : [{ kind: "reasoning", count }],
    ...(adjusted.length > 0 && { adjusted }),
    ...(outputTokensMax !== undefined && { outputTokensMax }),
  };
}
