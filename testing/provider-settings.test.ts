/** What becomes of the settings on the wire of each provider (G3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelSettings } from "../src/domain/context.ts";
import { anthropicProvider } from "../src/providers/anthropic/anthropic.ts";
import { compatibleProvider } from "../src/providers/compatible/compatible.ts";
import { googleProvider } from "../src/providers/google/google.ts";
import { openaiProvider } from "../src/providers/openai/openai.ts";
import type { PreparedRequest, Provider } from "../src/providers/provider.ts";
import { testEngine } from "./engine.ts";

const providers: Record<string, Provider> = {
  openai: openaiProvider({ apiKey: "sk-1", model: "gpt-5.1" }),
  anthropic: anthropicProvider({ apiKey: "sk-2", model: "claude-sonnet-5" }),
  google: googleProvider({ apiKey: "key-3", model: "gemini-3-flash" }),
  compatible: compatibleProvider({ name: "local", baseUrl: "http://127.0.0.1:1/v1", model: "qwen3:8b" }),
};

function prepared(name: string, model: string, settings: ModelSettings): PreparedRequest {
  const choice = { tools: [], toolChoice: null, allowedTools: null, previousResponseId: null };
  const call = {
    model,
    prompt: null,
    items: [{ type: "user" as const, parts: ["a"] }],
    store: false,
    settings,
    ...choice,
  };
  return providers[name]?.prepare(call) ?? assert.fail(name);
}

const all: ModelSettings = { temperature: 0.2, maxOutputTokens: 500, reasoningEffort: "minimal", verbosity: "low" };

/** What the request of each model has, and the settings that its warning names. */
const cases: [provider: string, model: string, sent: RegExp[], adjusted: string[]][] = [
  ["openai", "gpt-5-mini", [/"effort":"minimal"/, /"verbosity":"low"/], ["temperature"]],
  ["openai", "gpt-5.1", [/"effort":"low"/, /"verbosity":"low"/], ["temperature", "reasoning effort"]],
  ["openai", "o4-mini", [/"effort":"low"/], ["temperature", "verbosity", "reasoning effort"]],
  ["openai", "gpt-4.1", [/"temperature":0.2/, /"max_output_tokens":500/], ["reasoning effort", "verbosity"]],
  [
    "anthropic",
    "claude-sonnet-5",
    [/"effort":"low"/, /"max_tokens":500/],
    ["temperature", "verbosity", "reasoning effort"],
  ],
  ["google", "gemini-3-flash", [/"temperature":0.2/, /"MINIMAL"/, /"maxOutputTokens":500/], ["verbosity"]],
  ["google", "gemini-3-pro", [/"temperature":0.2/, /"LOW"/], ["verbosity", "reasoning effort"]],
  ["google", "gemini-2.0-flash", [/"temperature":0.2/], ["verbosity", "reasoning effort"]],
  ["compatible", "qwen3:8b", [/"temperature":0.2/, /"max_tokens":500/, /"low"/], ["verbosity", "reasoning effort"]],
];

test("[G3] each setting is sent in the words of its provider, or named as one that the model does not take", () => {
  const words = ["temperature", "output limit", "reasoning effort", "verbosity"];
  for (const [provider, model, sent, expected] of cases) {
    const { body, adjusted = [] } = prepared(provider, model, all);
    for (const pattern of sent) assert.match(body, pattern, model);
    const named = words.filter((word) => adjusted.some((text) => text.includes(word)));
    assert.deepEqual(
      named,
      words.filter((word) => expected.includes(word)),
      `${model}: ${adjusted.join("; ")}`,
    );
    assert.equal(prepared(provider, model, {}).adjusted, undefined, model);
  }
  assert.match(prepared("openai", "gpt-5.1", { temperature: 0.2 }).body, /"temperature":0.2/);
  assert.match(
    prepared("openai", "gpt-5.1", { maxOutputTokens: 1 }).adjusted?.join() ?? "",
    /output limit of 1, so 16/,
  );
  assert.match(prepared("openai", "house-model", all).body, /"temperature":0.2.*"effort":"minimal".*"verbosity":"low"/);
});

