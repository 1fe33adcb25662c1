/** `session/prompt`: runs one turn of the session, and shows it while it runs (P1, P4). */
import { join } from "node:path";
import type { ContentBlock, PromptResponse, StopReason } from "@agentclientprotocol/sdk";
import type { RunFailed, StopReason as TurnStopReason } from "../../../domain/events.ts";
import type { RunningTurn, TurnRequest } from "../../../engine/engine.ts";
import type { WorkingCopy } from "../../../domain/active-file.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { AcpClient } from "../client/acp-client.ts";
import { clientCopy } from "../client/client-copy.ts";
import { clientFiles } from "../client/client-files.ts";
import { runSessionCommand } from "./commands.ts";
import { metaKeys, metaOf } from "../meta.ts";
import type { OpenSession, PromptRun } from "./open-session.ts";
import { askClientForPermission } from "./permission.ts";
import type { AcpPorts, OpenedPorts } from "../ports.ts";
import { readPrompt, type PromptContent } from "./prompt-content.ts";
import { failedTurn } from "../refusal.ts";
import { followTurn } from "./follow-turn.ts";

export interface PromptContext {
  ports: AcpPorts;
  opened: OpenedPorts;
  client: AcpClient;
  session: OpenSession;
  run: PromptRun;
}

const cancelled: PromptResponse = { stopReason: "cancelled" };

/** Answers a prompt when its turn has ended. A prompt that still waits behind another one is answered as soon as it is cancelled. */
export async function answerPrompt(prompting: PromptContext, blocks: readonly ContentBlock[]): Promise<PromptResponse> {
  const { session, run } = prompting;
  let hasBegun = false;
  const answered = session.inOrder(async () => {
    if (run.signal.aborted) return cancelled;
    hasBegun = true;
    return await answer(prompting, blocks);
  });
  const early = run.cancelled().then(() => (hasBegun ? answered : cancelled));
  return await Promise.race([answered, early]);
}

async function answer(prompting: PromptContext, blocks: readonly ContentBlock[]): Promise<PromptResponse> {
  const { session, client, run, opened } = prompting;
  const { id, folders } = session.facts;
  const content = await readPrompt(blocks, {
    folder: folders[0],
    files: clientFiles(client, id),
    signal: AbortSignal.any([run.signal, client.gone]),
  });
  const command = await runSessionCommand(content.instruction, { opened, session });
  if (command.kind === "answered") return { stopReason: "end_turn" };
  const request = command.kind === "turn" ? command.turn : { sessionId: id, instruction: content.instruction };
  const turn = await turnRequest(prompting, content, request);
  if (run.signal.aborted) return cancelled;
  const running = await start(prompting, turn);
  return running === null ? cancelled : await follow(prompting, running);
}

async function turnRequest(
  prompting: PromptContext,
  { activeFiles, input }: PromptContent,
  request: TurnRequest,
): Promise<TurnRequest> {
  const { ports, opened, client, session } = prompting;
  const { workspaceId, options, repo, folders } = session.facts;
  const [tools, commit] = await Promise.all([toolsOf(prompting), repo === null ? null : ports.headOf(folders[0])]);
  const { permissions } = opened;
  for (const { path } of activeFiles) session.shownFiles.add(path);
  const disk = ports.workingCopy(folders[0]);
  const shown = async (callId: string): Promise<void> => await session.feed?.shown(callId);
  return {
    ...request,
    // The session may be busy with a turn of another client. The prompt then waits and is never lost (T5).
    ifBusy: "queue",
    mode: options.mode,
    workspaceId,
    activeFiles,
    ...(input.length > 0 && { input }),
    ownTools: tools,
    askApproval: (question) =>
      askClientForPermission({ client, workspaceId, permissions, report: ports.report, shown }, question),
    ...options.chosenModel,
    repo,
    ...(commit === null ? {} : { commit }),
    // A folder below the top of its repository has other paths than the index, so nothing can be compared there.
    workingCopy: disk === null ? null : workingCopyOf(prompting, disk),
    // In an editor's session the model can search with its tools.
    ifNotIndexed: "warn",
  };
}

function workingCopyOf({ client, session, run }: PromptContext, disk: WorkingCopy): WorkingCopy {
  const { id, folders } = session.facts;
  return clientCopy({
    disk,
    files: clientFiles(client, id),
    shown: session.shownFiles,
    absolutePath: (path) => join(folders[0], path),
    signal: AbortSignal.any([run.signal, client.gone]),
  });
}

/** Returns the tools. MCP servers may have started or failed since the last prompt; each warning is sent once. */
async function toolsOf({ ports, client, session }: PromptContext): Promise<readonly Tool[]> {
  const opened = await session.tools;
  const tools = await opened.tools();
  for (const warning of opened.warnings()) {
    if (session.sentWarnings.has(warning)) continue;
    session.sentWarnings.add(warning);
    ports.report(`session ${session.facts.id}: ${warning}`);
    if (client.takesNotices) {
      await session.update({ sessionUpdate: "notice", severity: "warning", title: warning });
    }
  }
  return tools;
}

/** Starts the turn. Returns null if the prompt was cancelled first. A turn that starts in spite of that is interrupted, and not shown. */
async function start({ ports, opened, session, run }: PromptContext, turn: TurnRequest): Promise<RunningTurn | null> {
  const { engine, caller } = opened;
  const starting = engine.turns.run(caller, turn);
  const interrupt = async (turnId: string): Promise<void> => {
    try {
      await engine.turns.interrupt(caller, { turnId });
    } catch (error) {
      ports.report(`a cancelled turn of session ${session.facts.id} could not be interrupted; it continues`, error);
    }
  };
  const began = ({ turnId, finished }: RunningTurn): void => {
    if (run.signal.aborted) return void interrupt(turnId);
    session.holdOpenFor(finished);
    run.signal.addEventListener("abort", () => void interrupt(turnId), { once: true });
  };
  starting.then(began, () => undefined);
  return await Promise.race([starting, run.cancelled()]);
}

async function follow(prompting: PromptContext, running: RunningTurn): Promise<PromptResponse> {
  const { run, ports } = prompting;
  const end = await followTurn(prompting, running).catch((error: unknown) => {
    if (!run.signal.aborted) throw error;
    ports.report(`the end of the cancelled turn ${running.turnId} could not be sent to the client`, error);
    return null;
  });
  const meta = metaOf({ [metaKeys.turnId]: running.turnId });
  // A client that cancelled always receives `cancelled`, never an error (P4).
  if (run.signal.aborted || end === null) return { stopReason: "cancelled", ...meta };
  if (end.type === "run_failed") return { ...failedAnswer(end, running.turnId), ...meta };
  return { stopReason: stopReasons[end.stopReason], ...meta };
}

const stopReasons: Record<TurnStopReason, StopReason> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "end_turn",
  content_filter: "refusal",
  interrupted: "cancelled",
  step_limit: "max_turn_requests",
};

/** Answers a failed turn. No turn continues from it (T12), as ACP requires for a refused prompt. */
function failedAnswer({ failure }: RunFailed, turnId: string): PromptResponse {
  if (failure.code === "interrupted") return { stopReason: "cancelled" };
  if (failure.code === "provider_refused_content") return { stopReason: "refusal" };
  throw failedTurn(failure, turnId);
}
