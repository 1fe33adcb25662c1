/**
 * The third act: the places where people work. An editor's agent gets permission, changes a file, dies, and is loaded again; a phone
 * continues the same conversation; a person corrects it by hand, and the terminal begins with that correction.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RequestPermissionRequest, RequestPermissionResponse, SessionUpdate } from "@agentclientprotocol/sdk";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { createTwoFilesPatch } from "diff";
import { WebSocket } from "ws";
import { createClient } from "../../src/client/client.ts";
import { testClient } from "../../testing/acp/test-client.ts";
import { editor } from "./editor.ts";
import { aptove, type Server, type Stage } from "./stage.ts";
import { chapter, claim, command, plain, printed, say } from "./story.ts";

export async function placesAct(stage: Stage, server: Server): Promise<void> {
  const sessionId = await editThenKill(stage);
  await loadAgain(stage, sessionId);
  await goOnOnPhone(stage, server);
  await editByHand(stage);
}

async function editThenKill(stage: Stage): Promise<string> {
  chapter("An editor, a tool, a permission, and kill -9");
  const path = join(stage.repo, "src/checkout.ts");
  const before = readFileSync(path, "utf8");
  const asBefore: boolean[] = [];
  const onPermission = async (question: RequestPermissionRequest): Promise<RequestPermissionResponse> => {
    asBefore.push(readFileSync(path, "utf8") === before);
    showQuestion(question);
    return { outcome: { outcome: "selected", optionId: "allow_once" } };
  };
  const agent = await editor(stage, { onPermission });
  const { sessionId } = await agent.begin();
  say("an editor started `aptove acp`, and began a session over standard input and output");
  const sum = "cartTotal(cart) - discount(cart)";
  const change = { path: "src/checkout.ts", find: sum, replace: `Math.max(0, ${sum})` };
  const call = { type: "function_call" as const, name: "edit", arguments: JSON.stringify(change) };
  stage.fake.next({ output: [call] }, "No customer owes less than nothing now.");
  await agent.prompt(sessionId, "an amount due must never be negative");
  showUpdates(agent.updates(sessionId));
  claim("the person was asked while the file was as before", asBefore.length === 1 && asBefore[0] === true);
  claim("then it was changed", readFileSync(path, "utf8").includes(change.replace));

  const output = [{ type: "message" as const, text: "The agent dies while it says this." }];
  stage.fake.next({ output, hold: { afterEvents: 7, until: new Promise<void>(() => {}) } });
  const asked = agent.prompt(sessionId, "tell me more").catch(() => "died");
  await agent.until(() => agent.text(sessionId).includes("The agent"));
  await agent.kill();
  claim("the agent was killed with -9 in the middle of the next answer", (await asked) === "died");
  return sessionId;
}

async function loadAgain(stage: Stage, sessionId: string): Promise<void> {
  chapter("The editor loads the session again");
  const agent = await editor(stage);
  await agent.load(sessionId);
  const replayed = agent.updates(sessionId);
  showUpdates(replayed);
  claim(
    "the whole conversation is replayed, with the call and its change",
    replayed.some((update) => update.sessionUpdate === "tool_call_update" && update.status === "completed"),
  );
  stage.fake.next("Yes: only amountDue changed.");
  await agent.prompt(sessionId, "is that all?");
  claim(
    "and goes on, with all of it before the model",
    sees(stage, ["must never be negative", "Math.max(0", "is that all?"]),
  );
  claim("every message of the agent is one that the official schema allows", agent.faults.length === 0);
  await agent.leave();
}

/** Acts as a phone: gets its own token by a code, and uses the same protocol over a WebSocket. */
async function goOnOnPhone(stage: Stage, { url }: Server): Promise<void> {
  chapter("A phone goes on in the same workspace");
  const paired = await aptove(stage, ["device", "pair", "--workspace", "default", "--no-wait"]);
  command("aptove device pair --workspace default --no-wait", paired);
  const code = /code\s+(\S+)/.exec(plain(paired.stdout))?.[1] ?? "";
  const { token } = await createClient({ url, key: "" }).devices.pair({ code, name: "my phone" });
  const headers = { authorization: `Bearer ${token}` };
  const socket = createWebSocketStream(`${url.replace("http", "ws")}/acp`, { WebSocket, headers });
  const phone = testClient(stage.repo);
  phone.agentEnd.readable.pipeTo(socket.writable).catch(() => undefined);
  socket.readable.pipeTo(phone.agentEnd.writable).catch(() => undefined);
  await phone.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await phone.begin();
  stage.fake.next("In src/checkout.ts, by Math.max(0, …).");
  await phone.prompt(sessionId, "where did you change it?");
  showUpdates(phone.updates(sessionId));
  claim("its new session goes on where the editor was", sees(stage, ["must never be negative", "is that all?"]));
  phone.close();
}

