/**
 * The record of each file that a run left: a point of the catalogue for every version of a file. From it the next run knows
 * what changed, and which chunks of the former version to remove. A version never changes; the newest valid one counts.
 */
import * as z from "zod";
import { idOf } from "../../domain/ids.ts";
import { indexSkipReasons } from "../unindexed-file.ts";
import type { RequestBounds } from "./qdrant-connection.ts";
import { matchValue, scrollPoints, type Catalogue, type IndexKey, type Manifest } from "./manifest.ts";

const fileSchema = z.object({
  path: z.string(),
  /** The generation of the run that wrote this version. */
  born: z.int(),
  /** True if nothing of the file is indexed any more: it was deleted, or is too large. */
  isRemoved: z.boolean(),
  /** False if the file has no chunks, for the reason in `skipped`. */
  isText: z.boolean(),
  skipped: z.enum(indexSkipReasons).exactOptional(),
  language: z.string(),
  /** The SHA-256 of the bytes. */
  hash: z.string(),
  /** `git:` and the id of the object if a commit was indexed; then an unchanged file is not even read. Otherwise empty. */
  stamp: z.string(),
  chunks: z.array(z.object({ id: z.string(), born: z.int(), start: z.int(), end: z.int() })),
});
export type FileRecord = z.infer<typeof fileSchema>;

const recordsPerPage = 512;

export interface KnownFiles {
  /** The files by path, without removed ones. */
  files: Map<string, FileRecord>;
  /** The ids of versions that no later run needs. */
  outdated: string[];
}

export async function readFiles(
  { connection, name }: Catalogue,
  { org, repo, current, void: voided }: Manifest,
  bounds: RequestBounds,
): Promise<KnownFiles> {
  const key = { orgId: org, repo };
  const filter = { must: [matchValue("kind", "file"), matchValue("org", org), matchValue("repo", repo)] };
  const isVoid = new Set(voided);
  const newest = new Map<string, FileRecord>();
  const outdated: FileRecord[] = [];
  for await (const { payload } of scrollPoints({ connection, name }, { filter, limit: recordsPerPage }, bounds)) {
    const record = fileSchema.parse(payload);
    const known = newest.get(record.path);
    if (isVoid.has(record.born)) outdated.push(record);
    // A number that is neither past nor void belongs to a later run, for which this run is void.
    else if (record.born > current) continue;
    else if (known !== undefined && known.born > record.born) outdated.push(record);
    else {
      newest.set(record.path, record);
      if (known !== undefined) outdated.push(known);
    }
  }
  const files = new Map([...newest].filter(([, { isRemoved }]) => !isRemoved));
  // The record of a removed file is deleted once no older version is left that would count instead.
  const hasOlder = new Set(outdated.map(({ path }) => path));
  for (const record of newest.values()) if (record.isRemoved && !hasOlder.has(record.path)) outdated.push(record);
  return { files, outdated: outdated.map((record) => recordId(key, record)) };
}

/** Returns the point of a version, as it is written. */
export function filePoint(key: IndexKey, record: FileRecord): { id: string; vector: object; payload: object } {
  const payload = { kind: "file", org: key.orgId, repo: key.repo, ...record };
  return { id: recordId(key, record), vector: {}, payload };
}

function recordId({ orgId, repo }: IndexKey, { path, born }: FileRecord): string {
  return idOf(JSON.stringify(["file", orgId, repo, path, born]));
}
