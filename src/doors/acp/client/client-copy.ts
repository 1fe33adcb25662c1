/** The working copy of an editor's session: files that the client showed from its buffers are read there again (X6, P4). */
import { sha256 } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { WorkingCopy } from "../../../domain/active-file.ts";
import { anySignal } from "../../../system/abort.ts";
import type { FileAccess } from "../../../tools/session-tools.ts";

export interface ClientCopyParts {
  /** The working copy on disk. */
  disk: WorkingCopy;
  /** The client's access to files, if it offers that. */
  files: Partial<FileAccess>;
  /** The paths, relative to the folder, whose text came from the client. */
  shown: Pick<ReadonlySet<string>, "has">;
  absolutePath(path: string): string;
  signal: AbortSignal;
}

export function clientCopy({ disk, files, shown, absolutePath, signal }: ClientCopyParts): WorkingCopy {
  const { readText } = files;
  if (readText === undefined) return disk;
  return {
    ...disk,
    look: async (path) => {
      const found = await disk.look(path);
      // A file that is not on disk is not in a buffer that counts either, and others were never read from the client.
      if (found === null || !shown.has(path)) return found;
      try {
        const text = await readText(absolutePath(path), anySignal(signal, AbortSignal.timeout(limits.acpClientMsMax)));
        return { hash: sha256(text), text };
      } catch {
        return found;
      }
    },
  };
}
