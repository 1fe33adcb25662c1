/** AG-UI's own client, `HttpAgent`, drives the door (O6). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { HttpAgent, type BaseEvent, type Message } from "@ag-ui/client";
import { testDoor, type Person, type TestDoor, type TestDoorOptions } from "../../../testing/http-door.ts";
import { sha256 } from "../../domain/ids.ts";
import { repositoriesOf, type Retriever } from "../../retrieval/retriever.ts";
import { scriptedProvider } from "../../providers/scripted/scripted.ts";
import type { HttpDoor } from "../http/door.ts";
import { aguiDoor } from "./agui-door.ts";

interface AguiTest extends TestDoor {
  agent(threadId: string, person?: Person, messages?: Message[]): HttpAgent;
  /** The bodies that the clients sent. */
  sent: string[];
  post(body: unknown, person?: Person): Promise<Response>;
}

const url = "http://localhost:4870/agui";

async function testAgui(t: TestContext, options: TestDoorOptions = {}): Promise<AguiTest> {
  const tested = await testDoor(t, options);
  const report = (message: string, error?: unknown): void => void tested.reports.push(`${message} ${String(error)}`);
  const mount = aguiDoor({ engine: tested.engine, heartbeatMs: 60_000, bodyBytesMax: 1_000_000, report });
  const door: HttpDoor = tested.withMounts([mount]);
  const sent: string[] = [];
  const agent: AguiTest["agent"] = (threadId, { key } = tested.admin, initialMessages = []) =>
    new HttpAgent({
      url,
      threadId,
      initialMessages,
      headers: { authorization: `Bearer ${key}` },
      fetch: async (input, init) => {
        sent.push(String(init?.body));
        return await door.fetch(new Request(input, init));
      },
    });
  const post: AguiTest["post"] = async (body, { key } = tested.admin) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    return await door.fetch(
      new Request(url, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) }),
    );
  };
  return { ...tested, agent, sent, post };
}

const user = (content: string, id: string = crypto.randomUUID()): Message => ({ id, role: "user", content });

const tool = { name: "weather", description: "w", parameters: { type: "object", properties: {} } };

async function ask(agent: HttpAgent, text: string): Promise<string> {
  agent.addMessage(user(text));
  const { newMessages } = await agent.runAgent();
  return newMessages.map(({ role, content }) => (role === "assistant" ? String(content ?? "") : "")).join("");
}

test("[O6] HttpAgent asks and goes on in its thread, and each run is given only what is new", async (t) => {
  const { agent, engine, admin, provider } = await testAgui(t, { script: (_call, n) => `answer ${n}` });
  const client = agent("thread 1");
  assert.equal(await ask(client, "one"), "answer 1");
  assert.equal(await ask(client, "two"), "answer 2");
  // Another client of the same thread has no messages.
  assert.equal(await ask(agent("thread 1"), "three"), "answer 3");
  const { sessions } = await engine.sessions.list(admin, { limit: 5 });
  assert.equal(sessions.length, 1);
  const turns = await engine.turns.lineage(admin, sessions[0]?.headTurnId ?? "");
  assert.equal(turns.length, 3);
  const history = JSON.stringify(provider.exchanges[2]?.context);
  assert.equal(history.split("answer 1").length, 2, "the history has each message once");
  assert.match(history, /one.*answer 1.*two.*answer 2.*three/);
});

test("[M7] [O6] a session about several repositories goes on as a thread, and each run searches all of them", async (t) => {
  const searched: string[][] = [];
  const retriever: Retriever = {
    search: async (query) => {
      searched.push(repositoriesOf(query).map(({ repo }) => repo));
      return [];
    },
    index: () => assert.fail("nothing is indexed here"),
    list: async () => [],
    close: async () => {},
  };
  const { agent, engine, admin } = await testAgui(t, { retrievers: new Map([["local", retriever]]) });
  const { id } = await engine.sessions.create(admin, { repo: "api", otherRepos: ["web"] });
  const client = agent(id);
  await ask(client, "one");
  await ask(client, "two");
  assert.deepEqual(searched, [
    ["api", "web"],
    ["api", "web"],
  ]);
});

