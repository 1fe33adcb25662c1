/**
 * The HTTP door for tests, on a real engine with memory stores. Every answer is compared with the route
 * table: status, media type, schema, and for a refusal whether its code is among the documented ones (H2, H3).
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { createClient, type AptoveClient, type ClientOptions } from "../src/client/client.ts";
import type { Caller, Role } from "../src/domain/caller.ts";
import { errorCatalogue, type ErrorCode } from "../src/domain/errors.ts";
import { newId, sha256 } from "../src/domain/ids.ts";
import type { HttpMount } from "../src/doors/http/mount.ts";
import { httpDoor, type HttpDoor, type HttpDoorOptions } from "../src/doors/http/door.ts";
import { routeErrors } from "../src/protocol/routes/openapi.ts";
import { paths, type RouteName } from "../src/protocol/routes/paths.ts";
import { problemSchema, type WireProblem } from "../src/protocol/problem.ts";
import { routes, type RouteSpec } from "../src/protocol/routes/routes.ts";
import { addUser } from "./people.ts";
import { testEngine, type TestEngine, type TestEngineOptions } from "./engine.ts";

const doorUrl = "http://localhost:4870";

export interface Person extends Caller {
  key: string;
}

export interface CallOptions {
  /** The caller whose key is sent; the admin by default. Null: no key. */
  as?: Person | null;
  /** The body, sent as JSON. */
  json?: unknown;
  body?: string | Uint8Array<ArrayBuffer> | FormData | ReadableStream<Uint8Array>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface TestDoor extends TestEngine {
  door: HttpDoor;
  admin: Person;
  /** Adds a user, by default to the same org. */
  person(role: Role, orgId?: string): Promise<Person>;
  /** Sends a request that must succeed. `line` is a method and a path. The answer's body can still be read. */
  call(line: string, options?: CallOptions): Promise<Response>;
  /** Sends a request that must be refused with this code. */
  refused(code: ErrorCode, line: string, options?: CallOptions): Promise<WireProblem>;
  client(options?: Partial<ClientOptions>): AptoveClient;
  /** Returns another door over the same engine, with these mounts. */
  withMounts(mounts: readonly HttpMount[]): HttpDoor;
}

export type TestDoorOptions = TestEngineOptions & { door?: Partial<HttpDoorOptions> };

export async function testDoor(
  context: TestContext,
  { door: options, ...engineOptions }: TestDoorOptions = {},
): Promise<TestDoor> {
  const tested = await testEngine(context, engineOptions);
  const { engine, deps } = tested;
  const doorOptions: HttpDoorOptions = {
    engine,
    report: (message, error) => void tested.reports.push(`${message} ${String(error)}`),
    ...options,
  };
  const door = httpDoor(doorOptions);
  const person = (role: Role, orgId = tested.caller.orgId): Promise<Person> => addPerson(deps.records, { orgId, role });
  const admin = await person("admin");
  const send = async (line: string, more: CallOptions = {}): Promise<Response> => {
    const request = requestOf(line, { as: admin, ...more });
    const response = await door.fetch(request);
    // A stream must have one reader, so it is not cloned.
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const copy = isStream ? new Response(null, response) : response.clone();
    await checkAnswer(routeOf(request), copy);
    return response;
  };
  return {
    ...tested,
    door,
    admin,
    person,
    call: async (line, more) => {
      const response = await send(line, more);
      if (!response.ok) assert.fail(await response.text());
      return response;
    },
    refused: async (code, line, more) => {
      const response = await send(line, more);
      assert.equal(response.headers.get("content-type"), "application/problem+json");
      const value = problemSchema.parse(await response.json());
      assert.equal(value.code, code, value.detail);
      return value;
    },
    client: (more) =>
      createClient({ url: doorUrl, key: admin.key, fetch: (request) => door.fetch(request), backoffMs: 1, ...more }),
    withMounts: (mounts) => httpDoor({ ...doorOptions, mounts }),
  };
}

async function addPerson(
  records: TestEngine["deps"]["records"],
  { orgId, role }: { orgId: string; role: Role },
): Promise<Person> {
  const key = `aptove_${newId()}`;
  const { id: userId, createdAt } = await addUser(records, { orgId, role });
  const unused = {
    deviceId: null,
    roleMax: null,
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
    workspaceId: null,
    limits: null,
  };
  await records.keys.insert({
    id: newId(),
    orgId,
    userId,
    name: role,
    prefix: "aptove_",
    hash: sha256(key),
    createdAt,
    ...unused,
  });
  return { orgId, userId, role, key };
}

function requestOf(line: string, { as, json, body, headers = {}, signal }: CallOptions): Request {
  const [method = "", at = ""] = line.split(" ");
  const sent = json === undefined ? body : JSON.stringify(json);
  return new Request(doorUrl + at, {
    method,
    headers: {
      ...(as != null && { authorization: `Bearer ${as.key}` }),
      ...(json !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(sent !== undefined && { body: sent, duplex: "half" }),
    ...(signal !== undefined && { signal }),
  });
}

/** Returns the route, or null if the table has none. */
function routeOf({ method, url }: Request): RouteName | null {
  const path = new URL(url).pathname;
  const matches = (pattern: string) => new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path);
  const found = Object.entries(paths).filter(([, route]) => route.method === method && matches(route.path));
  return (found[0]?.[0] as RouteName | undefined) ?? null;
}

async function checkAnswer(name: RouteName | null, response: Response): Promise<void> {
  const isPage = name === null && response.headers.get("content-type")?.startsWith("application/") !== true;
  if (!isPage) assert.equal(response.headers.get("cache-control"), "no-store");
  assert.equal(response.headers.get("x-content-type-options"), "nosniff");
  const type = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
  if (type === "application/problem+json") return checkProblem(name, response.status, await response.json());
  if (name === null) return;
  const spec: RouteSpec = routes[name];
  if (response.status === 204) return;
  if (response.status === 202) return void spec.accepted?.parse(await response.json());
  assert.ok(
    response.status === spec.status || (spec.unavailable !== undefined && response.status === 503),
    `status ${response.status}`,
  );
  if (type === "application/json") spec.answer?.parse(await response.json());
  else assert.ok(type in (spec.otherAnswers ?? {}), `${name} answers ${type}`);
}

function checkProblem(name: RouteName | null, status: number, value: unknown): void {
  const { code, title, type, ...rest } = problemSchema.parse(value);
  const entry = errorCatalogue[code];
  assert.deepEqual(
    [status, rest.status, rest.retryable, title],
    [entry.status, entry.status, entry.retryable, entry.title],
  );
  assert.equal(type, `urn:aptove:error:${code}`);
  if (name !== null) assert.ok(routeErrors(name).includes(code), `${name} does not document ${code}`);
}

export interface SseMessage {
  id: string;
  data: string;
}

/** Returns the messages of a whole stream, without comments. */
export function sseMessages(text: string): SseMessage[] {
  return text
    .split("\n\n")
    .filter((block) => block !== "" && !block.startsWith(":"))
    .map((block) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1] ?? assert.fail(block);
      return { id: field("id"), data: field("data") };
    });
}
