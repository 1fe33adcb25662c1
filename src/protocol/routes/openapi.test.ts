import assert from "node:assert/strict";
import { test } from "node:test";
import { compileErrors, validate } from "@readme/openapi-parser";
import { errorCatalogue } from "../../domain/errors.ts";
import { openApiDocument, routeErrors } from "./openapi.ts";
import { paths, type RouteName } from "./paths.ts";
import { routes, type RouteSpec } from "./routes.ts";

interface Operation {
  operationId: string;
  security?: unknown[];
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, unknown> };
  responses: Record<string, Answer>;
}
interface Answer {
  description: string;
  content?: Record<string, unknown>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
}

const text = JSON.stringify(openApiDocument("1.2.3"));
const parsed = (): Document => JSON.parse(text) as Document;

test("[H2] the document is valid OpenAPI 3.1", async () => {
  const result = await validate(JSON.parse(text) as Parameters<typeof validate>[0]);
  assert.equal(result.valid, true, result.valid ? "" : compileErrors(result));
});

test("[H2] [V1] a stream names the schema of its events, and readiness has its answer with 503", () => {
  const schemaOf = (name: RouteName, status: string, type: string): unknown => {
    const { method, path } = paths[name];
    const content = parsed().paths[path]?.[method.toLowerCase()]?.responses[status]?.content?.[type];
    return (content as { schema?: { $ref?: string } } | undefined)?.schema?.$ref?.split("/").at(-1);
  };
  for (const name of ["execute", "fireMailbox", "turnEvents", "sessionEvents"] as const) {
    assert.equal(schemaOf(name, "200", "text/event-stream"), "AgUiEvent", name);
  }
  assert.equal(schemaOf("followNews", "200", "text/event-stream"), "News");
  for (const status of ["200", "503"]) assert.equal(schemaOf("readyz", status, "application/json"), "Readiness");
});

test("[H2] every reference points to a schema, and every schema is used", () => {
  const used = new Set([...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1] ?? ""));
  const defined = Object.keys(parsed().components.schemas);
  assert.deepEqual([...used].toSorted(), defined.toSorted());
  assert.equal(text.includes("$defs"), false);
  assert.equal(
    defined.some((name) => name.startsWith("__")),
    false,
  );
});

test("[H2] the document has exactly the routes of the table", () => {
  const documented = Object.entries(parsed().paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => [operationId, method.toUpperCase(), path].join(" ")),
  );
  const table = Object.entries(paths).map(([name, { method, path }]) => `${name} ${method} ${path}`);
  assert.deepEqual(documented.toSorted(), table.toSorted());
});

for (const name of Object.keys(paths) as RouteName[]) {
  test(`[H2] [H3] [H4] ${name} is documented with its parameters, its answers and its errors`, () => {
    const { method, path } = paths[name];
    const spec: RouteSpec = routes[name];
    const operation = parsed().paths[path]?.[method.toLowerCase()];
    assert.ok(operation !== undefined);
    assert.equal(operation.security?.length === 0, spec.access === "open");
    assert.deepEqual(
      (operation.parameters ?? []).filter((one) => one.in === "query").map((one) => one.name),
      Object.keys(spec.query?.shape ?? {}),
    );
    assert.deepEqual(Object.keys(operation.requestBody?.content ?? {}), [
      ...(spec.body === undefined ? [] : ["application/json"]),
      ...Object.keys(spec.otherBodies ?? {}),
    ]);
    assert.ok(String(spec.status) in operation.responses);
    for (const code of routeErrors(name)) {
      const refusal: Answer | undefined = operation.responses[errorCatalogue[code].status];
      assert.ok(refusal?.description.includes(`\`${code}\``), `${code} is not documented`);
      assert.deepEqual(Object.keys(refusal?.content ?? {}), ["application/problem+json"]);
    }
  });
}
