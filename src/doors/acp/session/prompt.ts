/** `session/prompt`: one turn of the session, shown while it runs (P1, P4). */
import type { ContentBlock, PromptResponse, StopReason } from "@agentclientprotocol/sdk";
import type { RunFailed, StopReason as TurnStopReason } from "../../../domain/events.ts";
import type { RunningTurn, TurnRequest } from "../../../engine/engine.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { Client } from "../client/client.ts";
import { clientFiles } from "../client/client-files.ts";
import { runCommand } from "./commands.ts";
import { metaKeys, metaOf } from "../meta.ts";
import type { OpenSession, PromptRun } from "./open-session.ts";
import { askPermission } from "./permission.ts";
import type { AcpPorts, OpenedPorts } from "../ports.ts";
import { readPrompt, type PromptContent } from "./prompt-content.ts";
import { failedTurn } from "../refusal.ts";
import { followTurn } from "./follow-turn.ts";

export interface Prompting {
  ports: AcpPorts;
  opened: OpenedPorts;
  client: Client;
  session: OpenSession;
  run: PromptRun;
}

const cancelled: PromptResponse = { stopReason: "cancelled" };

/** Answered as soon as it is cancelled, where it waits behind another prompt; else when its turn has ended. */
export async function answerPrompt(prompting: Prompting, blocks: readonly ContentBlock[]): Promise<PromptResponse> {
  const { session, run } = prompting;
  let hasBegun = false;
  const answered = session.inLine(async () => {
    if (run.signal.aborted) return cancelled;
    hasBegun = true;
    return await answer(prompting, blocks);
  });
  const early = run.cancelled().then(() => (hasBegun ? answered : cancelled));
  return await Promise.race([answered, early]);
}

async function answer(prompting: Prompting, blocks: readonly ContentBlock[]): Promise<PromptResponse> {
  const { session, client, run, opened } = prompting;
  const { id, folders } = session.facts;
  const content = await readPrompt(blocks, {
    folder: folders[0],
    files: clientFiles(client, id),
    signal: AbortSignal.any([run.signal, client.gone]),
  });
  const command = await runCommand(content.instruction, { opened, session });
  if (command.kind === "answered") return { stopReason: "end_turn" };
  const request = command.kind === "turn" ? command.turn : { sessionId: id, instruction: content.instruction };
  const turn = await turnRequest(prompting, content, request);
  if (run.signal.aborted) return cancelled;
  const running = await start(prompting, turn);
  return running === null ? cancelled : await follow(prompting, running);
}

async function turnRequest(
  prompting: Prompting,
  { activeFiles, input }: PromptContent,
  asked: TurnRequest,
): Promise<TurnRequest> {
  const { ports, opened, client, session } = prompting;
  const { workspaceId, options, repo, folders } = session.facts;
  const [tools, commit] = await Promise.all([toolsOf(prompting), repo === null ? null : ports.headOf(folders[0])]);
  const { permissions } = opened;
  const shown = async (callId: string): Promise<void> => await session.feed?.shown(callId);
  return {
    ...asked,
    // Whoever has the session open somewhere else is waited for; a prompt is never lost to them (T5).
    ifBusy: "queue",
    mode: options.mode,
    workspaceId,
    activeFiles,
    ...(input.length > 0 && { input }),
    ownTools: tools,
    askApproval: (question) =>
      askPermission({ client, workspaceId, permissions, report: ports.report, shown }, question),
    ...options.chosenModel,
    repo,
    ...(commit === null ? {} : { commit }),
    // Here the model has tools to look for itself.
    ifNotIndexed: "warn",
  };
}

/** Servers may have started, or failed to, since the last prompt: each warning is told once. */
async function toolsOf({ ports, client, session }: Prompting): Promise<readonly Tool[]> {
  const opened = await session.tools;
  const tools = await opened.tools();
  for (const warning of opened.warnings()) {
    if (session.warned.has(warning)) continue;
    session.warned.add(warning);
    ports.report(`session ${session.facts.id}: ${warning}`);
    if (client.takesNotices) {
      await session.update({ sessionUpdate: "notice", severity: "warning", title: warning });
    }
  }
  return tools;
}

/** Null: it was cancelled before it had begun. What begins all the same is stopped, and nobody hears of it. */
async function start({ ports, opened, session, run }: Prompting, turn: TurnRequest): Promise<RunningTurn | null> {
  const { engine, caller } = opened;
  const starting = engine.turns.run(caller, turn);
  const interrupt = async (turnId: string): Promise<void> => {
    try {
      await engine.turns.interrupt(caller, { turnId });
    } catch (error) {
      ports.report(`a cancelled turn of session ${session.facts.id} could not be stopped`, error);
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

async function follow(prompting: Prompting, running: RunningTurn): Promise<PromptResponse> {
  const { run, ports } = prompting;
  const end = await followTurn(prompting, running).catch((error: unknown) => {
    if (!run.signal.aborted) throw error;
    ports.report(`the end of the cancelled turn ${running.turnId} could not be told`, error);
    return null;
  });
  const meta = metaOf({ [metaKeys.turnId]: running.turnId });
  // Whatever it came to: the client that cancelled is told so, and never an error (P4).
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

/** A failed turn is never a parent (T12): exactly what ACP says of a refused prompt. */
function failedAnswer({ failure }: RunFailed, turnId: string): PromptResponse {
  if (failure.code === "interrupted") return { stopReason: "cancelled" };
  if (failure.code === "provider_refused_content") return { stopReason: "refusal" };
  throw failedTurn(failure, turnId);
}
