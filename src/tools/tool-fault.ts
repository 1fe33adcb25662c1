/** Faults of a tool call, in words that the model can act on. */
import { systemCode } from "../system/system-error.ts";
import type { ToolResult } from "./tool.ts";

/** Ends a call at its first fault. It becomes a result and never leaves the tools. */
export class ToolFault extends Error {}

/** Returns the result of the work. A ToolFault or an error of the operating system becomes an error result; any other error is thrown again. */
export async function withFaults(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    const fault = faultText(error);
    if (fault === null) throw error;
    return { output: `failed: ${fault}`, isError: true };
  }
}

/** Returns what an error of the operating system says, without the path that it names. Null for any other error. */
export function systemText(error: unknown): string | null {
  return systemMessage(error)?.replace(/, \w+ '.*$/s, "") ?? null;
}

function faultText(error: unknown): string | null {
  return error instanceof ToolFault ? error.message : systemMessage(error);
}

function systemMessage(error: unknown): string | null {
  const code = systemCode(error);
  if (!/^E[A-Z0-9]+$/.test(code)) return null;
  return systemWords[code] ?? (error as Error).message;
}

const systemWords: Record<string, string> = {
  EACCES: "the system does not allow it (EACCES)",
  EPERM: "the system does not allow it (EPERM)",
  EROFS: "the disk can only be read (EROFS)",
  ENOSPC: "the disk is full (ENOSPC)",
  EDQUOT: "the disk quota of this user is used up (EDQUOT)",
  ENAMETOOLONG: "the name is too long for the system (ENAMETOOLONG)",
  E2BIG: "the command line is too long for the system (E2BIG); put it into a file and run that",
  EMFILE: "too many files are open (EMFILE); try again",
  ENFILE: "too many files are open (ENFILE); try again",
};
