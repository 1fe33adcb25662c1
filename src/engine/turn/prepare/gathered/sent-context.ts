/** What a message has sent, so that later turns do not send it again (X3, Q4). */
import type { SentContext } from "../../../../domain/lineage.ts";
import { splitPath } from "../../../../domain/repositories.ts";
import type { RetrievalScope } from "../accepted-request.ts";
import type { GatheredChunks } from "./gather-chunks.ts";
import type { GatheredFiles } from "./gather-files.ts";

/** Returns the chunks and files that are recorded as sent. */
export function sentWith(chunks: GatheredChunks, files: GatheredFiles, { repo, paths }: RetrievalScope): SentContext {
  const { indexed, warned } = chunks;
  const indexOf = (path: string): string | undefined => indexed.get(splitPath(paths, path).repo ?? repo ?? "");
  return {
    ...(warned.length > 0 && { warned }),
    chunks: chunks.toSend.map(({ id, hash, path }) => ({ id, hash, path })),
    files: files.toSend.map(({ path, sha256: hash }) => {
      const commit = indexOf(path);
      return { path, hash, ...(commit !== undefined && { indexed: commit }) };
    }),
  };
}
