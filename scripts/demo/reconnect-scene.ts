/**
 * A scene of the fourth act: a phone's connection is cut in the middle of a turn. It comes back, sees the turn so far and
 * live, and answers the question that waited for it.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";
import { createClient } from "../../src/client/client.ts";
import { testClient, type ClientOptions, type TestClient } from "../../testing/acp/test-client.ts";
import { aptove, type Server, type Stage } from "./stage.ts";
import { chapter, claim, command, plain, say } from "./story.ts";

export async function reconnectScene(stage: Stage, server: Server): Promise<void> {
  chapter("A connection is cut in mid-turn, and nothing is lost");
  const token = await pairedToken(stage, server);
  const file = join(stage.repo, "NOTES.md");
  const asked = Promise.withResolvers<void>();
  const cut = await phone(stage, server, { token, onPermission: () => (asked.resolve(), new Promise(() => {})) });
  const { sessionId } = await cut.client.begin();
  const change = JSON.stringify({ path: "NOTES.md", content: "Ten per cent from 100.00 on.\n" });
  stage.fake.next(
    {
      output: [
        { type: "message", text: "I shall write it down." },
        { type: "function_call", name: "write", arguments: change },
      ],
    },
    "It is written down.",
  );
  void cut.client.prompt(sessionId, "write the rule of the discount into NOTES.md").catch(() => undefined);
  await asked.promise;
  cut.socket().terminate();
  say("the phone was asked whether NOTES.md may be written, and its connection was cut before it answered");
  claim("nothing was written", !existsSync(file));

  const questions: string[] = [];
  const again = await phone(stage, server, {
    token,
    onPermission: async ({ toolCall }) => {
      questions.push(toolCall.title ?? "");
      return { outcome: { outcome: "selected", optionId: "allow_once" } };
    },
  });
  await again.client.load(sessionId);
  const text = (): string => JSON.stringify(again.client.updates(sessionId));
  claim(
    "the phone loads the session, and sees the running turn so far",
    text().includes("write the rule of the discount") && text().includes("I shall write it down."),
  );
  await again.client.until(() => again.client.text(sessionId).includes("It is written down."));
  claim("it is asked again", questions.length === 1 && questions[0] === "Create NOTES.md");
  claim("after its yes the file is written, and it sees the rest live", existsSync(file));
  again.client.close();
}

async function pairedToken(stage: Stage, { url }: Server): Promise<string> {
  const paired = await aptove(stage, ["device", "pair", "--workspace", "default", "--no-wait"]);
  command("aptove device pair --workspace default --no-wait", paired);
  const code = /code\s+(\S+)/.exec(plain(paired.stdout))?.[1] ?? "";
  return (await createClient({ url, key: "" }).devices.pair({ code, name: "my other phone" })).token;
}

interface Phone {
  client: TestClient;
  socket(): WebSocket;
}

async function phone(
  stage: Stage,
  { url }: Server,
  { token, ...options }: ClientOptions & { token: string },
): Promise<Phone> {
  const opened: WebSocket[] = [];
  const Remembered = class extends WebSocket {
    constructor(...args: ConstructorParameters<typeof WebSocket>) {
      super(...args);
      opened.push(this);
    }
  };
  const headers = { authorization: `Bearer ${token}` };
  const stream = createWebSocketStream(`${url.replace("http", "ws")}/acp`, { WebSocket: Remembered, headers });
  const client = testClient(stage.repo, options);
  client.agentEnd.readable.pipeTo(stream.writable).catch(() => undefined);
  stream.readable.pipeTo(client.agentEnd.writable).catch(() => undefined);
  await client.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  return {
    client,
    socket: () => {
      const [socket] = opened;
      if (socket === undefined) throw new Error("no socket was opened");
      return socket;
    },
  };
}
