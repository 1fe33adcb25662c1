/** The answers of our tools to other agents. They are bounded, because they become part of a model's context. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { AptoveApiError } from "../../client/client.ts";

/** The longest answer of a tool, in UTF-16 code units: about 15,000 tokens. */
export const answerCharactersMax = 60_000;

/** Returns the answer of a tool. `facts` are the same for a program. */
export function answered(text: string, facts?: Record<string, unknown>): CallToolResult {
  return {
    content: [{ type: "text", text: shortened(text, answerCharactersMax) }],
    ...(facts !== undefined && { structuredContent: facts }),
  };
}

/** Returns the text, or its beginning and how much is left out. */
export function shortened(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const kept = text.slice(0, charactersMax).toWellFormed();
  return `${kept}\n[${text.length - charactersMax} more characters are left out here]`;
}

/** Runs a tool. A refusal is an answer that the model can read, with the code of the error. */
export async function toolAnswer(run: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof AptoveApiError)) throw error;
    return refused(error.code, error.message, error.facts);
  }
}

export function refused(code: string, message: string, facts: Record<string, unknown> = {}): CallToolResult {
  return {
    content: [{ type: "text", text: `${code}: ${message}` }],
    structuredContent: { ...facts, code, message },
    isError: true,
  };
}
