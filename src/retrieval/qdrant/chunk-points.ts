/** Chunks as points: their content, their ids, and the filters by which they are found, marked and deleted. */
import type { Schemas } from "@qdrant/js-client-rest";
import * as z from "zod";
import { idOf } from "../../domain/ids.ts";
import { searchedPart, type FileChunk } from "../file-chunks.ts";
import { termsOf } from "../terms.ts";
import { matchValue, type IndexKey, type Manifest } from "./manifest.ts";

/** The value of `died` for a chunk that no run removed. It is larger than any generation. */
export const neverRemoved = 2 ** 40;

export const chunkSchema = z.object({
  chunk: z.string(),
  path: z.string(),
  language: z.string(),
  symbol: z.string().nullable(),
  text: z.string(),
  hash: z.string(),
  start: z.int(),
  end: z.int(),
});

/**
 * The settings of the server's ranking by words. terms.ts makes the terms and the server only splits them again, so that
 * "move the head" finds `moveHead` here as in the local index.
 */
const bm25 = {
  model: "qdrant/bm25",
  options: {
    tokenizer: "whitespace",
    lowercase: false,
    stemmer: { type: "none" },
    stopwords: { languages: [], custom: [] },
  } satisfies Schemas["Bm25Config"],
} as const;

export function termsDocument(terms: readonly string[]): Schemas["Document"] {
  return { ...bm25, text: terms.join(" ") };
}

/** Returns the id of a chunk's point. A chunk that two runs wrote is two points, so neither run can change the other's. */
export function chunkPointId({ orgId, repo }: IndexKey, { id, born }: { id: string; born: number }): string {
  return idOf(JSON.stringify(["chunk", orgId, repo, id, born]));
}

export function chunkPoint(
  key: IndexKey,
  { chunk, born, language, vector }: { chunk: FileChunk; born: number; language: string; vector: readonly number[] },
): Schemas["PointStruct"] {
  const { path, symbol, text } = chunk;
  const words = [path, symbol ?? "", searchedPart(text)].flatMap((field) => termsOf(field));
  const names = termsOf(symbol ?? "");
  return {
    id: chunkPointId(key, { id: chunk.id, born }),
    vector: {
      text: termsDocument(words),
      ...(names.length > 0 && { symbol: termsDocument(names) }),
      // A text with nothing in it has no direction.
      ...(vector.some((value) => value !== 0) && { dense: [...vector] }),
    },
    payload: {
      org: key.orgId,
      repo: key.repo,
      born,
      died: neverRemoved,
      within: foldersOf(path),
      language,
      chunk: chunk.id,
      path,
      symbol,
      text,
      hash: chunk.hash,
      start: chunk.startLine,
      end: chunk.endLine,
    },
  };
}

/** Returns every folder that contains the file, and the file itself, so that a filter by prefix is a filter by value. */
function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
}

type Filter = Schemas["Filter"];
type Condition = Schemas["Condition"];

function ofIndex({ org, repo }: Manifest): Condition[] {
  return [matchValue("org", org), matchValue("repo", repo)];
}

function oneOf(key: string, generations: readonly number[]): Condition[] {
  return generations.length === 0 ? [] : [{ key, match: { any: [...generations] } }];
}

/** Selects what searches of the current generation see, and of that what their own filters accept. */
export function visibleChunks(manifest: Manifest, { pathPrefixes }: { pathPrefixes?: string[] }): Filter {
  const { current, void: voided } = manifest;
  const folders = pathPrefixes?.map((prefix) => prefix.replace(/\/+$/, "")) ?? [];
  const isEverywhere = folders.length === 0 || folders.includes("");
  return {
    must: [
      ...ofIndex(manifest),
      { key: "born", range: { lte: current } },
      { should: [{ key: "died", range: { gt: current } }, ...oneOf("died", voided)] },
      ...(isEverywhere ? [] : [{ key: "within", match: { any: folders } }]),
    ],
    must_not: oneOf("born", voided),
  };
}

/** Selects those of the points that no other valid run has marked as removed. */
export function markableChunks({ void: voided }: Manifest, ids: readonly string[]): Filter {
  return { must: [{ has_id: [...ids] }, { should: [matchValue("died", neverRemoved), ...oneOf("died", voided)] }] };
}

/** Selects what unfinished runs wrote. Null if there were none. */
export function addedByUnfinishedGeneration(manifest: Manifest): Filter | null {
  const born = oneOf("born", manifest.void);
  return born.length === 0 ? null : { must: [...ofIndex(manifest), ...born] };
}

/** Selects what unfinished runs marked as removed. Null if there were none. */
export function removedByUnfinishedGeneration(manifest: Manifest): Filter | null {
  const died = oneOf("died", manifest.void);
  return died.length === 0 ? null : { must: [...ofIndex(manifest), ...died] };
}

/** Selects what no search of this generation or a later one sees. */
export function removedUntil(manifest: Manifest, generation: number): Filter {
  return {
    must: [...ofIndex(manifest), { key: "died", range: { lte: generation } }],
    must_not: oneOf("died", manifest.void),
  };
}

/** Selects everything that runs wrote up to this generation. */
export function writtenUntil(manifest: Manifest, generation: number): Filter {
  return { must: [...ofIndex(manifest), { key: "born", range: { lte: generation } }] };
}
