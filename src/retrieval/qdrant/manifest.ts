/**
 * The manifest decides which chunks of an index are valid. It is one point of the catalogue for each organisation and repository,
 * and changes only by compare-and-set on its version. A run takes a number (a generation) that no other run ever gets. It writes
 * chunks that are born with it and marks those that die with it. Searches see this when the manifest names the number as current.
 *
 * A number that was taken and never became current is void permanently: searches do not see what it wrote, and ignore its marks.
 * So a run that was considered dead and continues changes nothing that a search finds (Q2).
 */
import type { QdrantClient, Schemas } from "@qdrant/js-client-rest";
import * as z from "zod";
import { AptoveError } from "../../domain/errors.ts";
import { idOf } from "../../domain/ids.ts";
import type { QdrantConnection, RequestBounds } from "./qdrant-connection.ts";
import { isMissing } from "./collections.ts";

export const manifestSchema = z.object({
  kind: z.literal("index"),
  org: z.string(),
  repo: z.string(),
  /** The version of the manifest. It increases with every change. */
  version: z.int(),
  /** The run that made the last change. By it a run recognises its own change. */
  writer: z.string(),
  /** The run that holds the lease. Empty if none does. */
  holder: z.string(),
  /** The generation that searches see. 0 if none was finished yet. */
  current: z.int(),
  /** The last number that a run took. */
  taken: z.int(),
  /** The numbers that were taken and never became current. */
  void: z.array(z.int()),
  root: z.string(),
  commit: z.string().nullable(),
  model: z.string(),
  dimension: z.int(),
  files: z.int(),
  chunks: z.int(),
  indexedAt: z.number(),
});
export type Manifest = z.infer<typeof manifestSchema>;

export interface Catalogue {
  connection: QdrantConnection;
  /** The name of the collection. */
  name: string;
}

export interface IndexKey {
  orgId: string;
  repo: string;
}

function manifestId({ orgId, repo }: IndexKey): string {
  return idOf(JSON.stringify(["index", orgId, repo]));
}

/** Returns the manifest. Null if no run has ever begun to index the repository. */
export async function readManifest(
  { connection, name }: Catalogue,
  key: IndexKey,
  bounds: RequestBounds,
): Promise<Manifest | null> {
  // If a point has several replicas, the majority is read, because one replica may be behind.
  const question = { ids: [manifestId(key)], with_payload: true, consistency: "majority" as const };
  try {
    const [point] = await connection.ask(async (client) => await client.retrieve(name, question), bounds);
    return point === undefined ? null : parsed(point.payload, name);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function parsed(payload: unknown, collection: string): Manifest {
  const manifest = manifestSchema.safeParse(payload);
  if (manifest.success) return manifest.data;
  const fix = "give aptove its own collection: retrieval.qdrant.collection";
  throw new AptoveError("retrieval_failed", `the collection ${collection} contains something that is no index; ${fix}`);
}

const manifestsPerPage = 256;
const manifestsMax = 10_000;

/** Returns the manifests of an organisation, by repository, including those of indexes that were only begun. */
export async function listManifests(
  { connection, name }: Catalogue,
  orgId: string,
  bounds: RequestBounds,
): Promise<Manifest[]> {
  const filter = { must: [matchValue("kind", "index"), matchValue("org", orgId)] };
  const found: Manifest[] = [];
  for await (const { payload } of scrollPoints({ connection, name }, { filter, limit: manifestsPerPage }, bounds)) {
    found.push(parsed(payload, name));
    if (found.length === manifestsMax) break;
  }
  return found.toSorted((one, other) => (one.repo < other.repo ? -1 : 1));
}

/** Yields every point that a filter accepts, page by page. */
export async function* scrollPoints(
  { connection, name }: Catalogue,
  { filter, limit }: { filter: Schemas["Filter"]; limit: number },
  bounds: RequestBounds,
): AsyncGenerator<Schemas["Record"]> {
  let offset: string | number | null = null;
  do {
    const page: Schemas["ScrollRequest"] = { filter, limit, with_payload: true, ...(offset !== null && { offset }) };
    const asked = page as Parameters<QdrantClient["scroll"]>[1];
    const { points, next_page_offset: next } = await connection.ask(
      async (client) => await client.scroll(name, asked),
      bounds,
    );
    yield* points;
    offset = typeof next === "string" || typeof next === "number" ? next : null;
  } while (offset !== null);
}

export function matchValue(key: string, value: string | number): { key: string; match: { value: string | number } } {
  return { key, match: { value } };
}

/** Inserts the first manifest of an index and returns it. If another run was faster, returns that run's manifest. */
export async function beginManifest(catalogue: Catalogue, key: IndexKey, bounds: RequestBounds): Promise<Manifest> {
  const { connection, name } = catalogue;
  const blank: Manifest = {
    kind: "index",
    org: key.orgId,
    repo: key.repo,
    version: 0,
    writer: "",
    holder: "",
    current: 0,
    taken: 0,
    void: [],
    root: "",
    commit: null,
    model: "",
    dimension: 0,
    files: 0,
    chunks: 0,
    indexedAt: 0,
  };
  const points = [{ id: manifestId(key), vector: {}, payload: blank }];
  const insert = { points, update_mode: "insert_only" as const, wait: true, ordering: "strong" as const };
  await connection.ask(async (client) => await client.upsert(name, insert), bounds);
  const begun = await readManifest(catalogue, key, bounds);
  if (begun !== null) return begun;
  throw new AptoveError("retrieval_failed", `a point that was written to the collection ${name} cannot be read`);
}

/**
 * Changes the manifest if it is still as the caller saw it. Returns null if it is not. The server applies changes one after the
 * other, and the filter is part of the change, so only one of two changes can find the version that both saw.
 */
export async function swapManifest(
  catalogue: Catalogue,
  { seen, next, writer }: { seen: Manifest; next: Partial<Manifest>; writer: string },
  bounds: RequestBounds,
): Promise<Manifest | null> {
  const { connection, name } = catalogue;
  const key = { orgId: seen.org, repo: seen.repo };
  const payload: Manifest = { ...seen, ...next, version: seen.version + 1, writer };
  const filter = {
    must: [{ has_id: [manifestId(key)] }, { key: "version", match: { value: seen.version } }],
  };
  const swap = { payload, filter, wait: true, ordering: "strong" as const };
  await connection.ask(async (client) => await client.overwritePayload(name, swap), bounds);
  const now = await readManifest(catalogue, key, bounds);
  return now?.version === payload.version && now.writer === writer ? now : null;
}
