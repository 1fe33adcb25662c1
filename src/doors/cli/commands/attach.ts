/** `aptove doctor --attach`: lists sessions that no list shows here, and attaches them again (S7). */
import { statSync } from "node:fs";
import { isoTime } from "../../../domain/ids.ts";
import type { AttachmentPlace, DetachedCause, DetachedSession } from "../../../engine/engine.ts";
import { defaultWorkspaceId, isWorkspaceId } from "../../../workspace/workspace-store.ts";
import type { CliInvocation } from "../invocation.ts";
import { confirmUnlessYes } from "../confirm.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { shortIds } from "../lookup/find-by-id.ts";
import { firstLine } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { localTime } from "../show/explain.ts";

export interface AttachOptions {
  yes?: boolean;
}

/** Attaches the named sessions; without a name all of those that certainly belong here. */
export async function attachSessions(
  invocation: CliInvocation,
  named: readonly string[],
  options: AttachOptions,
): Promise<ExitCode> {
  const found = await detachedSessions(invocation);
  const chosen =
    named.length > 0 ? named.map((text) => theOne(found, text)) : found.filter(({ isCertain }) => isCertain);
  const others = found.filter((one) => !chosen.includes(one));
  if (invocation.json && options.yes !== true) {
    invocation.output.json({ sessions: found.map(shown), attached: [] });
    return exitCodes.fine;
  }
  if (!invocation.json) list(invocation, { chosen, others: named.length > 0 ? [] : others });
  if (chosen.length === 0) {
    if (invocation.json) invocation.output.json({ sessions: found.map(shown), attached: [] });
    return exitCodes.fine;
  }
  const question = `attach ${plural(chosen.length, "session")} to ${(await invocation.copy()).root}?`;
  if (!(await confirmUnlessYes(invocation, question, options))) return exitCodes.fine;
  const { attachments } = await invocation.local(task);
  const place = await placeOf(invocation);
  for (const { session } of chosen) await attachments.attach(session.id, place);
  if (invocation.json)
    invocation.output.json({ sessions: found.map(shown), attached: chosen.map(({ session }) => session.id) });
  else invocation.output.line(`attached ${plural(chosen.length, "session")}; see them: aptove session list`);
  return exitCodes.fine;
}

const task = "attaching sessions";

export async function detachedSessions(invocation: CliInvocation): Promise<DetachedSession[]> {
  const { attachments } = await invocation.local(task);
  return await attachments.find(await placeOf(invocation));
}

async function placeOf(invocation: CliInvocation): Promise<AttachmentPlace> {
  const { root, repo, hasGit } = await invocation.copy();
  const { store } = await invocation.workspaces();
  // Damaged ones are listed too: they are there.
  const workspaces = new Set([defaultWorkspaceId, ...(await store.list()).map(({ id }) => id)]);
  return {
    folder: hasGit ? root : invocation.io.cwd,
    name: repo,
    isRepository: hasGit,
    hasFolder: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
    workspaceState: async (id) => {
      if (!isWorkspaceId(id)) return "label";
      return workspaces.has(id) ? "exists" : "gone";
    },
  };
}

/** The session of an id, or of a beginning or an end of one. */
function theOne(found: readonly DetachedSession[], text: string): DetachedSession {
  const part = text.toLowerCase();
  const [one, ...more] = found.filter(({ session: { id } }) => id.startsWith(part) || id.endsWith(part));
  if (one === undefined) {
    throw new CommandFailed("not_found", `no list lacks a session ${text}`, "see them: aptove doctor --attach --json");
  }
  if (more.length > 0) throw new UsageError(`${text} fits ${more.length + 1} sessions`, "give more of the id");
  return one;
}

const causeTexts: Record<DetachedCause, string> = {
  folder_moved: "its folder is gone",
  name_changed: "the folder has another name now",
  workspace_gone: "its workspace is gone",
  owner_unknown: "its owner is not known",
  other_owner: "it belongs to another person",
};

function list(
  invocation: CliInvocation,
  { chosen, others }: { chosen: DetachedSession[]; others: DetachedSession[] },
): void {
  const { output } = invocation;
  if (chosen.length === 0) output.note("every session that belongs here is in a list");
  output.table(rowsOf(chosen), tableFit);
  if (others.length === 0) return;
  output.note("these may belong elsewhere; name those that belong here: aptove doctor --attach <id>");
  for (const line of output.rows(rowsOf(others), tableFit)) output.note(line);
}

const tableFit = { spare: [2, 3], last: "cut" } as const;

function rowsOf(sessions: readonly DetachedSession[]): string[][] {
  const short = shortIds(sessions.map(({ session }) => session.id));
  return sessions.map(({ session, causes, folder, ownerName }) => [
    short.get(session.id) ?? session.id,
    localTime(isoTime(session.activeAt)).slice(0, 16),
    plural(session.lastSequence, "turn"),
    session.repo ?? "-",
    causes.map((cause) => whyOf(cause, { folder, ownerName })).join(", "),
    firstLine(session.name, 60),
  ]);
}

function whyOf(cause: DetachedCause, { folder, ownerName }: Pick<DetachedSession, "folder" | "ownerName">): string {
  if (cause === "folder_moved" && folder !== null) return `its folder ${folder} is gone`;
  if (cause === "other_owner" && ownerName !== null) return `it belongs to ${ownerName}`;
  return causeTexts[cause];
}

/** One of them in `--json`. */
export function shown({ session, causes, folder, ownerName, isCertain }: DetachedSession): Record<string, unknown> {
  const { id, name, repo, workspaceId, userId, orgId, lastSequence, activeAt } = session;
  const facts = { id, name, repo, workspaceId, folder, orgId, userId, ownerName };
  return { ...facts, turnCount: lastSequence, activeAt: isoTime(activeAt), causes, isCertain };
}
