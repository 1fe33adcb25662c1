/**
 * A strict, stateful fake of Qdrant 1.19 on the real wire: exactly the endpoints and fields that the driver uses, with
 * the answers of the real server. Anything else is recorded in `faults`, which every test expects to be empty. It can
 * refuse, be silent, break off, and lose the answer of a request that it carried out.
 *
 * The first part of a path names the client, so that a test can tell the requests of two of them apart.
 */
import type { Schemas } from "@qdrant/js-client-rest";
import { sendRaw, staySilent, type Delivery, type FakeRaw, type FakeSilence } from "../fake-server/deliver.ts";
import { FakeServer, type CameRequest, type Fake } from "../fake-server/fake-server.ts";
import { bodies, collectionName, type Bodies } from "./bodies.ts";
import { FakeCollection, Refused, type StoredPoint } from "./points.ts";
import { ranked, type Ranked } from "./ranking.ts";

export interface FakeQdrantRequest extends CameRequest {
  client: string;
  /** The operation, for example `PUT points` or `POST points/query/batch`. */
  operation: string;
  body: unknown;
}

/**
 * `lost`: carried out, but the connection breaks off before, or in the middle of, the answer. `held`: carried out when
 * the promise resolves, and answered then.
 */
export type FakeQdrantReply = FakeRaw | FakeSilence | { lost: "whole" | "half" } | { held: Promise<void> };

/** Decides what happens to a request in place of an answer. Undefined: it is answered. */
export type Interception = (request: FakeQdrantRequest) => FakeQdrantReply | undefined;

export interface FakeQdrant extends Fake<FakeQdrantRequest, FakeQdrantReply> {
  /** Returns the address for a client of this name. */
  at(client: string): string;
  intercept(interception: Interception): void;
  /** Requests that the real server does not accept, or that the driver should never send. */
  readonly faults: readonly string[];
  /** The points of a collection. */
  points(collection: string): StoredPoint[];
}

export async function startFakeQdrant(options: { apiKey?: string; version?: string } = {}): Promise<FakeQdrant> {
  const fake = new FakeQdrantServer(options);
  await fake.listen("");
  return fake;
}

type Handler = (collection: FakeCollection, body: never) => unknown;

/** Endpoints below `/collections/<name>/`. The collection must exist. Writes must be requested with `wait`. */
const handlers: Record<string, { body: keyof Bodies; writes: boolean; handle: Handler }> = {
  "PUT index": { body: "createIndex", writes: true, handle: createIndex },
  "PUT points": { body: "upsert", writes: true, handle: (on, body: Bodies["upsert"]) => done(on.upsert(body)) },
  "POST points": { body: "retrieve", writes: false, handle: retrieve },
  "POST points/scroll": { body: "scroll", writes: false, handle: scroll },
  "POST points/delete": { body: "remove", writes: true, handle: (on, body: Bodies["remove"]) => done(on.remove(body)) },
  "POST points/payload": {
    body: "changePayload",
    writes: true,
    handle: (on, body: Bodies["changePayload"]) => done(on.changePayload(body, "set")),
  },
  "PUT points/payload": {
    body: "changePayload",
    writes: true,
    handle: (on, body: Bodies["changePayload"]) => done(on.changePayload(body, "overwrite")),
  },
};

class FakeQdrantServer extends FakeServer<FakeQdrantRequest, FakeQdrantReply> implements FakeQdrant {
  readonly faults: string[] = [];
  readonly #apiKey: string | undefined;
  readonly #version: string;
  readonly #collections = new Map<string, FakeCollection>();
  #interception: Interception = () => undefined;
  #queries = 0;

  constructor({ apiKey, version = "1.19.0" }: { apiKey?: string; version?: string }) {
    super({});
    this.#apiKey = apiKey;
    this.#version = version;
  }

  at(client: string): string {
    return `${this.url}/${client}`;
  }

  intercept(interception: Interception): void {
    this.#interception = interception;
  }

  points(collection: string): StoredPoint[] {
    return [...(this.#collections.get(collection)?.points.values() ?? [])];
  }

  protected override record(came: CameRequest): FakeQdrantRequest {
    const body: unknown = came.raw.length === 0 ? undefined : JSON.parse(came.raw.toString());
    return { ...came, client: came.path.split("/")[1] ?? "", operation: "", body };
  }

  protected override decide(request: FakeQdrantRequest, method: string): Delivery {
    const { pathname, searchParams } = new URL(request.path, this.url);
    const [, , ...parts] = pathname.split("/").map(decodeURIComponent);
    const [, name = "", ...rest] = parts;
    request.operation = `${method} ${rest.join("/")}`.trim();
    const reply = this.#interception(request) ?? this.queuedReply();
    const perform = (): FakeRaw => this.#answer({ request, name, parts, method, searchParams });
    if (reply === undefined) {
      const answer = perform();
      return (outgoing) => sendRaw(outgoing, answer);
    }
    if ("silentUntil" in reply) return (outgoing) => staySilent(outgoing, reply.silentUntil);
    if ("held" in reply) return async (outgoing) => (await reply.held, sendRaw(outgoing, perform()));
    if ("status" in reply) return (outgoing) => sendRaw(outgoing, reply);
    const answer = JSON.stringify(perform().body);
    return (outgoing) => {
      if (reply.lost === "whole") return void outgoing.destroy();
      outgoing.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
      outgoing.write(answer.slice(0, answer.length / 2), () => outgoing.socket?.destroySoon());
    };
  }

  #answer(asked: Asked): FakeRaw {
    if (this.#apiKey !== undefined && asked.request.headers["api-key"] !== this.#apiKey) {
      return { status: 401, body: "Invalid API key or JWT" };
    }
    try {
      const result = this.#route(asked);
      return {
        status: 200,
        body: asked.parts.length === 0 || asked.parts[0] === "" ? result : { result, status: "ok", time: 0 },
      };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status !== 404 && error.status !== 409)
        this.faults.push(`${asked.request.operation}: ${error.message}`);
      return { status: error.status, body: { status: { error: error.message }, time: 0 } };
    }
  }

