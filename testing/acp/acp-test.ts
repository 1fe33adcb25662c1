/**
 * The ACP door for tests, in this process: the real engine on memory stores with the scripted model, the real tools in the
 * test's folder, and the SDK's own client at the other end. Every message of every connection is checked
 * against the official schema when the test ends (P1).
 */
import assert from "node:assert/strict";
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ClientCapabilities } from "@agentclientprotocol/sdk";
import { memoryBlobs } from "../../src/blobs/memory/memory-blobs.ts";
import { openAcpPorts } from "../../src/compose/acp-ports.ts";
import { repositoryOf } from "../../src/compose/serve-acp.ts";
import { openWorkingCopy } from "../../src/retrieval/current-files.ts";
import { createAptove, type Aptove } from "../../src/compose.ts";
import type { AptoveOptions } from "../../src/compose/options.ts";
import { acpAgent, type AcpPorts, type OpenedPorts } from "../../src/doors/acp/agent.ts";
import { memoryEventLog } from "../../src/live/memory/memory-event-log.ts";
import { scriptedProvider, type Script, type ScriptedProvider } from "../../src/providers/scripted/scripted.ts";
import { memoryRecords } from "../../src/records/memory/memory-records.ts";
import { memoryBindings } from "../../src/workspace/memory/memory-bindings.ts";
import { memoryTranscripts } from "../../src/workspace/memory/memory-transcripts.ts";
import { memoryWorkspaces } from "../../src/workspace/memory/memory-workspaces.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { testClient, type ClientOptions, type TestClient } from "./test-client.ts";

export interface AcpTestOptions {
  script?: Script;
  model?: string;
  aptove?: AptoveOptions;
}

export interface ConnectOptions extends ClientOptions {
  capabilities?: ClientCapabilities;
  /** Replaces the ports that the data folder gives. */
  opened?: Partial<OpenedPorts>;
  ports?: Partial<AcpPorts>;
  /** False if the test sends `initialize` itself. */
  initializes?: boolean;
}

export interface TestConnection extends TestClient {
  /** Disconnects the client. Resolves when the agent has closed all that it had open. */
  leave(): Promise<void>;
}

export interface AcpTest {
  aptove: Aptove;
  provider: ScriptedProvider;
  /** The reports to the operator. */
  reports: string[];
  /** The project folder of the sessions. */
  project: string;
  /** The parts that a connection uses. */
  open(): Promise<OpenedPorts>;
  connect(options?: ConnectOptions): Promise<TestConnection>;
}

export async function acpTest(context: TestContext, options: AcpTestOptions = {}): Promise<AcpTest> {
  const leaving: (() => Promise<void>)[] = [];
  let close = async (): Promise<void> => {};
  // Registered before the folder's cleanup: the folder is removed when nothing writes there any more.
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
    return await openAcpPorts(aptove, { caller: await aptove.engine.keys.owner(), workspaceId: null });
  };
  const connect = async (more: ConnectOptions = {}): Promise<TestConnection> => {
    const opened = { ...(await open()), ...more.opened };
    const defaults = {
      version: "test",
      deviceId: null,
      beginning: null,
      mode: null,
      repositoryOf,
      headOf: async () => null,
      surroundingsOf: async () => ({}),
      workingCopy: openWorkingCopy,
      keys: null,
      report,
    };
    const connection = connectTo({ open: async () => opened, ...defaults, ...more.ports }, { ...more, project });
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

function connectTo(ports: AcpPorts, { project, ...options }: ConnectOptions & { project: string }): TestConnection {
  const { agentEnd, ...editor } = testClient(project, options);
  const served = acpAgent(ports).connect(agentEnd);
  return {
    ...editor,
    leave: async () => {
      editor.close();
      served.close();
      await served.ended;
    },
  };
}
