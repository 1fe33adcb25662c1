/** The OpenAPI 3.1 document, generated from the route table and the schemas that validate (H2). */
import * as z from "zod";
import { errorCatalogue, type ErrorCode } from "../../domain/errors.ts";
import { paths, type RouteName } from "./paths.ts";
import { problemSchema, problemMediaType } from "../problem.ts";
import { takesBody } from "./route-spec.ts";
import { routes, type RouteAccess, type RouteSpec } from "./routes.ts";

type Json = Record<string, unknown>;

/** Error codes that a route has because of its access rule. */
const accessErrors: Record<RouteAccess, readonly ErrorCode[]> = {
  open: [],
  read: ["unauthenticated", "rate_limited", "records_unavailable"],
  write: ["unauthenticated", "rate_limited", "records_unavailable", "forbidden"],
  admin: ["unauthenticated", "rate_limited", "records_unavailable", "forbidden"],
};
const everywhere = ["request_invalid", "origin_refused", "internal"] as const;
const withBody = ["body_too_large", "unsupported_media_type"] as const;

/** Returns every error code that a route can answer. */
export function routeErrors(name: RouteName): ErrorCode[] {
  const spec: RouteSpec = routes[name];
  return [
    ...everywhere,
    ...accessErrors[spec.access],
    ...(takesBody(spec) ? withBody : []),
    ...(paths[name].path.includes("{") ? (["not_found"] as const) : []),
    ...spec.errors,
  ];
}

export function openApiDocument(version: string): Json {
  const components = new Components();
  const byPath: Record<string, Json> = {};
  for (const [name, { method, path }] of Object.entries(paths)) {
    byPath[path] ??= {};
    byPath[path][method.toLowerCase()] = operation(name as RouteName, components);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "aptove",
      version,
      description: "Agent sessions that never expire. Times are ISO 8601 in UTC. Ids are lower-case UUIDs.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ key: [] }],
    paths: byPath,
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key's secret." } },
      schemas: components.schemas,
    },
  };
}

function operation(name: RouteName, components: Components): Json {
  const spec: RouteSpec = routes[name];
  const parameters = [
    ...(paths[name].path.includes("{id}") && !("id" in (spec.params?.shape ?? {})) ? [pathParameter] : []),
    ...parametersOf(spec.params, "path"),
    ...parametersOf(spec.query, "query"),
    ...parametersOf(spec.headers, "header"),
  ];
  return {
    operationId: name,
    summary: spec.summary,
    ...(spec.access === "open" && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(takesBody(spec) && { requestBody: requestBody(spec, components) }),
    responses: { ...successes(spec, components), ...refusals(name, components) },
  };
}

const pathParameter = { name: "id", in: "path", required: true, schema: { type: "string", format: "uuid" } };

function parametersOf(schema: z.ZodObject | undefined, place: "path" | "query" | "header"): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = inputSchema(schema) as { properties?: Json; required?: string[] };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property as Json;
    return {
      name,
      in: place,
      required: required.includes(name),
      ...(description !== undefined && { description }),
      schema: rest,
    };
  });
}

function requestBody(spec: RouteSpec, components: Components): Json {
  const json = spec.body && { "application/json": { schema: components.use(spec.body, "input") } };
  const others = Object.entries(spec.otherBodies ?? {}).map(([type, description]) => [
    type,
    {
      schema:
        type === "multipart/form-data" ? multipart(spec, components, description) : { type: "string", description },
    },
  ]);
  return { required: true, content: { ...json, ...Object.fromEntries(others) } };
}

function multipart(spec: RouteSpec, components: Components, description: string): Json {
  return {
    type: "object",
    description,
    required: ["request"],
    properties: { request: components.use(spec.body as z.ZodType, "input") },
    additionalProperties: { type: "string", contentMediaType: "application/octet-stream" },
  };
}

const eventStream = "text/event-stream";

function successes(spec: RouteSpec, components: Components): Json {
  const json = spec.answer && { "application/json": { schema: components.use(spec.answer, "output") } };
  const others = Object.entries(spec.otherAnswers ?? {}).map(([type, description]) => [
    type,
    {
      // OpenAPI 3.1 has no way to describe the events of a stream. As in OpenAI's document, the schema is that of one event.
      schema:
        type === eventStream && spec.events !== undefined
          ? { ...components.use(spec.events(), "output"), description }
          : { type: "string", description },
    },
  ]);
  const content = { ...json, ...Object.fromEntries(others) };
  const hasContent = Object.keys(content).length > 0;
  // Only a stream that can be resumed can have nothing more to send.
  const canEnd = spec.headers !== undefined && "Last-Event-ID" in spec.headers.shape;
  return {
    [spec.status]: {
      description: hasContent ? "Success." : "Success, without a body.",
      ...(hasContent && { content }),
    },
    ...(canEnd && { 204: { description: "The client already has all events, and no more will follow." } }),
    ...(spec.unavailable && {
      503: {
        description: "Not ready.",
        content: { "application/json": { schema: components.use(spec.unavailable, "output") } },
      },
    }),
    ...(spec.accepted && {
      202: {
        description: "The turn is running.",
        content: { "application/json": { schema: components.use(spec.accepted, "output") } },
      },
    }),
  };
}

/** Returns one response per status, which lists the codes that have this status. */
function refusals(name: RouteName, components: Components): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of routeErrors(name)) {
    const { status } = errorCatalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const schema = components.use(problemSchema, "output");
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      { description: `\`${codes.join("`, `")}\``, content: { [problemMediaType]: { schema } } },
    ]),
  );
}

/** Collects schemas with an id among the components, once each. All uses of such a schema are references. */
class Components {
  readonly schemas: Record<string, Json> = {};

  use(schema: z.ZodType, io: "input" | "output"): Json {
    const { $schema: _dialect, $defs = {}, ...top } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json;
    for (const [name, definition] of Object.entries($defs as Record<string, Json>)) this.#add(name, definition);
    const { id, ...rest } = top;
    if (typeof id !== "string") return referenced(rest) as Json;
    this.#add(id, top);
    return { $ref: `#/components/schemas/${id}` };
  }

  #add(name: string, { id: _id, ...definition }: Json): void {
    this.schemas[name] = referenced(definition) as Json;
  }
}

/** Rewrites the references of a single schema into references into the document. */
function referenced(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(referenced);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === "$ref" && typeof inner === "string"
        ? [key, inner.replace(/^#\/\$defs\//, "#/components/schemas/")]
        : [key, referenced(inner)],
    ),
  );
}

function inputSchema(schema: z.ZodType): unknown {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}