  #route({ request, name, parts, method, searchParams }: Asked): unknown {
    if (method === "GET" && (parts.length === 0 || parts[0] === "")) return { title: "qdrant", version: this.#version };
    if (parts[0] !== "collections" || !collectionName.safeParse(name).success)
      throw new Refused(400, `path ${request.path}`);
    if (request.operation === "GET exists") return { exists: this.#collections.has(name) };
    if (request.operation === "PUT") return this.#create(name, read("createCollection", request.body));
    const collection = this.#collections.get(name);
    if (collection === undefined) throw new Refused(404, `Not found: Collection \`${name}\` doesn't exist!`);
    if (request.operation === "GET") return infoOf(collection);
    if (request.operation === "POST points/query/batch") return this.#query(collection, read("query", request.body));
    const endpoint = handlers[request.operation];
    if (endpoint === undefined) throw new Refused(400, "there is no such endpoint here");
    const allowed = endpoint.writes ? { wait: "true", ordering: "strong" } : { consistency: "majority" };
    for (const [key, value] of searchParams) {
      if (allowed[key as keyof typeof allowed] !== value) throw new Refused(400, `${key}=${value} is not taken here`);
    }
    if (endpoint.writes && !searchParams.has("wait")) throw new Refused(400, "it is not waited for");
    return endpoint.handle(collection, read(endpoint.body, request.body) as never);
  }

  #create(name: string, config: Bodies["createCollection"]): boolean {
    if (this.#collections.has(name)) throw new Refused(409, `Wrong input: Collection \`${name}\` already exists!`);
    this.#collections.set(name, new FakeCollection(config));
    return true;
  }

  #query(collection: FakeCollection, { searches }: Bodies["query"]): Schemas["QueryResponse"][] {
    this.#queries += 1;
    return searches.map((search) => {
      const points = ranked(collection, search, this.#queries % 2 === 0);
      return { points: points.map((each) => scored(each, search.with_payload)) };
    });
  }
}

function scored({ point, score }: Ranked, fields: false | string[]): Schemas["ScoredPoint"] {
  const { id, version, payload } = point;
  if (fields === false) return { id, version, score };
  const shown = Object.fromEntries(fields.flatMap((field) => (field in payload ? [[field, payload[field]]] : [])));
  return { id, version, score, payload: shown };
}

interface Asked {
  request: FakeQdrantRequest;
  name: string;
  parts: string[];
  method: string;
  searchParams: URLSearchParams;
}

function read<Name extends keyof Bodies>(name: Name, body: unknown): Bodies[Name] {
  const parsed = bodies[name].safeParse(body);
  if (parsed.success) return parsed.data as Bodies[Name];
  throw new Refused(
    400,
    `Format error in JSON body: ${parsed.error.message} in ${JSON.stringify(body)?.slice(0, 500)}`,
  );
}

function done(operation_id: number): Schemas["UpdateResult"] {
  return { operation_id, status: "completed" };
}

function createIndex(
  collection: FakeCollection,
  { field_name, field_schema }: Bodies["createIndex"],
): Schemas["UpdateResult"] {
  collection.indexes.set(field_name, field_schema);
  return done(0);
}

function retrieve(collection: FakeCollection, body: Bodies["retrieve"]): Schemas["Record"][] {
  return body.ids.flatMap((id) => {
    const point = collection.points.get(id);
    if (point === undefined) return [];
    const vectors = (body.with_vector ?? []).flatMap((name): [string, number[]][] => {
      const vector = point.dense.get(name);
      return vector === undefined ? [] : [[name, [...vector]]];
    });
    return [
      {
        id,
        ...(body.with_payload && { payload: structuredClone(point.payload) }),
        ...(body.with_vector !== undefined && { vector: Object.fromEntries(vectors) }),
      },
    ];
  });
}

function scroll(collection: FakeCollection, { filter, limit, offset = "" }: Bodies["scroll"]): Schemas["ScrollResult"] {
  const found = collection.matching(filter).filter(({ id }) => id >= offset);
  const points = found.slice(0, limit).map(({ id, payload }) => ({ id, payload: structuredClone(payload) }));
  return { points, next_page_offset: found[limit]?.id ?? null };
}

function infoOf({ config, indexes, points }: FakeCollection): Schemas["CollectionInfo"] {
  const payload_schema = Object.fromEntries(
    [...indexes].map(([name, { type }]) => [name, { data_type: type, points: points.size }]),
  );
  return {
    status: "green",
    optimizer_status: "ok",
    segments_count: 1,
    points_count: points.size,
    config: {
      params: { vectors: config.vectors },
      hnsw_config: { m: 16, ef_construct: 100, full_scan_threshold: 10_000 },
      optimizer_config: {
        deleted_threshold: 0.2,
        vacuum_min_vector_number: 1_000,
        default_segment_number: 0,
        flush_interval_sec: 5,
      },
    },
    payload_schema,
  };
}
