/** One session through the engine on the real wires of all providers, in every order of two. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test, type TestContext } from "node:test";
import type { HistoryItem } from "../src/domain/history.ts";
import { anthropicProvider } from "../src/providers/anthropic/anthropic.ts";
import { compatibleProvider } from "../src/providers/compatible/compatible.ts";
import { googleProvider } from "../src/providers/google/google.ts";
import { openaiProvider } from "../src/providers/openai/openai.ts";
import type { Provider } from "../src/providers/provider.ts";
import type { Tool } from "../src/tools/tool.ts";
import { testEngine } from "./engine.ts";
import { startFakeAnthropic } from "./fake-anthropic/fake-anthropic.ts";
import { startFakeCompatible } from "./fake-compatible/fake-compatible.ts";
import { startFakeGoogle } from "./fake-google/fake-google.ts";
import { startFakeOpenai, type FakeOpenAI } from "./fake-openai/fake-openai.ts";

/** A provider with its strict fake. */
interface Wired {
  provider: Provider;
  fake: { readonly requests: readonly { raw: Buffer; refusal: unknown }[]; close(): Promise<void> };
  /** Scripts the next two answers: one thinks, names a place and calls the tool; the other is a text. */
  lookNext(at: string): void;
}

async function openai(): Promise<Wired> {
  const fake = await startFakeOpenai();
  const lookNext = (at: string): void => {
    const call = { type: "function_call" as const, name: "look", arguments: JSON.stringify({ at }) };
    const thought = { type: "reasoning" as const, summary: [`think ${at}`] };
    fake.next({ output: [thought, { type: "message", text: `look ${at}` }, call] }, `seen ${at}`);
  };
  return { provider: openaiProvider({ apiKey: "sk-1", baseUrl: fake.url, model: "gpt-5.1" }), fake, lookNext };
}

async function anthropic(): Promise<Wired> {
  const fake = await startFakeAnthropic();
  const lookNext = (at: string): void => {
    const call = { type: "tool_use" as const, name: "look", input: JSON.stringify({ at }) };
    const thought = { type: "thinking" as const, text: `think ${at}` };
    fake.next({ output: [thought, { type: "text", text: `look ${at}` }, call] }, `seen ${at}`);
  };
  const provider = anthropicProvider({ apiKey: "sk-2", baseUrl: fake.url, model: "claude-opus-5-5" });
  return { provider, fake, lookNext };
}

/** Starts Google's fake, whose calls have no ids. */
async function google(): Promise<Wired> {
  const fake = await startFakeGoogle();
  const lookNext = (at: string): void => {
    const call = { type: "call" as const, name: "look", args: { at }, id: null };
    const thought = { type: "thought" as const, text: `think ${at}` };
    fake.next({ output: [thought, { type: "text", text: `look ${at}` }, call] }, `seen ${at}`);
  };
  const provider = googleProvider({ apiKey: "key-3", baseUrl: fake.url, model: "gemini-3-flash" });
  return { provider, fake, lookNext };
}

/** Starts the compatible fake, whose calls all have the same id and whose answers have no usage. */
async function compatible(): Promise<Wired> {
  const fake = await startFakeCompatible();
  const lookNext = (at: string): void => {
    const call = { type: "call" as const, name: "look", arguments: JSON.stringify({ at }), id: "call_0" };
    const thought = { type: "reasoning" as const, text: `think ${at}` };
    const output = [thought, { type: "text" as const, text: `look ${at}` }, call];
    fake.next({ output, usage: null }, { output: [{ type: "text", text: `seen ${at}` }], usage: null });
  };
  const provider = compatibleProvider({ name: "compatible", baseUrl: fake.url, model: "qwen3:8b" });
  return { provider, fake, lookNext };
}

const look: Tool = {
  definition: { name: "look", parameters: { type: "object" } },
  needsApproval: () => false,
  run: async ({ at }) => ({ output: `found ${String(at)}`, isError: false }),
};

async function wireAll(context: TestContext): Promise<Map<string, Wired>> {
  const wired = await Promise.all([openai(), anthropic(), google(), compatible()]);
  context.after(() => Promise.all(wired.map(({ fake }) => fake.close())));
  return new Map(wired.map((each) => [each.provider.name, each]));
}

/** An order in which every provider comes once after every other. */
const rounds = "o a o g o c a g a c g c o".split(" ");

