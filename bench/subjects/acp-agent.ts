/** A minimal client of an ACP agent over its standard input and output. */
import { eachLine, end, type Child } from "./programs.ts";
import type { Conversation } from "./conversation.ts";

interface Message {
  id?: number;
  result?: unknown;
  error?: unknown;
  params?: { sessionId: string; update: { sessionUpdate: string; content?: { text?: string } } };
}

export interface AcpAgent {
  initialize(): Promise<void>;
  open(folder: string): Promise<Conversation>;
  end(): Promise<void>;
}

export function acpAgent(child: Child): AcpAgent {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const listeners = new Map<string, (delta: string) => void>();
  let last = 0;
  eachLine(child, (line) => {
    const { id, result, error, params } = JSON.parse(line) as Message;
    if (params?.update?.sessionUpdate === "agent_message_chunk") {
      return listeners.get(params.sessionId)?.(params.update.content?.text ?? "");
    }
    const asked = id === undefined ? undefined : waiting.get(id);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(JSON.stringify(error)));
  });
  child.once("exit", () => {
    for (const asked of waiting.values()) asked.reject(new Error("the agent ended"));
  });
  const request = async (method: string, params: unknown): Promise<unknown> => {
    last += 1;
    const id = last;
    const asked = Promise.withResolvers<unknown>();
    waiting.set(id, asked);
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return await asked.promise.finally(() => waiting.delete(id));
  };
  const open = async (cwd: string): Promise<Conversation> => {
    const { sessionId } = (await request("session/new", { cwd, mcpServers: [] })) as { sessionId: string };
    return {
      turn: async (text, onDelta) => {
        if (onDelta !== undefined) listeners.set(sessionId, onDelta);
        const prompt = [{ type: "text", text }];
        const { stopReason } = (await request("session/prompt", { sessionId, prompt })) as { stopReason: string };
        if (stopReason !== "end_turn") throw new Error(`a turn ended ${stopReason}`);
      },
    };
  };
  const initialize = async (): Promise<void> =>
    void (await request("initialize", { protocolVersion: 1, clientCapabilities: {} }));
  return { initialize, open, end: () => end(child) };
}
