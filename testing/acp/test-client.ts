/**
 * An editor for tests: the SDK's own client, which allows every permission request by default. It keeps every
 * message of both sides, and checks those of the agent against the official schema (P1).
 */
import type {
  AnyMessage,
  ContentBlock,
  LoadSessionResponse,
  NewSessionRequest,
  NewSessionResponse,
  PromptResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionUpdate,
  Stream,
} from "@agentclientprotocol/sdk";
import { client, type ClientContext } from "@agentclientprotocol/sdk/unstable";
import { WireCheck } from "./schema-check.ts";

export interface ClientOptions {
  /** The person's answer to a permission request; "allow once" by default. */
  onPermission?: (question: RequestPermissionRequest, signal: AbortSignal) => Promise<RequestPermissionResponse>;
  /** Handlers for other requests of the agent, by method. */
  answers?: Record<string, (params: never) => unknown>;
  /** Runs before the client handles a message of the agent. Later messages wait for its promise. */
  holds?: (message: AnyMessage) => Promise<unknown> | undefined;
}

/** One message and its sender. */
export interface Sent {
  by: "agent" | "client";
  message: AnyMessage;
}

export interface TestClient {
  agent: ClientContext;
  sent: readonly Sent[];
  /** Faults of the agent's messages against the schema. */
  faults: readonly string[];
  /** Returns the updates of one session, in order. Default: those of all sessions. */
  updates(sessionId?: string): SessionUpdate[];
  /** Creates a session, by default in the project's folder. */
  begin(more?: Partial<NewSessionRequest>): Promise<NewSessionResponse>;
  load(sessionId: string): Promise<LoadSessionResponse>;
  prompt(sessionId: string, prompt: string | ContentBlock[]): Promise<PromptResponse>;
  /** Resolves when the condition is true. It is checked after every message. Rejects if the connection ends before. */
  until(holds: () => boolean): Promise<void>;
  /** Returns all text of the agent in one session. */
  text(sessionId: string): string;
  close(): void;
}

/** `agentEnd`: the agent's end of the stream. `project`: the project folder of the sessions. */
export function testClient(project: string, options: ClientOptions = {}): TestClient & { agentEnd: Stream } {
  const sent: Sent[] = [];
  const faults: string[] = [];
  const waiting: { holds: () => boolean; done: () => void }[] = [];
  const look = (): void => {
    for (const { holds, done } of waiting) if (holds()) done();
  };
  const wire = new WireCheck();
  const tap = (by: Sent["by"]) =>
    new TransformStream<AnyMessage, AnyMessage>({
      transform: async (message, controller) => {
        const held = by === "agent" ? options.holds?.(message) : undefined;
        if (held !== undefined) await held;
        sent.push({ by, message });
        const fault = wire.see(message, by);
        // Some tests send wrong messages on purpose, so only the agent's are checked.
        if (fault !== null && by === "agent") faults.push(fault);
        controller.enqueue(message);
        look();
        // A condition may depend on how the client handles the message.
        setImmediate(look);
      },
    });
  const [toAgent, toClient] = [tap("client"), tap("agent")];
  const connection = clientApp(options).connect({ readable: toClient.readable, writable: toAgent.writable });
  const { agent } = connection;
  const updates = (sessionId?: string): SessionUpdate[] =>
    sent.flatMap(({ message }) => {
      if (!("method" in message) || message.method !== "session/update") return [];
      const params = message.params as { sessionId: string; update: SessionUpdate };
      return sessionId === undefined || params.sessionId === sessionId ? [params.update] : [];
    });
  return {
    agentEnd: { readable: toAgent.readable, writable: toClient.writable },
    agent,
    sent,
    faults,
    updates,
    begin: (more) => agent.request("session/new", { cwd: project, mcpServers: [], ...more }),
    load: (sessionId) => agent.request("session/load", { sessionId, cwd: project, mcpServers: [] }),
    prompt: (sessionId, prompt) =>
      agent.request("session/prompt", {
        sessionId,
        prompt: typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt,
      }),
    until: async (holds) => {
      if (holds()) return;
      const come = new Promise<void>((done) => waiting.push({ holds, done }));
      const over = connection.closed.then(() => {
        throw new Error(`the connection ended first; the last message was ${JSON.stringify(sent.at(-1))}`);
      });
      await Promise.race([come, over]);
    },
    text: (sessionId) =>
      updates(sessionId)
        .flatMap((update) =>
          update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : [],
        )
        .join(""),
    close: () => connection.close(),
  };
}

const yes: RequestPermissionResponse = { outcome: { outcome: "selected", optionId: "allow_once" } };

function clientApp({ onPermission, answers = {} }: ClientOptions) {
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