test("[C5] [T8] any provider continues where any other stopped, with all texts, calls and results", async (context) => {
  const wired = await wireAll(context);
  const byLetter = new Map([...wired.values()].map((each) => [each.provider.name.charAt(0), each]));
  const [first, ...otherProviders] = [...wired.values()].map(({ provider }) => provider);
  assert.ok(first !== undefined);
  const agentContexts = [...wired.keys()].map((name) => ({ id: name, name, provider: name, index: "local" }));
  const { ask, answer } = await testEngine(context, { provider: first, otherProviders, agentContexts, tools: [look] });
  let sessionId: string | undefined;
  for (const [round, letter] of rounds.entries()) {
    const { provider, fake, lookNext } = byLetter.get(letter) ?? assert.fail();
    lookNext(`place ${round}`);
    const session = sessionId === undefined ? {} : { sessionId };
    const turn = await ask(`go ${round}`, { ...session, agentContextId: provider.name });
    assert.equal(turn.status, "completed", JSON.stringify("failures" in turn ? turn.failures : null));
    assert.equal(await answer(turn.id), `look place ${round}\n\nseen place ${round}`);
    const codes = turn.warnings.map(({ code }) => code);
    assert.equal(codes.filter((code) => code === "usage_estimated").length, letter === "c" ? 1 : 0);
    assert.deepEqual(
      fake.requests.filter(({ refusal }) => refusal !== null),
      [],
    );
    sessionId = turn.sessionId;
    if (round === 0) continue;
    const body = fake.requests.at(-2)?.raw.toString() ?? "";
    for (let past = 0; past < round; past += 1) {
      for (const text of ["go", "look place", "found place", "seen place"]) {
        assert.ok(body.includes(`${text} ${past}`), `"${text} ${past}" did not come to ${provider.name} in ${round}`);
      }
    }
  }
});

test("[C5] text in which a model only imitates a call goes to every other provider", async (context) => {
  const wired = await wireAll(context);
  const items: HistoryItem[] = [
    { type: "user", parts: ["a", "b"] },
    { type: "assistant", text: "" },
    { type: "tool_call", callId: "call:1 ü", name: "look", arguments: '{"at": ' },
    { type: "tool_call", callId: "call:2", name: "look", arguments: "[]" },
    { type: "tool_result", callId: "call:2", output: "" },
    { type: "tool_result", callId: "call:1 ü", output: "half \ud83d", isError: true },
    { type: "user", parts: ["c"] },
    { type: "user", parts: ["d"] },
  ];
  for (const { provider } of wired.values()) {
    const choice = { tools: [look.definition], toolChoice: null, allowedTools: null, previousResponseId: null };
    const call = { model: provider.defaultModel, prompt: "be brief", items, store: false, settings: {}, ...choice };
    const events = await Array.fromAsync(provider.send(provider.prepare(call), new AbortController().signal));
    assert.equal(events.at(-1)?.type, "finished", JSON.stringify(events.at(-1)));
  }
});

test("[C5] no half of a character goes over any wire, wherever it comes from", async (context) => {
  const half = "half \ud83d";
  const definition = { name: "look", description: half, parameters: { type: "object", properties: { [half]: {} } } };
  const items: HistoryItem[] = [
    { type: "user", parts: [half] },
    { type: "assistant", text: half },
    { type: "tool_call", callId: "call_1", name: "look", arguments: JSON.stringify({ at: "a" }) },
    { type: "tool_result", callId: "call_1", output: half },
  ];
  const choice = { tools: [definition], toolChoice: null, allowedTools: null, previousResponseId: null };
  for (const { provider } of (await wireAll(context)).values()) {
    const call = { model: provider.defaultModel, prompt: half, items, store: true, settings: {}, ...choice };
    const { body } = provider.prepare(call);
    assert.equal(body.split("half \ufffd").length, 7, provider.name);
    assert.ok(body.isWellFormed() && !/\\ud[89a-f]/.test(body), provider.name);
  }
});

test("[C3] a rebuilt chain gives OpenAI's model its own reasoning back", async (context) => {
  const wired = (await wireAll(context)).get("openai") ?? assert.fail();
  const fake = wired.fake as FakeOpenAI;
  const { ask } = await testEngine(context, { provider: wired.provider, tools: [look] });
  wired.lookNext("a place");
  const { sessionId } = await ask("go");
  fake.forget("all");
  fake.next("still there");
  const turn = await ask("and?", { sessionId });
  assert.deepEqual(
    turn.warnings.map(({ code }) => code),
    ["chain_rebuilt"],
  );
  const sent = fake.requests.at(-1)?.raw.toString() ?? "";
  assert.match(sent, /"store":true.*"type":"reasoning".*"encrypted_content":"fake-cipher/);
});

const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), randomBytes(30_000)]);
const pdf = Buffer.concat([Buffer.from("%PDF-1.7\n"), randomBytes(30_000)]);

