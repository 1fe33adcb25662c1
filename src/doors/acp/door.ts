/** The methods of one connection (P1). Each checks its request, calls the engine, and maps the outcome. */
import {
  RequestError,
  type AuthenticateRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type LoadSessionRequest,
  type LoadSessionResponse,
  type NewSessionRequest,
  type NewSessionResponse,
  type PromptRequest,
  type PromptResponse,
  type ResumeSessionRequest,
  type SetSessionConfigOptionRequest,
  type SetSessionConfigOptionResponse,
  type SetSessionModeRequest,
} from "@agentclientprotocol/sdk";
import { AptoveError } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { Session, SessionPatch } from "../../domain/session.ts";
import type { Usage } from "../../domain/usage.ts";
import type { RunningNow, SessionStart } from "../../engine/engine.ts";
import { onAbort } from "../../system/abort.ts";
import type { AcpClient } from "./client/acp-client.ts";
import { sessionCommands } from "./session/commands.ts";
import { attachTurn } from "./session/attach-turn.ts";
import { usageUpdate } from "./session/follow-turn.ts";
import type { ForkRequest, TitleRequest } from "./unstable-requests.ts";
import { answerSessionList } from "./session/list-sessions.ts";
import { metaChoice, metaFlag, metaKeys, metaOf, metaText } from "./meta.ts";
import { type FollowContext, type OpenSession, PromptRun } from "./session/open-session.ts";
import type { AcpPorts, OpenedPorts } from "./ports.ts";
import { answerPrompt, type PromptContext } from "./session/prompt.ts";
import { ProviderKeys } from "./provider-keys.ts";
import { sessionNotOpen } from "./refusal.ts";
import { replay, shownTurns } from "./session/replay.ts";
import { readMemory, withMemory, type SessionMemory } from "./session/session-memory.ts";
import { defaultMode } from "./session/editor-modes.ts";
import {
  checkSetup,
  repositoriesOfNew,
  deviceOf,
  openSession,
  setupAnswer,
  getVisibleSession,
  type SessionSetup,
} from "./session/session-setup.ts";

export class AcpDoor {
  readonly #ports: AcpPorts;
  readonly #client: AcpClient;
  readonly #sessions = new Map<string, OpenSession>();
  readonly #keys: ProviderKeys;

  constructor(ports: AcpPorts, client: AcpClient) {
    this.#ports = ports;
    this.#client = client;
    this.#keys = new ProviderKeys(ports, () => this.#sessions.size > 0);
  }

  /** Resolves if new sessions can be used. Their providers then have their keys. */
  async authenticate({ methodId }: AuthenticateRequest): Promise<object> {
    await this.#keys.authenticate(methodId);
    return {};
  }

