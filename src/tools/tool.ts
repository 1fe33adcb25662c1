/**
 * The contract for tools that the engine runs between two model calls of a turn (V5). A tool that is offered to the model
 * but not run here belongs to the client: a call of it ends the turn and waits for the client's result.
 *
 * What a tool must do:
 * - `run` never throws for failures of the outside world. A missing file, a command that fails or bad arguments are
 *   results with `isError`. If it throws anyway, the error becomes such a result and is reported.
 * - After `signal` aborts (the turn was interrupted, or the time is up) it ends soon and leaves nothing running. The
 *   engine does not wait for a tool that continues: the model receives a result that it did not end.
 * - The model writes the arguments as JSON text, which may be anything. `run` receives them parsed if they are a JSON
 *   object. If they are not, `run` is not called, and the model receives an error result.
 * - An output may have up to `toolOutputBytesMax`. The model receives it cut at `toolResultCharactersMax`. The whole
 *   output is stored with the turn and can be read later (`ToolContext.readOutput`).
 * - `run` returns `output`, a text, and `needsApproval` returns true or false and throws nothing. A call that breaks this is answered with an
 *   error result that names the contract, and is reported.
 * - `view` changes nothing, returns fast, and leaves out what it cannot find out. It may throw: then the call is shown as
 *   without a view. A ToolFault from `view` means that the call cannot do anything, for example because its path leads out of
 *   the folders. Then no person is asked for permission, and the model receives the fault.
 */
import type { ToolCallView, ToolContent, ToolDefinition } from "../domain/tool.ts";

export interface Tool {
  readonly definition: ToolDefinition;
  /** The most time of a call in milliseconds. Absent: `toolTimeMs`. */
  readonly timeMs?: number;
  /**
   * Returns the view of this call. Absent: its title is the tool's name, its kind `other`, and its content empty. Where a view has no
   * content, a client shows the arguments, which the events and `ApprovalQuestion.args` have.
   */
  view?(args: Record<string, unknown>): ToolCallView | Promise<ToolCallView>;
  /** Returns true if this call needs a person's approval before it runs (V5). */
  needsApproval(args: Record<string, unknown>): boolean;
  run(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult>;
}

export interface ToolContext {
  sessionId: string;
  turnId: string;
  callId: string;
  signal: AbortSignal;
  /** Shows output while the call runs. Output beyond a bounded amount is dropped. */
  showOutput(text: string): void;
  /** Returns the whole output of an earlier call in this session's history. Null if the output was not cut, or does not exist. */
  readOutput(callId: string): Promise<string | null>;
}

export interface ToolResult {
  output: string;
  isError: boolean;
  /** Content for people in addition to the output, such as changes of files. */
  content?: ToolContent[];
}
