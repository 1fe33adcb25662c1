/** Reads and writes files through the client, if it offers that (P4), because its unsaved buffers are what the user sees. */
import { RequestError } from "@agentclientprotocol/sdk";
import { AptoveError } from "../../../domain/errors.ts";
import type { FileAccess } from "../../../tools/session-tools.ts";
import type { AcpClient } from "./acp-client.ts";
import { checkedAnswer } from "./client-answers.ts";

/** Returns only the operations that the client declared in its capabilities. */
export function clientFiles(client: AcpClient, sessionId: string): Partial<FileAccess> {
  const { fs } = client.capabilities;
  return {
    ...(fs?.readTextFile === true && {
      readText: async (path: string, signal: AbortSignal) => {
        try {
          const answer = await client.request("fs/read_text_file", { sessionId, path }, signal);
          return checkedAnswer("fs/read_text_file", answer).content;
        } catch (error) {
          refuse("open", path, error);
        }
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
  const isMissing = isAboutMissingFile(error);
  const code = isMissing ? "ENOENT" : "EIO";
  const message = isMissing ? "no such file or directory" : reasonOf(error);
  throw Object.assign(new Error(`${code}: ${message}, ${syscall} '${path}'`, { cause: error }), {
    code,
    syscall,
    path,
  });
}

function isAboutMissingFile(error: unknown): boolean {
  if (error instanceof RequestError && error.code === resourceNotFound) return true;
  return !(error instanceof AptoveError) && /ENOENT|no such file|not found|does not exist/i.test(clientText(error));
}

function reasonOf(error: unknown): string {
  return error instanceof AptoveError ? error.detail : `the client refused: ${clientText(error)}`;
}

function clientText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const details =
    error instanceof RequestError ? (error.data as { details?: unknown } | undefined)?.details : undefined;
  return typeof details === "string" ? `${error.message}: ${details}` : error.message;
}