async function editByHand(stage: Stage): Promise<void> {
  chapter("session.md: to read, and to correct");
  const file = join(stage.dataDir, "workspaces", "default", "session.md");
  const text = await textWith(file, "where did you change it?");
  printed(text);
  writeFileSync(
    file,
    text.replace("No customer owes less than nothing now.", "A negative amount is a gift card's matter: it stays."),
  );
  say("the first answer was corrected by hand, in a text editor");
  stage.fake.next("Then amountDue must not cut it off at 0.");
  const chatted = await aptove(stage, ["chat"], { input: "so what is wrong in checkout.ts?\n" });
  command('echo "so what is wrong in checkout.ts?" | aptove chat', chatted);
  claim(
    "the next session began with what the person wrote",
    sees(stage, ["gift card's matter", "where did you change it?"]),
  );
  claim("and the model knows nothing of the old answer", !sees(stage, ["No customer owes less"]));
}

/** How long the transcript may take on a machine that is busy with other things. */
const writtenMs = 60_000;

/** Waits until the transcript has these words. It is written after a turn was answered, and may not exist before. */
async function textWith(file: string, words: string): Promise<string> {
  const end = performance.now() + writtenMs;
  for (;;) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    if (text.includes(words)) return text;
    if (performance.now() > end) throw new Error(`${file} never had the words ${JSON.stringify(words)}: ${text}`);
    await sleep(20);
  }
}

/** Returns true if the last input of the model contains all of these texts. */
function sees({ fake }: Stage, texts: readonly string[]): boolean {
  const seen = JSON.stringify(fake.requests.at(-1)?.assembled);
  return texts.every((text) => seen.includes(text));
}

function showQuestion({ toolCall, options }: RequestPermissionRequest): void {
  printed(`? ${toolCall.title ?? ""}: ${options.map(({ name }) => name).join(" | ")}`);
  for (const content of toolCall.content ?? []) {
    if (content.type !== "diff") continue;
    const patch = createTwoFilesPatch("", "", content.oldText ?? "", content.newText, "", "", { context: 0 });
    printed(
      patch
        .split("\n")
        .filter((line) => /^[-+](?![-+])/.test(line))
        .map((line) => `  ${line}`)
        .join("\n"),
    );
  }
}

/** Returns the updates as an editor shows them: the pieces of one message together, each call with its result. */
function showUpdates(updates: readonly SessionUpdate[]): void {
  const lines: { who: string; text: string }[] = [];
  const titles = new Map<string, string>();
  for (const update of updates) {
    if (update.sessionUpdate === "user_message_chunk" || update.sessionUpdate === "agent_message_chunk") {
      const who = update.sessionUpdate === "user_message_chunk" ? "person" : "model";
      const text = update.content.type === "text" ? update.content.text : "";
      const last = lines.at(-1);
      if (last?.who === who) last.text += text;
      else lines.push({ who, text });
    }
    if ("toolCallId" in update && update.title != null) titles.set(update.toolCallId, update.title);
    if (update.sessionUpdate === "tool_call_update" && update.status === "completed") {
      lines.push({ who: "tool", text: `${titles.get(update.toolCallId) ?? ""} ✓` });
    }
  }
  printed(lines.map(({ who, text }) => `${who}: ${text}`).join("\n"));
}
