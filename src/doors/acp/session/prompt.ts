/** `session/prompt`: runs one turn of the session, and shows it while it runs (P1, P4). */
import { join } from "node:path";
import type { ContentBlock, PromptResponse } from "@agentclientprotocol/sdk";
import type { RunFailed } from "../../../domain/events.ts";
import { joinPath } from "../../../domain/repositories.ts";
import type { RulesFile } from "../../../domain/context.ts";
import type { Usage } from "../../../domain/usage.ts";
import type { OtherRepository, RunningTurn, TurnRequest } from "../../../engine/engine.ts";
import type { WorkingCopy } from "../../../domain/active-file.ts";
import { onAbort } from "../../../system/abort.ts";
import { RoundQueue } from "../../../system/rounds.ts";
import type { ToolFeedback } from "../../../domain/tool.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { AcpClient } from "../client/acp-client.ts";
import { clientCopy } from "../client/client-copy.ts";
import { clientFiles } from "../client/client-files.ts";
import { isSessionCommand, runSessionCommand } from "./commands.ts";
import { metaKeys, metaOf } from "../meta.ts";
import type { OpenSession, PromptRun } from "./open-session.ts";
import { askToPassBudget } from "./pass-budget.ts";
import { decidedAlready } from "./permission.ts";
import type { AcpPorts, OpenedPorts } from "../ports.ts";
import { readPrompt, type PromptContent } from "./prompt-content.ts";
import { failedTurn } from "../refusal.ts";
import { withoutPlanNote, withPlanNote } from "./editor-modes.ts";
import { followChoices } from "./follow-choices.ts";
import { followTurn } from "./follow-turn.ts";
import { stopReasonOf } from "./stop-reasons.ts";
import type { FollowedEnd } from "./turn-feed.ts";

export interface PromptContext {
  ports: AcpPorts;
  opened: OpenedPorts;
  client: AcpClient;
  session: OpenSession;
  run: PromptRun;
  /** What happens if a turn is running. Null: a turn that was running when the client opened the session is steered, others are awaited. */
  ifBusy: "steer" | "queue" | "interrupt" | null;
}

const preparationsARound = 4;
/**
 * A prompt is prepared with calls of the file system that block. Where many prompts come at once, over all connections, the tokens of
 * running turns pass between their preparations.
 */
const preparations = new RoundQueue(() => preparationsARound);

const cancelled: PromptResponse = { stopReason: "cancelled" };

/** Answers a prompt when its turn has ended. A prompt that still waits behind another one is answered as soon as it is cancelled. */
export async function answerPrompt(prompting: PromptContext, blocks: readonly ContentBlock[]): Promise<PromptResponse> {
  const { session, run } = prompting;
  const joined = await joinRunning(prompting, blocks);
  if (joined !== null) return joined;
  let hasBegun = false;
  const answered = session.inOrder(async () => {
    if (session.followed?.isAttached === true) await session.followed.end;
    await preparations.start();
    if (run.signal.aborted) return cancelled;
    hasBegun = true;
    return await answer(prompting, blocks);
  });
  const early = run.cancelled().then(() => (hasBegun ? answered : cancelled));
  return await Promise.race([answered, early]);
}

/**
 * Gives the prompt to the running turn as a message, if that is requested, or if the turn was running when the client opened
 * the session. The answer is then that of the turn. Null: the prompt needs a turn of its own, also because the message came too
 * late for the running one (V4).
 */