/** What is sent for an effort of none, or for a summary, and the notes about it. */
const reasoningCases: [
  provider: string,
  model: string,
  settings: ModelSettings,
  sent: object | null,
  notes: RegExp[],
][] = [
  ["openai", "gpt-5.1", { reasoningEffort: "none" }, { effort: "none" }, []],
  ["openai", "gpt-6.2-sol", { reasoningEffort: "none" }, { effort: "none" }, []],
  ["openai", "gpt-5-mini", { reasoningEffort: "none" }, { effort: "minimal" }, [/of none, so minimal/]],
  ["openai", "o4-mini", { reasoningEffort: "none" }, { effort: "low" }, [/of none, so low/]],
  ["openai", "gpt-5.2-codex", { reasoningEffort: "none" }, { effort: "low" }, [/of none, so low/]],
  ["openai", "gpt-4.1", { reasoningEffort: "none" }, null, []],
  ["openai", "gpt-5.1", { reasoningSummary: "detailed" }, { summary: "detailed" }, []],
  [
    "openai",
    "gpt-5.1",
    { reasoningEffort: "high", reasoningSummary: "concise" },
    { effort: "high", summary: "concise" },
    [],
  ],
  ["openai", "o4-mini", { reasoningSummary: "concise" }, { summary: "auto" }, [/of concise, so auto/]],
  ["openai", "gpt-4.1", { reasoningSummary: "auto" }, null, [/takes no reasoning summary, so/]],
  ["anthropic", "claude-sonnet-5", { reasoningEffort: "none" }, { thinking: "disabled" }, []],
  ["anthropic", "claude-haiku-5-5", { reasoningEffort: "none" }, { thinking: "disabled" }, []],
  ["anthropic", "claude-opus-4-8", { reasoningEffort: "none" }, {}, []],
  ["anthropic", "claude-haiku-4-5", { reasoningEffort: "none" }, {}, []],
  [
    "anthropic",
    "claude-opus-5-5",
    { reasoningEffort: "none", reasoningSummary: "detailed" },
    { thinking: "adaptive", effort: "low" },
    [/of none, so low/, /of detailed, so auto/],
  ],
  ["anthropic", "claude-fable-5", { reasoningEffort: "none" }, { thinking: "adaptive", effort: "low" }, [/so low/]],
  ["anthropic", "claude-sonnet-5", { reasoningSummary: "auto" }, { thinking: "adaptive" }, []],
  ["anthropic", "claude-sonnet-5", { reasoningSummary: "detailed" }, { thinking: "adaptive" }, [/detailed, so auto/]],
  ["anthropic", "claude-opus-4-8", { reasoningSummary: "detailed" }, {}, [/takes no reasoning summary, so/]],
  ["google", "gemini-2.5-flash", { reasoningEffort: "none" }, { thinkingBudget: 0 }, []],
  [
    "google",
    "gemini-2.5-pro",
    { reasoningEffort: "none" },
    { includeThoughts: true, thinkingBudget: 1_024 },
    [/of none, so minimal/],
  ],
  [
    "google",
    "gemini-3-flash",
    { reasoningEffort: "none" },
    { includeThoughts: true, thinkingLevel: "MINIMAL" },
    [/of none, so minimal/],
  ],
  [
    "google",
    "gemini-3-pro",
    { reasoningEffort: "none", reasoningSummary: "detailed" },
    { includeThoughts: true, thinkingLevel: "LOW" },
    [/of none, so low/, /of detailed, so auto/],
  ],
  ["google", "gemini-2.0-flash", { reasoningEffort: "none" }, null, []],
  ["google", "gemini-3-flash", { reasoningSummary: "auto" }, { includeThoughts: true }, []],
  ["google", "gemini-3-flash", { reasoningSummary: "concise" }, { includeThoughts: true }, [/of concise, so auto/]],
  ["compatible", "qwen3:8b", { reasoningEffort: "none" }, { effort: "none" }, []],
  ["compatible", "qwen3:8b", { reasoningSummary: "auto" }, {}, []],
  ["compatible", "qwen3:8b", { reasoningSummary: "detailed" }, {}, [/takes no reasoning summary, so/]],
];

interface SentReasoning {
  reasoning?: object;
  reasoning_effort?: string;
  thinking?: { type: string };
  output_config?: { effort?: string };
  generationConfig?: { thinkingConfig?: object };
}

function reasoningOf(provider: string, body: string): object | null {
  const sent = JSON.parse(body) as SentReasoning;
  if (provider === "openai") return sent.reasoning ?? null;
  if (provider === "google") return sent.generationConfig?.thinkingConfig ?? null;
  const effort = sent.output_config?.effort ?? sent.reasoning_effort;
  return {
    ...(sent.thinking !== undefined && { thinking: sent.thinking.type }),
    ...(effort !== undefined && { effort }),
  };
}

test("[G3] no effort and a summary of the reasoning are asked of each model that has them, or the nearest, with a note", () => {
  for (const [provider, model, settings, sent, notes] of reasoningCases) {
    const { body, adjusted = [] } = prepared(provider, model, settings);
    const label = `${model} ${JSON.stringify(settings)}: ${adjusted.join("; ")}`;
    assert.deepEqual(reasoningOf(provider, body), sent, label);
    assert.equal(adjusted.length, notes.length, label);
    for (const [index, note] of notes.entries()) assert.match(adjusted[index] ?? "", note, label);
  }
  const calm = prepared("openai", "gpt-5.1", { reasoningEffort: "none", temperature: 0.2 });
  assert.match(calm.body, /"temperature":0.2/);
});

test("[G3] a turn has a warning about the settings that its model does not take, once", async (t) => {
  const provider = providers["anthropic"] ?? assert.fail();
  const dead = { ...provider, send: async function* () {} };
  const { ask } = await testEngine(t, { provider: dead });
  const turn = await ask("hello", { settings: { temperature: 1, verbosity: "low" } });
  assert.deepEqual(
    turn.warnings.filter(({ code }) => code === "setting_adjusted").map(({ message }) => message),
    [
      "claude-sonnet-5 takes no temperature, so it was not sent; claude-sonnet-5 takes no verbosity, so it was not sent",
    ],
  );
});
