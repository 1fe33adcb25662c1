/**
 * The workspace of a chat (W1, W4): which one it is, which session of it continues, what it contains, and how it is
 * cleared.
 */
import type { AptoveClient, WireSession } from "../../../client/client.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { dataFolderAt } from "../../../configuration/data-folder.ts";
import type { OpenedWorkspaces } from "../../../workspace/opened-workspaces.ts";
import type { Transcripts } from "../../../workspace/transcript/transcripts.ts";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed } from "../failure.ts";
import { findSession, latestSession, shortId } from "../lookup/find-by-id.ts";
import { namedWorkspace } from "../lookup/named-workspace.ts";
import { plural } from "../../../system/grouped-number.ts";
import type { ChatState, ChatOptions } from "./chat-state.ts";

/**
 * Returns the workspace of the chat and marks one of this machine as used. Null at another server if none was named.
 */
export async function chatWorkspace(invocation: CliInvocation, { workspace }: ChatOptions): Promise<string | null> {
  const isRemote = invocation.server() !== null;
  if (isRemote && workspace === undefined) return null;
  const id = await namedWorkspace(invocation, workspace);
  return isRemote ? id : (await (await invocation.workspaces()).workspaces.use(id)).id;
}

export interface SessionChoice {
  client: AptoveClient;
  options: ChatOptions;
  workspaceId: string | null;
}

/** Returns the session that continues. Null means a new one. */
export async function chatSession(invocation: CliInvocation, choice: SessionChoice): Promise<WireSession | null> {
  const { client, options } = choice;
  const copy = await invocation.copy();
  const repo = options.repo ?? copy.repo;
  if (options.session !== undefined) return await findSession(client, options.session, repo);
  const isOfRepo = copy.hasGit || options.repo !== undefined;
  if (options.new === true || options.resume === true) return null;
  const edited = await editedSession(invocation, choice, isOfRepo ? repo : null);
  if (edited !== null) return edited;
  if (options.workspace !== undefined || !isOfRepo) {
    const found = await newestOfWorkspace(choice, isOfRepo ? repo : null);
    if (found !== null && options.continue !== true) invocation.output.note(goesOn(found, choice));
    if (found !== null || options.continue !== true) return found;
    if (options.workspace !== undefined) noSession(options.workspace);
  }
  return options.continue === true ? await latestSession(client, repo) : null;
}

/** Creates the session that begins with what a person wrote into session.md (W5). Null if there is no such edit. */
async function editedSession(
  invocation: CliInvocation,
  { client, workspaceId }: SessionChoice,
  repo: string | null,
): Promise<WireSession | null> {
  if (workspaceId === null || invocation.server() !== null) return null;
  const { transcripts } = await openedWithTranscripts(invocation);
  const { isEdited, bytes, messages } = await transcripts.show(workspaceId);
  if (!isEdited || bytes === 0 || messages === 0) return null;
  const session = await client.sessions.create({
    workspaceId,
    continueWorkspace: true,
    ...(repo !== null && { repo }),
  });
  const begins =
    session.originTurnId === null ? "could not be read and was moved aside" : "was edited; the session begins with it";
  invocation.output.note(`session.md of workspace ${workspaceId} ${begins}`);
  return session;
}

/** Outside of a repository: the sessions of the workspace that have no repository. */
async function newestOfWorkspace(
  { client, workspaceId }: SessionChoice,
  repo: string | null,
): Promise<WireSession | null> {
  if (workspaceId === null) return null;
  const [me, { sessions }] = await Promise.all([
    client.me(),
    client.sessions.list({ workspaceId, archived: false, limit: 100, ...(repo === null ? {} : { repo }) }),
  ]);
  return sessions.find((session) => session.userId === me.userId && (repo !== null || session.repo === null)) ?? null;
}

/** A workspace has one conversation, which goes on (W3). A repository has many. */
function goesOn({ id }: WireSession, { workspaceId }: SessionChoice): string {
  return `goes on in session ${shortId(id)} of workspace ${workspaceId ?? ""}; to begin anew: aptove chat --new`;
}

function noSession(workspace: string): never {
  throw new CommandFailed(
    "not_found",
    `workspace ${workspace} has no session here yet`,
    "start one: aptove chat --workspace …",
  );
}

export async function workspaceLines(state: ChatState): Promise<string[]> {
  const { call, workspaceId, spent } = state;
  if (workspaceId === null || call.server() !== null) {
    return [`workspace ${workspaceId ?? "(none)"}, at ${call.server() ?? "this machine"}`];
  }
  const { workspaces, transcripts } = await openedWithTranscripts(call);
  const [workspace, shown, { configuration }] = await Promise.all([
    workspaces.find(workspaceId),
    transcripts.show(workspaceId),
    call.loadedFor(workspaceId),
  ]);
  const messages = shown.messages === null ? "cannot be read" : plural(shown.messages, "message");
  const isEdited = shown.isEdited && shown.bytes > 0;
  const model = spent.model ?? state.options.model ?? (await lastModel(state));
  return call.output.rows([
    ["id", workspace.id],
    ...(workspace.name === null ? [] : [["name", workspace.name]]),
    ["provider", configuration.provider],
    ["model", model ?? "as configured"],
    ["session.md", isEdited ? `${messages}, edited by hand` : messages],
    ["folder", `${dataFolderAt(call.folder().dir).workspaces}/${workspaceId}`],
  ]);
}

async function lastModel({ client, lastTurnId }: ChatState): Promise<string | null> {
  return lastTurnId === null ? null : (await client.turns.summary(lastTurnId)).model;
}

/** Clears the workspace: its transcript starts again with the next turn. The old transcript is kept beside it. */
export async function clearWorkspace({ call, workspaceId }: ChatState): Promise<void> {
  if (workspaceId === null || call.server() !== null) return;
  const { transcripts } = await openedWithTranscripts(call);
  await transcripts.clear(workspaceId).catch((error: unknown) => {
    if (!(error instanceof AptoveError)) throw error;
    call.output.note(`warning: the transcript stays as it is: ${call.output.safeNote(error.message)}`);
  });
}

async function openedWithTranscripts(
  invocation: CliInvocation,
): Promise<Pick<OpenedWorkspaces, "workspaces"> & { transcripts: Transcripts }> {
  const [{ workspaces, transcripts: store }, { createTranscripts }] = await Promise.all([
    invocation.workspaces(),
    import("../../../workspace/transcript/transcripts.ts"),
  ]);
  const report = (message: string): void => invocation.output.note(`warning: ${invocation.output.safeNote(message)}`);
  return { workspaces, transcripts: createTranscripts({ store, now: Date.now, report }) };
}