async function joinRunning(prompting: PromptContext, blocks: readonly ContentBlock[]): Promise<PromptResponse | null> {
  const { session, run } = prompting;
  const { followed } = session;
  const ifBusy = prompting.ifBusy ?? (followed?.isAttached === true ? "steer" : "queue");
  if (followed === null || ifBusy === "queue") return null;
  if (ifBusy === "interrupt") {
    await session.interrupt(followed.turnId);
    return null;
  }
  const { instruction, input } = await readBlocks(prompting, blocks);
  // A message is text only. A command is for the session, and runs after the turn.
  if (input.length > 0 || isSessionCommand(instruction)) return null;
  if (!(await session.steer(followed.turnId, instruction))) return null;
  onAbort(run.signal, () => void session.interrupt(followed.turnId));
  const end = await followed.end;
  // The turn had made its last model call when the message came. The prompt is answered by a turn of its own.
  if (session.takeOwnSteer(instruction) && end?.type === "run_finished" && end.stopReason !== "interrupted")
    return null;
  return promptAnswer(prompting, followed.turnId, end);
}

async function readBlocks(
  { session, client, run }: PromptContext,
  blocks: readonly ContentBlock[],
): Promise<PromptContent> {
  const { id, folders, repositories } = session.facts;
  return await readPrompt(blocks, {
    folder: folders[0],
    repositories,
    files: clientFiles(client, id),
    signal: AbortSignal.any([run.signal, client.gone]),
  });
}

async function answer(prompting: PromptContext, blocks: readonly ContentBlock[]): Promise<PromptResponse> {
  const { session, run, opened } = prompting;
  const { id } = session.facts;
  const content = await readBlocks(prompting, blocks);
  await followChoices(prompting);
  const command = await runSessionCommand(content.instruction, { opened, session, client: prompting.client });
  if (command.kind === "answered") return { stopReason: "end_turn" };
  const request = command.kind === "turn" ? command.turn : { sessionId: id, instruction: content.instruction };
  let turn = await turnRequest(prompting, content, request);
  for (;;) {
    if (run.signal.aborted) return cancelled;
    const running = await start(prompting, turn);
    if (running === null) return cancelled;
    session.compactsNext = false;
    const end = await follow(prompting, running);
    const passed = await askToPass(prompting, running.turnId, end);
    if (passed === null) return promptAnswer(prompting, running.turnId, end);
    turn = await turnRequest(prompting, nothing, { sessionId: id, instruction: "", toolResults: [passed] });
  }
}

const nothing: PromptContent = { instruction: "", activeFiles: [], input: [] };

/** A turn that waits for its budget goes on in the same prompt, once the user has answered (F11). */
async function askToPass(
  { ports, opened, client, session, run }: PromptContext,
  turnId: string,
  end: FollowedEnd | null,
): Promise<ToolFeedback | null> {
  const asking = { client, session, turnId, permissions: opened.permissions, report: ports.report };
  return await askToPassBudget(asking, end, run.signal);
}

async function turnRequest(
  prompting: PromptContext,
  { activeFiles, input }: PromptContent,
  request: TurnRequest,
): Promise<TurnRequest> {
  const { ports, opened, session } = prompting;
  const { workspaceId, options, repo, folders } = session.facts;
  const { turnMode, plans } = options.modeChosen;
  const [tools, commit, around, others] = await Promise.all([
    toolsOf(prompting),
    repo === null ? null : ports.headOf(folders[0]),
    ports.surroundingsOf(folders[0]),
    otherRepositories(prompting),
  ]);
  for (const { path } of activeFiles) session.shownFiles.add(path);
  const disk = ports.workingCopy(folders[0]);
  const { instruction = "" } = request;
  return {
    ...request,
    // The session may be busy with a turn of another client. The prompt then waits and is never lost (T5).
    ifBusy: "queue",
    mode: turnMode,
    instruction: plans === true && request.toolResults === undefined ? withPlanNote(instruction) : instruction,
    // The mode may have changed since the prompt that is repeated.
    repeatInstruction: (old) => (plans === true ? withPlanNote(withoutPlanNote(old)) : withoutPlanNote(old)),
    ...(session.compactsNext && { compact: true }),
    ...(options.effort !== null && { settings: { reasoningEffort: options.effort } }),
    workspaceId,
    activeFiles,
    ...(input.length > 0 && { input }),
    ownTools: tools,
    decideApproval: (question) =>
      decidedAlready({ session, permissions: opened.permissions, report: ports.report }, question),
    // Every client that follows the turn is asked, this one too.
    askApproval: async () => null,
    ...(options.chosenModel !== null && { model: options.chosenModel }),
    repo,
    ...(commit === null ? {} : { commit }),
    // A folder below the top of its repository has other paths than the index, so nothing can be compared there.
    workingCopy: disk === null ? null : workingCopyOf(prompting, disk),
    ...around,
    ...(others.length > 0 && { otherRepos: others.map(({ other }) => other) }),
    // The rules of the working directory come last, because they count more.
    ...(around.rules != null && { rules: [...others.flatMap(({ rules }) => rules), ...around.rules] }),
    // In an editor's session the model can search with its tools.
    ifNotIndexed: "warn",
  };
}

