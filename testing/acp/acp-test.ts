/**
 * The ACP door for tests, in this process: the real engine on memory stores with the scripted model, the real tools in a
 * folder of the test's own, and the SDK's own client at the other end. Every message of every connection is checked
 * against the official schema when the test ends (P1).
 */
import assert from "node:assert/strict";
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  client,
  type AnyMessage,
  type ClientCapabilities,
  type ClientContext,
  type ContentBlock,
  type LoadSessionResponse,
  type NewSessionRequest,
  type NewSessionResponse,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream,
} from "@agentclientprotocol/sdk";
import { memoryBlobs } from "../../src/blobs/memory/memory-blobs.ts";
import { acpParts } from "../../src/compose/acp-parts.ts";
import { repositoryOf } from "../../src/compose/serve-acp.ts";
import { createAptove, type Aptove, type AptoveOptions } from "../../src/compose.ts";
import { acpAgent, type AcpPorts, type OpenedPorts } from "../../src/doors/acp/agent.ts";
import { memoryEventLog } from "../../src/live/memory/memory-event-log.ts";
import { scriptedProvider, type Script, type ScriptedProvider } from "../../src/providers/scripted/scripted.ts";
import { memoryRecords } from "../../src/records/memory/memory-records.ts";
import { memoryBindings } from "../../src/workspace/memory/memory-bindings.ts";
import { memoryTranscripts } from "../../src/workspace/memory/memory-transcripts.ts";
import { memoryWorkspaces } from "../../src/workspace/memory/memory-workspaces.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { WireCheck } from "./schema-check.ts";

export interface AcpTestOptions {
  script?: Script;
  model?: string;
  aptove?: AptoveOptions;
}

export interface ConnectOptions {
  capabilities?: ClientCapabilities;
  /** In place of what the data folder gives. */
  opened?: Partial<OpenedPorts>;
  ports?: Partial<AcpPorts>;
  /** What the person says; absent: yes, once. */
  onPermission?: (question: RequestPermissionRequest, signal: AbortSignal) => Promise<RequestPermissionResponse>;
  /** Other requests of the agent, by their methods. */
  answers?: Record<string, (params: never) => unknown>;
  /** False: `initialize` is not sent. */
  initializes?: boolean;
}

/** One message, and who sent it. */
export interface Sent {
  by: "agent" | "client";
  message: AnyMessage;
}

export interface TestConnection {
  agent: ClientContext;
  sent: readonly Sent[];
  /** Of one session, in order; absent: of all. */
  updates(sessionId?: string): SessionUpdate[];
  /** Begins empty in the project's folder, unless the request says otherwise. */
  begin(more?: Partial<NewSessionRequest>): Promise<NewSessionResponse>;
  load(sessionId: string): Promise<LoadSessionResponse>;
  prompt(sessionId: string, prompt: string | ContentBlock[]): Promise<PromptResponse>;
  /** Resolves when it holds, looked at after every message of either side. */
  until(holds: () => boolean): Promise<void>;
  /** What the agent said in all, as text. */
  said(sessionId: string): string;
  /** The client goes away. Resolves when the agent has closed all that it had open. */
  leave(): Promise<void>;
}

export interface AcpTest {
  aptove: Aptove;
  provider: ScriptedProvider;
  /** What was reported to the operator. */
  reports: string[];
  /** The folder that sessions are about. */
  project: string;
  /** What a connection opens. */
  open(): Promise<OpenedPorts>;
  connect(options?: ConnectOptions): Promise<TestConnection>;
}

