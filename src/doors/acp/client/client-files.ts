/** The client's files in place of the disk, where it offers them (P4): its unsaved buffers are what the person sees. */
import { RequestError } from "@agentclientprotocol/sdk";
import type { FileAccess } from "../../../tools/session-tools.ts";
import type { Client } from "./client.ts";

/** Only what the client said that it can do. */
export function clientFiles(client: Client, sessionId: string): Partial<FileAccess> {
  const { fs } = client.capabilities;
  return {
    ...(fs?.readTextFile === true && {
      readText: async (path: string, signal: AbortSignal) => {
        const read = client.request("fs/read_text_file", { sessionId, path }, signal);
        return (await read.catch((error: unknown) => refuse("open", path, error))).content;
      },
    }),
    ...(fs?.writeTextFile === true && {
      writeText: async (path: string, content: string, signal: AbortSignal) => {
        const written = client.request("fs/write_text_file", { sessionId, path, content }, signal);
        await written.catch((error: unknown) => refuse("write", path, error));
      },
    }),
  };
}

const resourceNotFound = -32002;

/** As `node:fs` says it. ACP has a code for a missing file; many clients only say it in words. */
function refuse(syscall: string, path: string, error: unknown): never {
  const reason = reasonOf(error);
  const isMissing =
    (error instanceof RequestError && error.code === resourceNotFound) ||
    /ENOENT|no such file|not found|does not exist/i.test(reason);
  const code = isMissing ? "ENOENT" : "EIO";
  const message = isMissing ? "no such file or directory" : `the client refused: ${reason}`;
  throw Object.assign(new Error(`${code}: ${message}, ${syscall} '${path}'`, { cause: error }), {
    code,
    syscall,
    path,
  });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const details =
    error instanceof RequestError ? (error.data as { details?: unknown } | undefined)?.details : undefined;
  return typeof details === "string" ? `${error.message}: ${details}` : error.message;
}
