/**
 * What a run left behind of each file: a point of the catalogue for every version of a file, by which the next run knows
 * what changed, and which chunks of the former version go. A version is never changed; the newest that counts is it.
 */
import { z } from "zod";
import { idOf } from "../../domain/ids.ts";
import type { RequestBounds } from "./connection.ts";
import { match, scrolled, type Catalogue, type IndexKey, type Manifest } from "./manifest.ts";

const fileSchema = z.object({
  path: z.string(),
  /** The generation of the run that wrote it. */
  born: z.int(),
  /** Nothing of the file is indexed any more: it is gone, or too large. */
  isRemoved: z.boolean(),
  /** False: it was skipped as binary. */
  isText: z.boolean(),
  language: z.string(),
  /** SHA-256 of the bytes. */
  hash: z.string(),
  /** `git:` and the object's id, where a commit was indexed: then an unchanged file is not even read. Else empty. */
  stamp: z.string(),
  chunks: z.array(z.object({ id: z.string(), born: z.int(), start: z.int(), end: z.int() })),
});
export type FileRecord = z.infer<typeof fileSchema>;

const recordsPerPage = 512;

export interface KnownFiles {
  /** By path, removed ones left out. */
  files: Map<string, FileRecord>;
  /** Points of versions that no run will ask for. */
  outdated: string[];
}

export async function readFiles(
  { connection, name }: Catalogue,
  { org, repo, current, void: voided }: Manifest,
  bounds: RequestBounds,
): Promise<KnownFiles> {
  const key = { orgId: org, repo };
  const filter = { must: [match("kind", "file"), match("org", org), match("repo", repo)] };
  const isVoid = new Set(voided);
  const newest = new Map<string, FileRecord>();
  const outdated: FileRecord[] = [];
  for await (const { payload } of scrolled({ connection, name }, { filter, limit: recordsPerPage }, bounds)) {
    const record = fileSchema.parse(payload);
    const known = newest.get(record.path);
    if (isVoid.has(record.born)) outdated.push(record);
    // A number that is neither past nor void is that of a later run, to which this one is void.
    else if (record.born > current) continue;
    else if (known !== undefined && known.born > record.born) outdated.push(record);
    else {
      newest.set(record.path, record);
      if (known !== undefined) outdated.push(known);
    }
  }
  const files = new Map([...newest].filter(([, { isRemoved }]) => !isRemoved));
  // What says that a file is gone goes when nothing older is left that would say otherwise.
  const hasOlder = new Set(outdated.map(({ path }) => path));
  for (const record of newest.values()) if (record.isRemoved && !hasOlder.has(record.path)) outdated.push(record);
  return { files, outdated: outdated.map((record) => recordId(key, record)) };
}

/** A version's point, as it is written. */
export function filePoint(key: IndexKey, record: FileRecord): { id: string; vector: object; payload: object } {
  const payload = { kind: "file", org: key.orgId, repo: key.repo, ...record };
  return { id: recordId(key, record), vector: {}, payload };
}

function recordId({ orgId, repo }: IndexKey, { path, born }: FileRecord): string {
  return idOf(JSON.stringify(["file", orgId, repo, path, born]));
}