test("[O6] a message that was edited makes a fork from where the conversation is still the same", async (t) => {
  const { agent, engine, admin, provider } = await testAgui(t, { script: (_call, n) => `answer ${n}` });
  const client = agent("thread 1");
  await ask(client, "one");
  const before = [...client.messages];
  await ask(client, "two");
  const other = agent("thread 1", admin, before);
  assert.equal(await ask(other, "two, but better"), "answer 3");
  assert.doesNotMatch(JSON.stringify(provider.exchanges[2]?.context), /answer 2/);
  const { sessions } = await engine.sessions.list(admin, { limit: 5 });
  assert.equal(sessions.length, 2);
});

test("[O6] [T9] a tool of the client is called, and its result continues the run's turn", async (t) => {
  const { agent, provider } = await testAgui(t, {
    script: (_call, n) =>
      n === 1 ? [{ says: ["Let me look. "] }, { calls: "weather", with: { city: "Oslo" }, callId: "call_1" }] : "sunny",
  });
  const client = agent("thread 1");
  client.addMessage(user("Oslo?"));
  await client.runAgent({ tools: [tool] });
  const asked = client.messages.findLast(({ role }) => role === "assistant");
  assert.equal(asked?.role === "assistant" && asked.toolCalls?.[0]?.function.arguments, '{"city":"Oslo"}');
  client.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: "call_1", content: "12 degrees" });
  const { newMessages } = await client.runAgent({ tools: [tool] });
  assert.match(JSON.stringify(newMessages), /sunny/);
  assert.match(JSON.stringify(provider.exchanges[1]?.context), /12 degrees/);
});

test("[O6] [V5] [T9] a call that needs approval interrupts the run, and resuming answers it", async (t) => {
  for (const [status, payload, output] of [
    ["resolved", { approved: true }, "gone"],
    ["resolved", { approved: false, reason: "the only copy" }, "denied: the only copy"],
    ["cancelled", undefined, "denied"],
  ] as const) {
    const { agent, provider } = await testAgui(t, {
      script: (_call, n) => (n === 1 ? [{ calls: "remove", with: {}, callId: "call_1" }] : "as you wish"),
      tools: [
        {
          definition: { name: "remove", parameters: { type: "object" } },
          needsApproval: () => true,
          run: async () => ({ output: "gone", isError: false }),
        },
      ],
    });
    const client = agent("thread 1");
    client.addMessage(user("remove it"));
    await client.runAgent();
    const [interrupt] = client.pendingInterrupts;
    assert.deepEqual([interrupt?.id, interrupt?.toolCallId], ["call_1", "call_1"]);
    const resume = [{ interruptId: "call_1", status, ...(payload !== undefined && { payload }) }];
    const { newMessages } = await client.runAgent({ resume });
    assert.match(JSON.stringify(newMessages), /as you wish/);
    assert.match(JSON.stringify(provider.exchanges[1]?.context), new RegExp(output));
  }
});

test("[O6] a run that is sent again is the same turn, and its events come again from the beginning", async (t) => {
  const held = Promise.withResolvers<void>();
  const { post, engine, admin, provider } = await testAgui(t, {
    script: () => [{ says: ["one ", held.promise, "two"] }],
  });
  const body = { threadId: "t", runId: "r", messages: [user("go", "m1")], tools: [], context: [] };
  const first = await post(body);
  const reader = first.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  const again = await post(body);
  held.resolve();
  const events = eventsOf(await again.text());
  assert.deepEqual([events[0]?.type, events.at(-1)?.type, textIn(events)], ["RUN_STARTED", "RUN_FINISHED", "one two"]);
  assert.deepEqual(eventsOf(await (await post(body)).text()), events, "and ever after");
  assert.equal(provider.exchanges.length, 1);
  const { sessions } = await engine.sessions.list(admin, { limit: 5 });
  assert.equal(sessions.length, 1);
  const long = "r".repeat(300);
  const runs = await Promise.all(
    ["1", "2"].map(async (end) =>
      eventsOf(await (await post({ ...body, threadId: end, runId: `${long}${end}` })).text()),
    ),
  );
  assert.deepEqual(
    runs.map((run) => textIn(run)),
    ["one two", "one two"],
    "long ids are not cut",
  );
});

