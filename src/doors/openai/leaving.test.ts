/** Clients that leave before the end (O1). They have no other way to stop a response that does not run in the background. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import OpenAI from "openai";
import { testOpenAi, type OpenAiTest } from "../../../testing/openai-door.ts";
import type { SequencedEvent } from "../../domain/events.ts";
import type { Script } from "../../providers/scripted/scripted.ts";
import { listen } from "../http/listen.ts";

interface LeavingTest extends Omit<OpenAiTest, "openai"> {
  /** The official client, over a socket. */
  openai: OpenAI;
  /** Lets the model say its last word. */
  finish(): void;
  /** Resolves when the first word of the answer has arrived. */
  begun(): Promise<void>;
  /** Returns the end of the one turn: the reason why it stopped, and its text. */
  end(): Promise<string[]>;
}

async function testLeaving(t: TestContext): Promise<LeavingTest> {
  const called = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const script: Script = () => (called.resolve(), [{ says: ["begun ", held.promise, "done"] }]);
  const tested = await testOpenAi(t, { script });
  const { engine, admin } = tested;
  const server = await listen(tested.door, { host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  const openai = new OpenAI({ apiKey: admin.key, baseURL: `${server.url}/v1`, maxRetries: 0 });
  const events = async (): Promise<AsyncIterable<SequencedEvent>> => {
    const { sessions } = await engine.sessions.list(admin, {});
    const [turn] = await engine.turns.list(admin, sessions[0]?.id ?? "", { limit: 1 });
    return await engine.turns.events(admin, turn?.id ?? "", { afterSeq: 0 });
  };
  return {
    ...tested,
    openai,
    finish: () => held.resolve(),
    begun: async () => {
      await called.promise;
      for await (const { event } of await events()) if (event.type === "text_delta") return;
    },
    end: async () => {
      let text = "";
      for await (const { event } of await events()) {
        if (event.type === "text_delta") text += event.delta;
        if (event.type === "run_finished") return [event.stopReason, text];
      }
      return assert.fail("the turn did not finish");
    },
  };
}

const messages = [{ role: "user" as const, content: "long" }];

/** Each way to wait for an answer, until the signal aborts. */
const waits: Record<string, (openai: OpenAI, signal: AbortSignal) => Promise<unknown>> = {
  "a streamed response": async (openai, signal) =>
    await Array.fromAsync(await openai.responses.create({ input: "long", stream: true }, { signal })),
  "a response": (openai, signal) => openai.responses.create({ input: "long" }, { signal }),
  "a streamed chat completion": async (openai, signal) =>
    await Array.fromAsync(await openai.chat.completions.create({ model: "", messages, stream: true }, { signal })),
  "a chat completion": (openai, signal) => openai.chat.completions.create({ model: "", messages }, { signal }),
};

for (const [name, wait] of Object.entries(waits))
  test(`[O1] a client that closes its connection stops ${name}, and what arrived stays`, async (t) => {
    const { openai, begun, end } = await testLeaving(t);
    const client = new AbortController();
    const answer = wait(openai, client.signal).catch(() => null);
    await begun();
    client.abort();
    await answer;
    assert.deepEqual(await end(), ["interrupted", "begun "]);
  });

test("[O1] [R5] a response in the background, and a request that can be sent again, go on without their client", async (t) => {
  for (const more of [{ background: true }, { key: "again" }]) {
    const { openai, begun, end, finish } = await testLeaving(t);
    const client = new AbortController();
    const { key, ...background } = { key: undefined, ...more };
    const headers = key === undefined ? {} : { "idempotency-key": key };
    const asked = { input: "long", stream: true as const, ...background };
    const events = await openai.responses.create(asked, { signal: client.signal, headers });
    const answer = Array.fromAsync(events).catch(() => null);
    await begun();
    client.abort();
    await answer;
    finish();
    assert.deepEqual(await end(), ["stop", "begun done"]);
  }
});

test("[O1] [R5] a second reader that leaves does not stop the response", async (t) => {
  const { openai, end, finish } = await testLeaving(t);
  let id = "";
  for await (const event of await openai.responses.create({ input: "long", stream: true })) {
    if (event.type === "response.created") id = event.response.id;
    if (event.type !== "response.output_text.delta" || event.delta !== "begun ") continue;
    // The SDK closes the connection when its loop ends.
    for await (const { type } of await openai.responses.retrieve(id, { stream: true })) if (type === event.type) break;
    finish();
  }
  assert.deepEqual(await end(), ["stop", "begun done"]);
});

test("[O1] [T5] a client that leaves while its request waits in line costs no model call, and adds no turn", async (t) => {
  const { openai, begun, finish, engine, admin, provider } = await testLeaving(t);
  const { id: conversation } = await openai.conversations.create();
  const first = openai.responses.create({ input: "first", conversation });
  await begun();
  const client = new AbortController();
  const waiting = Promise.withResolvers<void>();
  const inLine: Promise<unknown>[] = [];
  const { run } = engine.turns;
  t.mock.method(engine.turns, "run", async (...asked: Parameters<typeof run>) => {
    const running = run(...asked);
    if (inLine.push(running) === 3) waiting.resolve();
    return await running;
  });
  const left = Array.from({ length: 3 }, () =>
    openai.responses.create({ input: "left", conversation }, { signal: client.signal }).catch(() => "left"),
  );
  await waiting.promise;
  client.abort();
  assert.deepEqual(await Promise.all(left), ["left", "left", "left"]);
  // The server learns of it only when it reads the closed connections.
  const ends = await Promise.allSettled(inLine);
  assert.ok(ends.every(({ status }) => status === "rejected"));
  finish();
  await first;
  const last = await openai.responses.create({ input: "last", conversation });
  assert.equal(last.status, "completed");
  assert.equal(provider.exchanges.length, 2);
  const { sessions } = await engine.sessions.list(admin, {});
  const turns = await engine.turns.list(admin, sessions[0]?.id ?? "", {});
  assert.deepEqual(
    turns.map(({ instructionSummary }) => instructionSummary),
    ["last", "first"],
  );
});
