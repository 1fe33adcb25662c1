/** Sends what a person wrote: the next instruction, or a message to the turn that runs (U4). */
import { useLayoutEffect } from "preact/hooks";
import { AptoveApiError, type ExecuteAccepted, type ExecuteRequest } from "../../src/client/client.ts";
import { client, codeOf, wordsOf } from "../api/connection.ts";
import type { Thread } from "../api/thread.ts";
import { navigate, pathTo } from "../routes.ts";
import { inputOf } from "./attachments.ts";
import { chosenOf, effort, forkChoice, loadChoices, mode, newChoice, newRepos, paths, placeOf } from "./choices.ts";
import { draftOf, type Draft, type Sent } from "./drafts.ts";

export interface SendingOf {
  /** Null: a session that does not exist yet. */
  thread: Thread | null;
  /** The turn at which the instruction begins a fork. */
  fork: string | undefined;
  draft: Draft;
  /** Runs the request. Throws what the server refuses. */
  run(request: ExecuteRequest, idempotencyKey: string): Promise<ExecuteAccepted>;
}

export interface Sending {
  /** Runs the draft as an instruction, after the turn that runs. */
  send(): Promise<void>;
  /** Sends the text of the draft to the turn that runs. */
  steer(): Promise<void>;
}

/** What is typed or attached while something is on its way stays in the draft, also if it begins a session. */
export function useSending({ thread, fork, draft, run }: SendingOf): Sending {
  useLayoutEffect(() => {
    draft.fields += 1;
    return () => void (draft.fields -= 1);
  }, [draft]);
  const { text, attached, isBusy, fault } = draft;
  const attempt = async (action: () => Promise<void>): Promise<void> => {
    if ((text.value.trim() === "" && attached.value.length === 0) || isBusy.value) return;
    isBusy.value = true;
    fault.value = null;
    try {
      await action();
    } catch (error) {
      fault.value = { words: wordsOf(error), code: codeOf(error) };
      if (codeOf(error) === "head_moved") await thread?.load();
    } finally {
      isBusy.value = false;
    }
  };
  const steer = async (): Promise<void> => {
    const typed = text.value;
    await client.sessions.steer(thread?.id ?? "", typed.trim());
    takeSent(draft, typed);
  };
  const send = async (): Promise<void> => {
    const [typed, files] = [text.value, attached.value];
    // The question would be about no code as long as the repositories are not known.
    if (thread === null) await loadChoices();
    // A session that has just begun here is written to before it is read.
    if (thread?.session.value === null) await thread.load();
    if (thread?.session.value === null) return;
    const asked = draft.sent.value;
    const isAgain = asked?.request.instruction === typed.trim() && asked.files === files.length;
    const sent = isAgain ? asked : newRequest(typed, files.length);
    draft.sent.value = sent;
    const { sessionId } = await run({ ...sent.request, ...inputOf(files) }, sent.idempotencyKey).catch((error) => {
      // Whether an instruction without an answer runs is not known.
      if (isRefused(error)) draft.sent.value = null;
      throw error;
    });
    draft.sent.value = null;
    takeSent(draft, typed);
    attached.value = attached.value.filter((file) => !files.includes(file));
    // Who has gone elsewhere meanwhile stays there: the session is in the list.
    if (sessionId !== thread?.id && draft.fields > 0) openBegun(sessionId, draft);
  };
  const newRequest = (typed: string, files: number): Sent => {
    const request = { ...requestOf(thread, fork), instruction: typed.trim() };
    return { idempotencyKey: crypto.randomUUID(), request, files };
  };
  return { send: () => attempt(send), steer: () => attempt(steer) };
}

function isRefused(error: unknown): boolean {
  return error instanceof AptoveApiError && error.status >= 400 && error.status < 500;
}

function takeSent({ text }: Draft, sent: string): void {
  if (text.value.startsWith(sent)) text.value = text.value.slice(sent.length);
}

/** The session that this tab has begun and not shown yet, if the person is in the field. */
let begun: string | null = null;

function openBegun(id: string, from: Draft): void {
  const to = draftOf(id);
  [to.text.value, from.text.value] = [from.text.value, ""];
  [to.attached.value, from.attached.value] = [from.attached.value, []];
  begun = document.activeElement?.id === "composer" ? id : null;
  navigate(pathTo("session", { session: id }));
}

/** Returns true once for a session that was begun from the field: the person may be writing on. */
export function takeBegun(id: string): boolean {
  if (begun !== id) return false;
  begun = null;
  return true;
}

/** A session is continued only from the head that this person saw. A new session gets what was chosen for it. */
function requestOf(thread: Thread | null, fork: string | undefined): ExecuteRequest {
  const session = thread?.session.value ?? null;
  const scope = paths.value.split(/[\s,]+/).filter((path) => path !== "");
  const common: ExecuteRequest = {
    mode: mode.value,
    ...(effort.value !== "" && { settings: { reasoningEffort: effort.value } }),
    ...(scope.length > 0 && { ragScope: { paths: scope } }),
  };
  if (fork !== undefined) return { ...common, ...chosenOf(forkChoice.value), fork: { turnId: fork } };
  if (session === null) {
    return { ...common, ...placeOf(newRepos.value), ...chosenOf(newChoice.value) };
  }
  const { id, headTurnId } = session;
  if (thread?.running.value != null) return { ...common, sessionId: id, ifBusy: "queue" };
  return {
    ...common,
    ...(headTurnId === null ? { sessionId: id } : { responseContinuationId: headTurnId, sessionId: id }),
  };
}