const run = (runId: string, text: string) => ({
  threadId: "t",
  runId,
  messages: [user(text)],
  tools: [],
  context: [],
});

test("[O6] [T13] the run that began a thread is the same turn after many others", async (t) => {
  const { post, provider } = await testAgui(t, { script: (_call, n) => `answer ${n}` });
  const first = run("r1", "one");
  const events = eventsOf(await (await post(first)).text());
  for (let n = 2; n <= 7; n++) await (await post(run(`r${n}`, `question ${n}`))).text();
  assert.deepEqual(eventsOf(await (await post(first)).text()), events);
  assert.equal(provider.exchanges.length, 7);
});

test("[O6] [T13] a run with the id of another one is refused, and message ids do not count", async (t) => {
  const { post, engine, admin, provider } = await testAgui(t, { script: (_call, n) => `answer ${n}` });
  for (const n of [1, 2]) await (await post(run(`r${n}`, `question ${n}`))).text();
  assert.equal(textIn(eventsOf(await (await post(run("r2", "question 2"))).text())), "answer 2");
  for (const other of [run("r1", "no"), run("r2", "no"), { ...run("r2", "question 2"), tools: [tool] }]) {
    const refused = await post(other);
    assert.equal(refused.status, 422);
    assert.match(await refused.text(), /idempotency_key_reused.*runId|runId.*idempotency_key_reused/);
  }
  assert.equal(provider.exchanges.length, 2);
  assert.equal((await engine.sessions.list(admin, { limit: 5 })).sessions.length, 1);
});

test("[O6] [T13] a run that an earlier build stored, without a digest of what it was given, is the same turn", async (t) => {
  const { post, engine, admin, provider } = await testAgui(t);
  const idempotencyKey = `agui ${sha256("t\nr")}`;
  const session = { metadata: { "aptove.dev/agui-thread": "t" } };
  const clientData = { aptoveAguiRun: "r" };
  await (
    await engine.turns.run(admin, { instruction: "go", session, clientData, idempotencyKey })
  ).finished;
  const again = await post({ threadId: "t", runId: "r", messages: [user("go")], tools: [], context: [] });
  assert.equal(textIn(eventsOf(await again.text())), "answer 1");
  assert.equal(provider.exchanges.length, 1);
});

test("[O6] the stream has the ids of the client, and names the turn; a failure is an event", async (t) => {
  const { agent, engine, admin } = await testAgui(t, {
    script: (_call, n) => (n === 1 ? "fine" : [{ fails: "provider_rejected" }]),
  });
  const events: BaseEvent[] = [];
  const client = agent("thread 1");
  client.addMessage(user("one"));
  await client.runAgent({ runId: "run 1" }, { onEvent: ({ event }) => void events.push(event) });
  assert.partialDeepStrictEqual(events[0], { type: "RUN_STARTED", threadId: "thread 1", runId: "run 1" });
  assert.partialDeepStrictEqual(events.at(-1), { type: "RUN_FINISHED", threadId: "thread 1", runId: "run 1" });
  const named = events.find((event) => "name" in event && event.name === "aptove.turn") as
    | { value: { turnId: string } }
    | undefined;
  assert.equal((await engine.turns.get(admin, named?.value.turnId ?? "")).status, "completed");
  const failed: BaseEvent[] = [];
  client.addMessage(user("two"));
  await client.runAgent({}, { onEvent: ({ event }) => void failed.push(event) });
  assert.partialDeepStrictEqual(failed.at(-1), { type: "RUN_ERROR", code: "provider_rejected" });
});

