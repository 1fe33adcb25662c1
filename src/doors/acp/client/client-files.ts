/** Reads and writes files through the client, if it offers that (P4), because its unsaved buffers are what the user sees. */
import { RequestError } from "@agentclientprotocol/sdk";
import type { FileAccess } from "../../../tools/session-tools.ts";
import type { AcpClient } from "./acp-client.ts";

/** Returns only the operations that the client declared in its capabilities. */
export function clientFiles(client: AcpClient, sessionId: string): Partial<FileAccess> {
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

/** Throws an error in the form of `node:fs`. ACP has a code for a missing file, but many clients only write it in the message. */
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
