/**
 * The contract for tools that run beside the engine, between two model calls of a turn (V5). A tool that is
 * offered to the model and is not one of these is the client's: its calls end the turn, and wait.
 *
 * What a tool must do:
 * - `run` never throws for what the outside world does: a file that is missing, a command that fails, bad
 *   arguments are results with `isError`. What it throws all the same becomes one, and is reported.
 * - After `signal` aborts (the turn is interrupted, or the time is up) it ends soon and leaves nothing running.
 *   The engine does not wait for one that does not: the model is told that it did not end.
 * - Its arguments come as the model wrote them: JSON text that may be anything. `run` gets them parsed where they
 *   are a JSON object; else it is not called, and the model is told so.
 * - What it gives back may have up to `toolOutputBytesMax`. The model gets it cut at `toolResultCharactersMax`; the
 *   whole is kept with the turn, and can be had again (`ToolContext.readOutput`).
 * - `view` changes nothing and answers fast; what it cannot find out it leaves out. It may throw: then the call is
 *   shown by its name. With a ToolFault it says that the call cannot do anything, because its path leads out of the
 *   folders for example: nobody is asked to allow that, and the model is told the fault.
 */
import type { ToolCallView, ToolContent, ToolDefinition } from "../domain/tool.ts";

export interface Tool {
  readonly definition: ToolDefinition;
  /** How long a call may take, in milliseconds; absent: `toolTimeMs`. */
  readonly timeMs?: number;
  /** How this call is shown; absent: by its name and arguments. */
  view?(args: Record<string, unknown>): ToolCallView | Promise<ToolCallView>;
  /** Whether this call may only run once a person has allowed it (V5). */
  needsApproval(args: Record<string, unknown>): boolean;
  run(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult>;
}

export interface ToolContext {
  sessionId: string;
  turnId: string;
  callId: string;
  signal: AbortSignal;
  /** Shows output while the call runs; what comes after a bounded amount is dropped. */
  showOutput(text: string): void;
  /** The whole output of an earlier call of this session's history, or null: it was not cut, or is not there. */
  readOutput(callId: string): Promise<string | null>;
}

export interface ToolResult {
  output: string;
  isError: boolean;
  /** What people see beside the output: changes of files. */
  content?: ToolContent[];
}
