/** The tools that run a turn or make a session. */
import { SdkError, type CallToolResult, type McpServer, type ServerContext } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { AptoveClient, ExecuteAnswer, ExecuteRequest, StreamedEvent } from "../../client/client.ts";
import { idSchema } from "../../protocol/values.ts";
import { answered, toolAnswer, refused } from "./tool-answer.ts";
import { toolArguments } from "./tool-arguments.ts";

const annotations = { readOnlyHint: false, destructiveHint: false, openWorldHint: true };
const instruction = z.string().min(1).describe("The instruction to the model.");
const model = z.string().optional().describe("A model, for example openai/gpt-5.1. Absent: the one of the context.");
const mode = z.string().optional().describe("The mode, for example ask or edit. Absent: ask.");

export function addRunningTools(server: McpServer, client: AptoveClient): void {
  server.registerTool(
    "ask",
    {
      title: "Ask in a new session",
      description:
        "Begins a session with an instruction and returns the answer, with the ids of the session and the turn.",
      inputSchema: toolArguments({
        instruction,
        name: z.string().optional().describe("The name of the session."),
        repo: z.string().optional().describe("An indexed repository in which code is searched for."),
        otherRepos: z
          .array(z.string())
          .optional()
          .describe("More repositories that the session is about, in order. Paths then begin with a name and a colon."),
        model,
        mode,
      }),
      annotations,
    },
    ({ name, otherRepos: others = [], ...request }, context) =>
      run(client, context, {
        ...present(request),
        ...(others.length > 0 && { otherRepos: others.map((repo) => ({ repo })) }),
        ...(name !== undefined && { session: { name } }),
      }),
  );
  server.registerTool(
    "continue_session",
    {
      title: "Continue a session",
      description: "Sends an instruction to a session and returns the answer. A turn that runs there ends first.",
      inputSchema: toolArguments({ sessionId: idSchema.describe("The id of a session."), instruction, model, mode }),
      annotations,
    },
    ({ sessionId, ...request }, context) => run(client, context, { ...present(request), sessionId, ifBusy: "queue" }),
  );
  server.registerTool(
    "fork_session",
    {
      title: "Fork a session",
      description:
        "Makes a session that continues a finished turn, and leaves the other session as it is. With an instruction it runs the first turn.",
      inputSchema: toolArguments({
        turnId: idSchema.describe("The turn to continue from, of any session."),
        instruction: instruction.optional(),
        name: z.string().optional().describe("The name of the new session."),
        model,
        mode,
      }),
      annotations,
    },
    ({ turnId, name, ...request }, context) =>
      request.instruction === undefined
        ? toolAnswer(() => emptyFork(client, turnId, name))
        : run(client, context, {
            ...present(request),
            fork: { turnId },
            ...(name !== undefined && { session: { name } }),
          }),
  );
}

async function emptyFork(client: AptoveClient, forkOf: string, name: string | undefined): Promise<CallToolResult> {
  const { id } = await client.sessions.create({ forkOf, ...(name !== undefined && { name }) });
  return answered(`Session ${id} continues turn ${forkOf}.`, { sessionId: id, turnId: forkOf });
}

function present(request: Record<string, string | undefined>): ExecuteRequest {
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
}

/**
 * Runs a turn to its end, and reports its progress. A caller that cancels interrupts the turn; what the model wrote until
 * then is stored (T10). Since the version of 2026-07-28, whose requests have an envelope, closing the stream cancels. In older ones
 * a cut connection does not, so the turn goes on (R5).
 */
async function run(client: AptoveClient, context: ServerContext, request: ExecuteRequest): Promise<CallToolResult> {
  const { signal, envelope } = context.mcpReq;
  let turnId: string | null = null;
  const interrupt = (): void => {
    const isCut = envelope === undefined && SdkError.isInstance(signal.reason);
    // It may have ended in the meantime.
    if (turnId !== null && !isCut) client.turns.interrupt(turnId).catch(() => undefined);
  };
  signal.addEventListener("abort", interrupt, { once: true });
  const progress = new Progress(context);
  const onEvent = ({ event }: StreamedEvent): void => {
    if (event.type === "RUN_STARTED") {
      turnId = event.runId;
      if (signal.aborted) interrupt();
    }
    progress.report(event);
  };
  try {
    return await toolAnswer(async () => turnAnswer(await client.execute(request, { onEvent })));
  } finally {
    signal.removeEventListener("abort", interrupt);
  }
}

class Progress {
  readonly #context: ServerContext;
  #steps = 0;

  constructor(context: ServerContext) {
    this.#context = context;
  }

  /** Reports an event, if the caller wants to know and it is worth a message. */
  report(event: StreamedEvent["event"]): void {
    const { mcpReq } = this.#context;
    const progressToken = mcpReq._meta?.progressToken;
    const message = messageOf(event);
    if (progressToken === undefined || message === null || mcpReq.signal.aborted) return;
    this.#steps += 1;
    const params = { progressToken, progress: this.#steps, message };
    // A caller that has left gets no progress. The answer waits for it, or is dropped.
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  }
}

function messageOf(event: StreamedEvent["event"]): string | null {
  switch (event.type) {
    case "RUN_STARTED":
      return "the turn runs";
    case "TEXT_MESSAGE_START":
      return "the model answers";
    case "TOOL_CALL_START":
      return `the model calls ${event.toolCallName}`;
    default:
      return null;
  }
}

function turnAnswer(answer: ExecuteAnswer): CallToolResult {
  const { kind, text, sessionId, turnId, toolCalls, stopReason, warnings } = answer;
  const facts = { sessionId, turnId, stopReason, warnings: warnings.map(({ code, message }) => ({ code, message })) };
  if (kind === "error") return refused(answer.errorCode ?? "internal", answer.errorMessage ?? "the turn failed", facts);
  const waits = toolCalls.map(({ name }) => name).join(", ");
  const note = waits === "" ? "" : `\n\n[The turn waits for a person, who may allow: ${waits}]`;
  const { content, ...rest } = answered(`${text}${note}`, { ...facts, kind });
  return { ...rest, content: [...content, { type: "text", text: `session ${sessionId}, turn ${turnId}` }] };
}
