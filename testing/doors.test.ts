/** One session through every door of the program, over one data folder and the real wire of a provider. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RequestPermissionRequest, SessionUpdate } from "@agentclientprotocol/sdk";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";
import { createClient } from "../src/client/client.ts";
import { parseTranscript } from "../src/workspace/transcript/format.ts";
import { testClient, type TestClient } from "./acp/test-client.ts";
import type { FakeOpenAI, FakeRequest } from "./fake-openai/fake-openai.ts";
import type { FakeReply } from "./fake-openai/replies.ts";
import { program, type Program, type ServeProcess } from "./program.ts";

/** One line for each message and tool call, in the same form for every door. */
type Line = `user: ${string}` | `assistant: ${string}` | `call: ${string}` | `result: ${string}`;

test("[P4] [W4] [C3] one session begins in an editor, continues over HTTP, on a phone and on the command line, and is loaded again", async (t) => {
  const world = await program(t);
  const expected: Line[] = [];
  /** Runs a turn with this answer, and checks that the model got the whole conversation. */
  const turn = async (step: { asks: string; answer: string }, run: () => Promise<unknown>): Promise<void> => {
    world.model.next(step.answer);
    expected.push(`user: ${step.asks}`);
    await run();
    assert.deepEqual(linesOf(lastRequest(world.model)), expected);
    expected.push(`assistant: ${step.answer}`);
  };

  const questions: RequestPermissionRequest[] = [];
  const editor = await world.acp({ onPermission: async (question) => (questions.push(question), always) });
  const { sessionId, _meta } = await editor.begin();
  assert.equal(_meta?.["aptove.dev/workspaceId"], "default");
  world.model.next(calls("write", { path: "greeting.txt", content: "hello\n" }));
  expected.push("user: write a greeting");
  world.model.next("It is written.");
  await editor.prompt(sessionId, "write a greeting");
  assert.equal(readFileSync(join(world.project, "greeting.txt"), "utf8"), "hello\n");
  assert.equal(questions[0]?.toolCall.title, "Create greeting.txt");
  const [, call = assert.fail(), result = assert.fail()] = linesOf(lastRequest(world.model));
  assert.equal(call, 'call: write {"path":"greeting.txt","content":"hello\\n"}');
  assert.ok(result.startsWith("result: "));
  expected.push(call, result, "assistant: It is written.");
  assert.equal(await editor.leave(), 0);

  const server = await world.serve();
  await turn({ asks: "what did you write?", answer: "A greeting." }, () =>
    server.client.execute({ sessionId, instruction: "what did you write?" }),
  );
  const phone = await pairedPhone(world, server);
  await phone.load(sessionId);
  assert.deepEqual(replayed(phone.updates(sessionId)), expected);
  await turn({ asks: "who is greeted?", answer: "No person by name." }, () =>
    phone.prompt(sessionId, "who is greeted?"),
  );
  assert.deepEqual(phone.faults, []);
  phone.close();
  assert.equal(await server.stop(), 0);

  await turn({ asks: "is it long?", answer: "One word." }, async () => {
    const asked = await world.run(["ask", "-s", sessionId, "is it long?"]);
    assert.equal(asked.exit, 0, asked.stderr);
    assert.equal(asked.stdout, "One word.\n");
  });
  await turn({ asks: "is it kind?", answer: "It is." }, async () => {
    const chatted = await world.run(["chat", "-s", sessionId], "is it kind?\n");
    assert.equal(chatted.exit, 0, chatted.stderr);
  });

  const again = await world.acp();
  await again.load(sessionId);
  assert.deepEqual(replayed(again.updates(sessionId)), expected);
  await turn({ asks: "then we are done", answer: "We are." }, () => again.prompt(sessionId, "then we are done"));
  assert.equal(await again.leave(), 0);
  assert.deepEqual([...editor.faults, ...again.faults], []);

  const transcript = parseTranscript(readFileSync(join(world.dataDir, "workspaces", "default", "session.md")));
  assert.ok(transcript.kind === "transcript");
  assert.deepEqual(
    transcript.messages.map(({ role, text }) => `${role}: ${text}`),
    expected.filter((line) => /^(user|assistant): /.test(line)),
  );
  const verified = await world.run(["session", "verify", sessionId]);
  assert.equal(verified.exit, 0, verified.stdout + verified.stderr);
  assert.deepEqual(
    world.model.requests.filter(({ refusal }) => refusal !== null),
    [],
  );
});

const always = { outcome: { outcome: "selected", optionId: "allow_always" } } as const;

function calls(name: string, args: Record<string, unknown>): FakeReply {
  return { output: [{ type: "function_call", name, arguments: JSON.stringify(args) }] };
}

function lastRequest(model: FakeOpenAI): FakeRequest {
  return model.requests.at(-1) ?? assert.fail("nothing was sent");
}

/** Returns all that the model sees except the boot prompt and the place: what the provider remembers, and what was sent now. */
function linesOf({ assembled }: FakeRequest): Line[] {
  return (assembled ?? []).flatMap((item): Line[] => {
    if (item.type === "function_call") return [`call: ${item.name} ${item.arguments}`];
    if (item.type === "function_call_output") return [`result: ${String(item.output)}`];
    if (!("role" in item && "content" in item) || item.role === "system") return [];
    const parts = Array.isArray(item.content) ? item.content : [{ text: item.content }];
    const texts = parts.map((part) => ("text" in part ? part.text : ""));
    const text = texts.filter((part) => !part.startsWith("[PLACE]\n")).join("");
    if (item.role === "assistant") return [`assistant: ${text}`];
    return [`user: ${text.split("[INSTRUCTION]\n")[1] ?? text}`];
  });
}

/** Returns the same as `session/load` shows it to an editor. */
function replayed(updates: readonly SessionUpdate[]): Line[] {
  const inputs = new Map<string, Line>();
  return updates.flatMap((update): Line[] => {
    if (update.sessionUpdate === "user_message_chunk" || update.sessionUpdate === "agent_message_chunk") {
      const role = update.sessionUpdate === "user_message_chunk" ? "user" : "assistant";
      return update.content.type === "text" ? [`${role}: ${update.content.text}`] : [];
    }
    if (update.sessionUpdate === "tool_call") inputs.set(update.toolCallId, `call: ${update.title}`);
    if (update.sessionUpdate !== "tool_call_update") return [];
    if (update.rawInput !== undefined) {
      inputs.set(update.toolCallId, `call: write ${JSON.stringify(update.rawInput)}`);
    }
    if (update.status !== "completed") return [];
    return [inputs.get(update.toolCallId) ?? assert.fail(), `result: ${String(update.rawOutput)}`];
  });
}

/** Connects a phone that got its token by a code, shares the editor's workspace, and uses ACP over a WebSocket. */
async function pairedPhone({ project }: Program, { url, client }: ServeProcess): Promise<TestClient> {
  const { code } = await client.devices.createPairingCode({ workspaceId: "default" });
  const { token } = await createClient({ url, key: "" }).devices.pair({ code, name: "phone" });
  const headers = { authorization: `Bearer ${token}` };
  const socket = createWebSocketStream(`${url.replace("http", "ws")}/acp`, { WebSocket, headers });
  const phone = testClient(project);
  phone.agentEnd.readable.pipeTo(socket.writable).catch(() => undefined);
  socket.readable.pipeTo(phone.agentEnd.writable).catch(() => undefined);
  await phone.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  return phone;
}