  /** Removes the stored keys. New sessions are refused until the client has called `authenticate`. */
  logout(): object {
    if (this.#ports.keys === null) throw RequestError.methodNotFound("logout");
    this.#keys.logout();
    return {};
  }

  async newSession(request: NewSessionRequest): Promise<NewSessionResponse> {
    this.#refuseTooMany(null);
    const deviceId = deviceOf(this.#ports, request._meta);
    const [{ opened, workspaceId }, setup] = await Promise.all([
      this.#keys.ofNewSession(deviceId),
      checkSetup(this.#ports, request),
    ]);
    const { engine, caller } = opened;
    // The workspace of a device is one conversation. An editor that opens a new session wants a new conversation (W3).
    const beginning = this.#ports.beginning ?? (deviceId === null ? "fresh" : "continue");
    const fresh = metaFlag(request._meta, metaKeys.fresh) ?? beginning === "fresh";
    const start = { workspaceId, metadata: withMemory({}, this.#remembered(setup)), ...repositoriesOfNew(setup) };
    const { session, warnings } = await engine.workspaceSessions.begin(caller, { ...start, fresh });
    const open = await this.#open(opened, session, setup);
    this.#tellCommands(open);
    for (const warning of warnings) this.#warn(open, warning);
    return { sessionId: session.id, ...setupAnswer(open) };
  }

  /** Replays the whole conversation, including tool calls, before it answers (P4). */
  async loadSession(request: LoadSessionRequest, signal: AbortSignal): Promise<LoadSessionResponse> {
    const reopened = await this.#reopen(request);
    const { open, opened, session, running } = reopened;
    const turns = await shownTurns(opened, open.facts, running);
    if (turns.length > 0) {
      const last: { usage: Usage; model: string }[] = [];
      const onUsage = (usage: Usage, { model }: { model: string }): void => void (last[0] = { usage, model });
      for await (const update of replay(opened, {
        turns,
        folder: open.facts.folders[0],
        client: this.#client,
        waiting: open.waiting,
        signal,
        onUsage,
      })) {
        signal.throwIfAborted();
        await open.update(update);
      }
      const [{ usage, model } = { usage: null, model: "" }] = last;
      const usages = usage === null ? [] : usageUpdate(open.facts.options.windowOf(model), usage, session.costUsd);
      for (const update of usages) await open.update(update);
    }
    if (running !== null) await attachTurn(this.#following(reopened), running, true);
    await this.#sendCommands(open);
    return reopenAnswer(reopened);
  }

  /** Opens a session without a replay: the client already has the conversation. It follows a running turn from here on. */
  async resumeSession(request: ResumeSessionRequest): Promise<LoadSessionResponse> {
    const reopened = await this.#reopen(request);
    const { open, running } = reopened;
    this.#tellCommands(open);
    if (running !== null) this.#afterAnswer(() => attachTurn(this.#following(reopened), running, false));
    return reopenAnswer(reopened);
  }

  #following({ open: session, opened }: Reopened): FollowContext {
    return { opened, session, client: this.#client, report: this.#ports.report };
  }

  /** Creates a session below a turn of this one: its head, or the turn that `_meta` names (T6). */
  async forkSession(request: ForkRequest): Promise<NewSessionResponse> {
    this.#refuseTooMany(null);
    deviceOf(this.#ports, request._meta);
    const [opened, setup] = await Promise.all([this.#ports.open(), checkSetup(this.#ports, request)]);
    const context = { ports: this.#ports, opened };
    const from = await getVisibleSession(context, request.sessionId);
    const named = metaText(request._meta, metaKeys.turnId);
    const turn = named === null ? null : await opened.engine.turns.get(opened.caller, named);
    // The history of this session may have turns of another one. A device may use such a turn only in its own workspace.
    if (turn !== null) await getVisibleSession(context, turn.sessionId);
    const forkOf = turn?.id ?? from.headTurnId ?? from.originTurnId;
    const { mode, model, effort } = readMemory(from);
    const start: SessionStart = {
      metadata: withMemory({}, { ...this.#remembered(setup), ...(mode !== null && { mode }), model, effort }),
      agentContextId: from.agentContextId,
      conversationContextId: from.conversationContextId,
      ...(from.model !== null && { model: from.model }),
      settings: from.settings,
      ...(from.workspaceId !== null && { workspaceId: from.workspaceId }),
      ...repositoriesOfNew(setup),
      ...(forkOf !== null && { forkOf }),
    };
    const session = await opened.engine.sessions.create(opened.caller, start);
    const open = await this.#open(opened, session, setup);
    this.#tellCommands(open);
    return { sessionId: session.id, ...setupAnswer(open) };
  }

  async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    return await answerSessionList({ ports: this.#ports, opened: await this.#ports.open() }, request);
  }

  /** Closes the session on this connection, and cancels its running prompts. It is still stored, and can be loaded again. */
  async closeSession({ sessionId }: { sessionId: string }): Promise<object> {
    const open = this.#named(sessionId);
    this.#sessions.delete(sessionId);
    open.cancel();
    await open.close();
    return {};
  }

  /** Removes the session; `restore` can revert it (S6). Succeeds too if there is no such session. */
  async deleteSession({ sessionId }: { sessionId: string }): Promise<object> {
    const opened = await this.#ports.open();
    if (!isId(sessionId)) return {};
    try {
      await getVisibleSession({ ports: this.#ports, opened }, sessionId);
    } catch (error) {
      if (error instanceof AptoveError && error.code === "not_found") return {};
      throw error;
    }
    if (this.#sessions.has(sessionId)) await this.closeSession({ sessionId });
    await opened.engine.tree.remove(opened.caller, sessionId);
    return {};
  }

  /** Names a session, which need not be open here. */
  async setTitle({ sessionId, title }: TitleRequest): Promise<{ title: string }> {
    const opened = await this.#ports.open();
    await getVisibleSession({ ports: this.#ports, opened }, sessionId);
    if (title.trim() === "") throw new AptoveError("request_invalid", "the title is empty");
    const { name } = await opened.engine.sessions.update(opened.caller, sessionId, { name: title.trim() });
    const open = this.#sessions.get(sessionId);
    if (open !== undefined) open.name = name;
    return { title: name };
  }

  async setMode({ sessionId, modeId }: SetSessionModeRequest): Promise<object> {
    const open = this.#named(sessionId);
    open.facts.options.setMode(modeId);
    await this.#remember(open);
    await open.update({ sessionUpdate: "config_option_update", configOptions: open.facts.options.list() });
    return {};
  }

  async setConfigOption(request: SetSessionConfigOptionRequest): Promise<SetSessionConfigOptionResponse> {
    const open = this.#named(request.sessionId);
    const { options } = open.facts;
    const before = options.mode;
    options.setOption(request.configId, request.value);
    await this.#remember(open);
    await this.#choose(open, request.configId);
    if (options.mode !== before) {
      await open.update({ sessionUpdate: "current_mode_update", currentModeId: options.mode });
    }
    return { configOptions: options.list() };
  }

  /** Answers a prompt. It can be cancelled before this method waits for anything: a cancellation may follow immediately. */
  prompt({ sessionId, prompt, _meta: meta }: PromptRequest, signal: AbortSignal): Promise<PromptResponse> {
    const session = this.#named(sessionId);
    const run = new PromptRun();
    onAbort(signal, () => {
      // A turn continues if its client leaves (R5).
      if (!this.#client.gone.aborted) run.cancel();
    });
    session.prompts.add(run);
    this.#use(session);
    const ifBusy = metaChoice(meta, metaKeys.ifBusy, ["steer", "queue", "interrupt"]);
    return this.#answer({ session, run, ifBusy }, prompt).finally(() => session.prompts.delete(run));
  }

  /** Cancels the prompts of a session. Ignores a session that is not open: a notification has no response. */
  cancel({ sessionId }: { sessionId: string }): void {
    this.#sessions.get(sessionId)?.cancel();
  }

  /** Called when the client has left. Waits until the turns have ended, then closes what the sessions had open. */
  async end(): Promise<void> {
    const open = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(open.map((session) => session.close()));
  }

  async #answer(
    prompting: Pick<PromptContext, "session" | "run" | "ifBusy">,
    blocks: PromptRequest["prompt"],
  ): Promise<PromptResponse> {
    const opened = await this.#ports.open();
    return await answerPrompt({ ports: this.#ports, opened, client: this.#client, ...prompting }, blocks);
  }

  #named(sessionId: string): OpenSession {
    const open = this.#sessions.get(sessionId);
    if (open === undefined) throw sessionNotOpen(sessionId);
    return open;
  }

  async #reopen(request: LoadSessionRequest | ResumeSessionRequest): Promise<Reopened> {
    deviceOf(this.#ports, request._meta);
    const { sessionId } = request;
    this.#refuseTooMany(sessionId);
    const [opened, setup] = await Promise.all([this.#ports.open(), checkSetup(this.#ports, request)]);
    await getVisibleSession({ ports: this.#ports, opened }, sessionId);
    // In this order: if the turn ends meanwhile, the session that is read then has its outcome.
    const running = await opened.engine.turns.running(opened.caller, sessionId);
    const session = await getVisibleSession({ ports: this.#ports, opened }, sessionId);
    const former = this.#sessions.get(sessionId);
    if (former !== undefined && former.prompts.size > 0) {
      throw new AptoveError("session_busy", "a prompt of this session is running; cancel it first");
    }
    const open = await this.#open(opened, session, setup);
    await former?.close();
    const { mode: _mode, ...folders } = this.#remembered(setup);
    await this.#write(open, opened, folders);
    return { open, opened, session, running };
  }

  #refuseTooMany(sessionId: string | null): void {
    const isOpen = sessionId !== null && this.#sessions.has(sessionId);
    if (isOpen || this.#sessions.size < limits.acpSessionsMax) return;
    throw new AptoveError("sessions_limited", `${limits.acpSessionsMax} sessions are open; close one first`);
  }

  async #open(opened: OpenedPorts, session: Session, setup: SessionSetup): Promise<OpenSession> {
    const opening = { ports: this.#ports, opened, client: this.#client };
    const open = await openSession(opening, session, { setup, mode: this.#ports.mode });
    this.#use(open);
    this.#offerModelsLater(open);
    return open;
  }

  /** Reads the lists of the providers after the answer, for which no session waits, and sends the options again if they are new. */
  #offerModelsLater(open: OpenSession): void {
    const { options, id } = open.facts;
    this.#afterAnswer(async () => {
      const isNew = await options.readAllModels?.();
      if (isNew !== true || this.#sessions.get(id) !== open) return;
      await open.update({ sessionUpdate: "config_option_update", configOptions: options.list() });
    });
  }

  /** Makes the session the one that was used last, and lets the tools of the others rest if too many are open. */
  #use(open: OpenSession): void {
    this.#sessions.delete(open.facts.id);
    this.#sessions.set(open.facts.id, open);
    const awake = [...this.#sessions.values()].filter((session) => session.mayRest && session !== open);
    for (const session of awake.slice(0, Math.max(0, awake.length + 1 - limits.acpSessionsAwakeMax))) {
      void session.rest();
    }
  }

  #remembered({ folders: [cwd, ...additionalDirectories] }: SessionSetup) {
    return { cwd, additionalDirectories, mode: this.#ports.mode ?? defaultMode };
  }

  async #remember(open: OpenSession): Promise<void> {
    const { mode } = open.facts.options;
    await this.#write(open, await this.#ports.open(), { mode });
  }

  /** Sets the model or the effort of the session, so that it counts through every door (S9). */
  async #choose({ facts }: OpenSession, configId: string): Promise<void> {
    const { engine, caller } = await this.#ports.open();
    const { chosenModel, effort } = facts.options;
    const { settings } = await engine.sessions.get(caller, facts.id);
    const { reasoningEffort: _former, ...others } = settings;
    const patches: Record<string, SessionPatch> = {
      model: { model: chosenModel },
      effort: { settings: { ...others, ...(effort !== null && { reasoningEffort: effort }) } },
    };
    const patch = patches[configId];
    if (patch !== undefined) await ownersOnly(engine.sessions.update(caller, facts.id, patch));
  }

  /** Saves what the session remembers. If the session belongs to another user, nothing is saved; the choice then lasts as long as the connection. */
  async #write(open: OpenSession, { engine, caller }: OpenedPorts, memory: Partial<SessionMemory>): Promise<void> {
    const session = await engine.sessions.get(caller, open.facts.id);
    const metadata = withMemory(session.metadata, memory);
    if (JSON.stringify(metadata) === JSON.stringify(session.metadata)) return;
    await ownersOnly(engine.sessions.update(caller, session.id, { metadata }));
  }

  #warn(open: OpenSession, warning: string): void {
    this.#ports.report(`session ${open.facts.id}: ${warning}`);
    if (!this.#client.takesNotices) return;
    this.#afterAnswer(() => open.update({ sessionUpdate: "notice", severity: "warning", title: warning }));
  }

  async #sendCommands(open: OpenSession): Promise<void> {
    await open.update({ sessionUpdate: "available_commands_update", availableCommands: sessionCommands });
  }

  #tellCommands(open: OpenSession): void {
    this.#afterAnswer(() => this.#sendCommands(open));
  }

  /** Runs the body after the response is sent, because a client knows a new session only from the response. */
  #afterAnswer(body: () => Promise<void>): void {
    setImmediate(() => {
      body().catch((error: unknown) => this.#ports.report("an update could not be sent to the client", error));
    });
  }
}

/** Ignores that only the owner of a session may change it. The choice of another user lasts as long as the connection. */
async function ownersOnly(changing: Promise<Session>): Promise<void> {
  try {
    await changing;
  } catch (error) {
    if (!(error instanceof AptoveError) || error.code !== "forbidden") throw error;
  }
}

/** A session that was opened again. */
interface Reopened {
  open: OpenSession;
  opened: OpenedPorts;
  session: Session;
  /** The turn that is running in the session. */
  running: RunningNow | null;
}

function reopenAnswer({ open, running }: Reopened): LoadSessionResponse {
  const { _meta: meta, ...answer } = setupAnswer(open);
  return { ...answer, ...metaOf({ ...meta, [metaKeys.runningTurnId]: running?.turn.id ?? null }) };
}