/** Returns the other repositories of the session whose folders the client has opened, and their rules (M7, M1). */
async function otherRepositories(prompting: PromptContext): Promise<{ other: OtherRepository; rules: RulesFile[] }[]> {
  const { ports, session, client, run } = prompting;
  const { id, repositories, repo: own } = session.facts;
  const others = repositories.filter(({ repo }) => repo !== own);
  return await Promise.all(
    others.map(async ({ repo, root }) => {
      const [commit, { rules }] = await Promise.all([ports.headOf(root), ports.surroundingsOf(root)]);
      const disk = ports.workingCopy(root);
      const inSession = (path: string): string => joinPath({ repo, path });
      const workingCopy =
        disk === null
          ? null
          : clientCopy({
              disk,
              files: clientFiles(client, id),
              shown: { has: (path) => session.shownFiles.has(inSession(path)) },
              absolutePath: (path) => join(root, path),
              signal: AbortSignal.any([run.signal, client.gone]),
            });
      return {
        other: { repo, ...(commit !== null && { commit }), workingCopy },
        rules: (rules ?? []).map((file) => ({ ...file, path: inSession(file.path) })),
      };
    }),
  );
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
async function start({ opened, session, run }: PromptContext, turn: TurnRequest): Promise<RunningTurn | null> {
  const { engine, caller } = opened;
  const starting = engine.turns.run(caller, turn);
  const began = ({ turnId, finished }: RunningTurn): void => {
    if (run.signal.aborted) return void session.interrupt(turnId);
    session.holdOpenFor(finished);
    run.signal.addEventListener("abort", () => void session.interrupt(turnId), { once: true });
  };
  starting.then(began, () => undefined);
  return await Promise.race([starting, run.cancelled()]);
}

async function follow(prompting: PromptContext, running: RunningTurn): Promise<FollowedEnd | null> {
  const { run, ports } = prompting;
  const { report } = ports;
  return await followTurn({ ...prompting, report }, running).catch((error: unknown) => {
    if (!run.signal.aborted) throw error;
    report(`the end of the cancelled turn ${running.turnId} could not be sent to the client`, error);
    return null;
  });
}

/** Answers with the end of the turn. A client that cancelled always receives `cancelled`, never an error (P4). */
function promptAnswer({ run }: PromptContext, turnId: string, end: FollowedEnd | null): PromptResponse {
  const meta = metaOf({ [metaKeys.turnId]: turnId });
  if (run.signal.aborted || end === null) return { stopReason: "cancelled", ...meta };
  const stopReason = stopReasonOf(end);
  if (stopReason !== null) return { stopReason, ...promptUsage(end.usage), ...meta };
  throw failedTurn((end as RunFailed).failure, turnId);
}

/** Returns what the turn used, in the form of the unstable schema. Empty if the provider counted nothing. */
function promptUsage({ input, output, total, reasoning, cached }: Usage): object {
  if (total === 0) return {};
  const tokens = { totalTokens: total, inputTokens: input, outputTokens: output };
  return { usage: { ...tokens, thoughtTokens: reasoning, cachedReadTokens: cached } };
}