export async function acpTest(context: TestContext, options: AcpTestOptions = {}): Promise<AcpTest> {
  const leaving: (() => Promise<void>)[] = [];
  let close = async (): Promise<void> => {};
  // Before the folder's own: it is taken away when nothing writes there any more.
  context.after(async () => {
    await Promise.all(leaving.map((leave) => leave()));
    await close();
  });
  const folder = realpathSync(await temporaryFolder(context));
  const project = join(folder, "project");
  mkdirSync(project);
  const { script, model } = options;
  const provider = scriptedProvider({ ...(script !== undefined && { script }), ...(model !== undefined && { model }) });
  const reports: string[] = [];
  const report = (message: string, error?: unknown): void => {
    reports.push(error === undefined ? message : `${message}: ${String(error)}`);
  };
  const aptove = await createAptove({
    dataDir: join(folder, "data"),
    env: { PATH: process.env["PATH"] },
    overrides: { provider: "scripted", conversation_contexts: { default: { retrieval: "off" } } },
    records: memoryRecords(),
    blobs: memoryBlobs(),
    log: memoryEventLog(),
    workspaceStore: memoryWorkspaces(),
    bindings: memoryBindings(),
    transcripts: memoryTranscripts(),
    providers: [provider],
    report,
    ...options.aptove,
  });
  close = () => aptove.engine.close({ graceMs: 0 });
  const open = async (): Promise<OpenedPorts> => {
    return await acpParts(aptove, { caller: await aptove.engine.keys.owner(), workspaceId: null });
  };
  const connect = async (more: ConnectOptions = {}): Promise<TestConnection> => {
    const opened = { ...(await open()), ...more.opened };
    const said = { version: "test", deviceId: null, beginning: null, mode: null, repositoryOf, report };
    const connection = connectTo({ open: async () => opened, ...said, ...more.ports }, { ...more, project });
    leaving.push(connection.leave);
    context.after(() => assert.deepEqual(connection.faults, []));
    if (more.initializes !== false) {
      const clientCapabilities = more.capabilities ?? {};
      await connection.agent.request("initialize", { protocolVersion: 1, clientCapabilities });
    }
    return connection;
  };
  return { aptove, provider, reports, project, open, connect };
}

function connectTo(
  ports: AcpPorts,
  options: ConnectOptions & { project: string },
): TestConnection & { faults: string[] } {
  const sent: Sent[] = [];
  const faults: string[] = [];
  const waiting: { holds: () => boolean; done: () => void }[] = [];
  const wire = new WireCheck();
  const tap = (by: Sent["by"]) =>
    new TransformStream<AnyMessage, AnyMessage>({
      transform: (message, controller) => {
        sent.push({ by, message });
        const fault = wire.see(message, by);
        // What a test's client does wrong is the point of the test.
        if (fault !== null && by === "agent") faults.push(fault);
        controller.enqueue(message);
        for (const { holds, done } of waiting) if (holds()) done();
      },
    });
  const [toAgent, toClient] = [tap("client"), tap("agent")];
  const agentEnd: Stream = { readable: toAgent.readable, writable: toClient.writable };
  const served = acpAgent(ports).connect(agentEnd);
  const connection = clientApp(options).connect({ readable: toClient.readable, writable: toAgent.writable });
  const { agent } = connection;
  const updates = (sessionId?: string): SessionUpdate[] =>
    sent.flatMap(({ message }) => {
      if (!("method" in message) || message.method !== "session/update") return [];
      const params = message.params as { sessionId: string; update: SessionUpdate };
      return sessionId === undefined || params.sessionId === sessionId ? [params.update] : [];
    });
  return {
    faults,
    agent,
    sent,
    updates,
    begin: (more) => agent.request("session/new", { cwd: options.project, mcpServers: [], ...more }),
    load: (sessionId) => agent.request("session/load", { sessionId, cwd: options.project, mcpServers: [] }),
    prompt: (sessionId, prompt) =>
      agent.request("session/prompt", {
        sessionId,
        prompt: typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt,
      }),
    until: async (holds) => {
      if (!holds()) await new Promise<void>((done) => waiting.push({ holds, done }));
    },
    said: (sessionId) =>
      updates(sessionId)
        .flatMap((update) =>
          update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : [],
        )
        .join(""),
    leave: async () => {
      connection.close();
      served.close();
      await served.ended;
    },
  };
}

const yes: RequestPermissionResponse = { outcome: { outcome: "selected", optionId: "allow_once" } };

function clientApp({ onPermission, answers = {} }: ConnectOptions) {
  const app = client({ name: "test" })
    .onNotification("session/update", () => {})
    .onRequest("session/request_permission", async ({ params, signal }) => {
      return onPermission === undefined ? yes : await onPermission(params, signal);
    });
  for (const [method, answer] of Object.entries(answers)) {
    app.onRequest(
      method,
      (params: unknown) => params,
      ({ params }) => answer(params as never) as object,
    );
  }
  return app;
}
