/**
 * The collections of a deployment. `<name>` is the catalogue: one point for each index and for each version of a file, without
 * vectors. `<name>-<dimension>` contains the chunks, with the vectors of an embedding of that dimension.
 */
import { AptoveError } from "../../domain/errors.ts";
import { QdrantFailure, type QdrantConnection, type RequestBounds } from "./qdrant-connection.ts";

/** The oldest supported server. Older ones ignore unknown fields, and would return something else than was requested. */
const serverMin = { major: 1, minor: 19 };

const keyword = { type: "keyword" } as const;
/** The index of the repository field. It makes the server store a repository's points together, because a search reads one repository. */
const tenant = { type: "keyword", is_tenant: true } as const;
const counter = { type: "integer", lookup: true, range: true } as const;

const catalogueFields = { kind: keyword, org: keyword, repo: tenant, version: counter };
const chunkFields = { org: keyword, repo: tenant, language: keyword, within: keyword, born: counter, died: counter };

export function chunkCollection(name: string, dimension: number): string {
  return `${name}-${dimension}`;
}

/** Creates collections and indexes that do not exist. Simultaneous runs create the same ones. */
export async function ensureCollections(
  connection: QdrantConnection,
  { name, dimension }: { name: string; dimension: number },
  bounds: RequestBounds,
): Promise<void> {
  await checkServer(connection, bounds);
  await ensure(connection, { collection: name, vectors: {}, fields: catalogueFields }, bounds);
  const chunks = {
    collection: chunkCollection(name, dimension),
    vectors: {
      vectors: { dense: { size: dimension, distance: "Cosine" as const } },
      // The server computes the rarity of a term at query time.
      sparse_vectors: { text: { modifier: "idf" as const }, symbol: { modifier: "idf" as const } },
    },
    fields: chunkFields,
  };
  await ensure(connection, chunks, bounds);
}

/** Throws `retrieval_failed` if the server is too old. */
async function checkServer(connection: QdrantConnection, bounds: RequestBounds): Promise<void> {
  const version = await connection.ask(async (client) => {
    const answer: { version?: unknown } = await client.versionInfo();
    if (typeof answer.version === "string") return answer.version;
    throw new AptoveError("retrieval_failed", "its answer has no version");
  }, bounds);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const { major: majorMin, minor: minorMin } = serverMin;
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return;
  const detail = `Qdrant at ${connection.url} is ${version}; ${majorMin}.${minorMin} or later is needed`;
  throw new AptoveError("retrieval_failed", detail);
}

interface RequiredCollection {
  collection: string;
  vectors: {
    vectors?: { dense: { size: number; distance: "Cosine" } };
    sparse_vectors?: Record<string, { modifier: "idf" }>;
  };
  fields: Record<string, typeof keyword | typeof tenant | typeof counter>;
}

async function ensure(
  connection: QdrantConnection,
  { collection, vectors, fields }: RequiredCollection,
  bounds: RequestBounds,
): Promise<void> {
  const { exists } = await connection.ask(async (client) => await client.collectionExists(collection), bounds);
  if (!exists) {
    try {
      const shape = { vectors: {}, ...vectors };
      await connection.ask(async (client) => await client.createCollection(collection, shape), bounds);
    } catch (error) {
      // Another run created it first.
      if (!(error instanceof QdrantFailure) || error.status !== 409) throw error;
    }
  }
  const known = await connection.ask(async (client) => await client.getCollection(collection), bounds);
  for (const [field_name, field_schema] of Object.entries(fields)) {
    if (known.payload_schema[field_name] !== undefined) continue;
    const index = { field_name, field_schema, wait: true };
    await connection.ask(async (client) => await client.createPayloadIndex(collection, index), bounds);
  }
}

/** Returns whether the error means that the collection does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof QdrantFailure && error.status === 404;
}