test("[O6] context, system messages and images reach the model; a conversation from elsewhere is history", async (t) => {
  const scripted = scriptedProvider();
  const { post } = await testAgui(t, { provider: { ...scripted, takes: () => ["image/png"] } });
  const image = { type: "image", source: { type: "data", value: "iVBORw0KGgo=", mimeType: "image/png" } };
  const answer = await (
    await post({
      threadId: "t",
      runId: "r",
      messages: [
        { id: "s", role: "system", content: "Be brief." },
        user("earlier", "m1"),
        { id: "foreign", role: "assistant", content: "so it was" },
        { id: "m2", role: "user", content: [{ type: "text", text: "and now?" }, image] },
      ],
      tools: [],
      context: [{ description: "The open page", value: "/cart" }],
    })
  ).text();
  assert.match(answer, /RUN_FINISHED/);
  const [exchange] = scripted.exchanges;
  assert.match(exchange?.call.prompt ?? "", /Be brief\.\n\nThe open page: \/cart/);
  assert.match(JSON.stringify(exchange?.context), /earlier.*so it was.*and now\?/);
  assert.match(JSON.stringify(exchange?.context), /image\/png/);
});

test("[O6] images of messages before the newest one reach the model too", async (t) => {
  const scripted = scriptedProvider();
  const { post } = await testAgui(t, { provider: { ...scripted, takes: () => ["image/png"] } });
  const image = { type: "image", source: { type: "data", value: "iVBORw0KGgo=", mimeType: "image/png" } };
  const messages = [
    { id: "m1", role: "user", content: [{ type: "text", text: "look" }, image] },
    { id: "foreign", role: "assistant", content: "a dot" },
    user("and its color?", "m2"),
  ];
  const answer = await (await post({ threadId: "t", runId: "r", messages, tools: [], context: [] })).text();
  assert.match(answer, /RUN_FINISHED/);
  assert.doesNotMatch(JSON.stringify(scripted.exchanges[0]?.context), /INPUT|It is part of this message/);
  assert.match(scripted.exchanges[0]?.request.body ?? "", /look[^]*"media":\[[^]*a dot[^]*and its color/);
});

test("[O6] [H4] foreign threads and turns are not reached, and what is wrong is refused with its field", async (t) => {
  const { agent, post, person, engine, admin } = await testAgui(t);
  const client = agent("thread 1");
  await ask(client, "secret");
  const stranger = await person("member");
  assert.equal(await ask(agent("thread 1", stranger), "mine"), "answer 2");
  const { sessions } = await engine.sessions.list(admin, { limit: 5 });
  assert.equal(sessions.length, 1, "the stranger's thread of that name is the stranger's");
  const base = { runId: "r", tools: [], context: [] };
  const foreign = await post({ ...base, threadId: "x", messages: [...client.messages, user("go on")] }, stranger);
  assert.equal(foreign.status, 404);
  const own = await post({ ...base, threadId: sessions[0]?.id, messages: [user("go on")] }, stranger);
  assert.doesNotMatch(await own.text(), /secret/);
  for (const [body, status, field] of [
    ["{", 400, /not JSON/],
    [{}, 400, /threadId/],
    [{ ...base, threadId: "t", messages: [{ id: "1", role: "boss", content: "x" }] }, 400, /messages\.0/],
    [{ ...base, threadId: "t", messages: [] }, 422, /instruction/],
  ] as const) {
    const refused = await post(body);
    assert.equal(refused.status, status);
    assert.match(await refused.text(), field);
  }
  assert.equal((await post({}, { ...stranger, key: "aptove_wrong" })).status, 401);
});

interface Event {
  type: string;
  delta?: string;
}

function eventsOf(stream: string): Event[] {
  return [...stream.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json) as Event);
}

function textIn(events: readonly Event[]): string {
  return events.map(({ type, delta }) => (type === "TEXT_MESSAGE_CONTENT" ? (delta ?? "") : "")).join("");
}