test("[I1] [K3] [D3] [C5] an image and a document go over every wire, are stored once, and a warning names what a model cannot see", async (context) => {
  const wired = await wireAll(context);
  const [first, ...otherProviders] = [...wired.values()].map(({ provider }) => provider);
  assert.ok(first !== undefined);
  const agentContexts = [...wired.keys()].map((name) => ({ id: name, name, provider: name, index: "local" }));
  const world = await testEngine(context, { provider: first, otherProviders, agentContexts, tools: [look] });
  const inline = [
    { type: "binary", content: png, name: "shot.png", mode: "inline" },
    { type: "file", path: "docs/plan.pdf", content: pdf, mode: "inline" },
  ] as const;
  let sessionId: string | undefined;
  for (const name of ["openai", "anthropic", "google", "compatible", "openai"]) {
    const { fake, lookNext } = wired.get(name) ?? assert.fail(name);
    lookNext(name);
    const began = sessionId === undefined ? { input: [...inline] } : { sessionId };
    const turn = await world.ask(`go ${name}`, { ...began, agentContextId: name });
    assert.equal(turn.status, "completed", JSON.stringify("failures" in turn ? turn.failures : null));
    sessionId = turn.sessionId;
    assert.deepEqual(
      fake.requests.map(({ refusal }) => refusal).filter((refusal) => refusal !== null),
      [],
    );
    const sent = fake.requests.at(-2)?.raw ?? assert.fail();
    const seesPdf = name !== "compatible";
    assert.equal(sent.includes(png.toString("base64")), true, name);
    assert.equal(sent.includes(pdf.toString("base64")), seesPdf, name);
    assert.equal(
      turn.warnings.some(({ code }) => code === "media_dropped"),
      !seesPdf,
      name,
    );
    const reader = await world.engine.turns.read(world.caller, turn.id);
    assert.deepEqual(Buffer.from(await reader.request(1)), sent, name);
  }
  // Five turns, ten requests that contain both: each content is stored once, and little beside it.
  const keys = await world.deps.blobs.list("turns/");
  assert.equal(keys.filter((key) => key.includes("/part-")).length, 2);
  const others = keys.filter((key) => !key.includes("/part-"));
  const sizes = await Promise.all(others.map(async (key) => (await world.deps.blobs.size(key)) ?? 0));
  assert.ok(Math.max(...sizes) < 30_000, String(Math.max(...sizes)));
  const { fault } = await world.engine.explain.verify(world.caller, sessionId ?? "");
  assert.equal(fault, null);
});

test("[I1] [T9] [C5] an image and a document of a tool's result go over every wire, in the form that it has for them", async (context) => {
  const wired = await wireAll(context);
  const [first, ...otherProviders] = [...wired.values()].map(({ provider }) => provider);
  assert.ok(first !== undefined);
  const agentContexts = [...wired.keys()].map((name) => ({ id: name, name, provider: name, index: "local" }));
  const world = await testEngine(context, { provider: first, otherProviders, agentContexts });
  const ofClient = { name: "look", parameters: { type: "object" } };
  wired.get("openai")?.lookNext("there");
  const waiting = await world.ask("go", { tools: [ofClient], agentContextId: "openai" });
  const { sessionId } = waiting;
  assert.ok(waiting.status === "awaiting_tool_results");
  const media = [
    { type: "binary" as const, content: png, name: "shot.png", mode: "inline" as const },
    { type: "binary" as const, content: pdf, name: "plan.pdf", mode: "inline" as const },
  ];
  const [{ callId = "" } = {}] = waiting.deferredCalls;
  const toolResults = [{ callId, output: "seen", isError: false, media }];
  await world.ask("", { sessionId, toolResults, agentContextId: "openai" });
  for (const name of ["anthropic", "google", "compatible"]) {
    await world.ask(`and ${name}`, { sessionId, agentContextId: name });
  }
  for (const [name, { fake }] of wired) {
    assert.deepEqual(
      fake.requests.map(({ refusal }) => refusal).filter((refusal) => refusal !== null),
      [],
    );
    const sent = fake.requests.at(-1)?.raw.toString() ?? "";
    assert.match(sent, formOfResult[name] ?? /$^/, name);
    assert.equal(sent.includes(png.toString("base64")), true, name);
    assert.equal(sent.includes(pdf.toString("base64")), name !== "compatible", name);
  }
  assert.equal((await world.engine.explain.verify(world.caller, sessionId)).fault, null);
});

/** The result with its text and its image, as each wire has it. */
const formOfResult: Record<string, RegExp> = {
  openai: /"output":\[\{"type":"input_text","text":"seen"\},\{"type":"input_image","detail":"auto","image_url":/,
  anthropic: /"type":"tool_result","tool_use_id":"[^"]+","content":\[\{"type":"text","text":"seen"\},\{"type":"image"/,
  google: /"response":\{"output":"seen"\},"parts":\[\{"inlineData":\{"mimeType":"image\/png"/,
  compatible: /"content":"seen[^"]*"\},\{"role":"user","content":\[\{"type":"text","text":"\[shot.png came with/,
};
