/**
 * A world with subagents: models begin subagents, make them continue, and receive what they
 * found; the subagents work, hesitate, fail and break off (A1, A2).
 */
import { builtInModes } from "../../src/domain/context.ts";
import { scriptedProvider, type ScriptedAnswer, type ScriptedPart } from "../../src/providers/scripted/scripted.ts";
import type { ModelCall } from "../../src/providers/provider.ts";
import type { Gates } from "./gates.ts";
import type { Random } from "./random.ts";
import type { Cast } from "./world.ts";

export function mailCast(gates: Gates, random: Random): Cast {
  const chance = random.fork();
  const provider = scriptedProvider({
    name: "remembering",
    script: (call) => answerTo(call, gates, chance),
    isRecording: false,
  });
  const conversation = {
    id: "default",
    name: "Default",
    bootPrompt: "Be careful.",
    model: null,
    history: null,
    retrieval: "off" as const,
    toolResend: "always" as const,
    tools: [],
    modes: [...builtInModes],
    settings: {},
    subagents: true,
  };
  return { actors: [{ provider, forget: () => provider.forget() }], tools: [], conversations: [conversation] };
}

/** The instructions: `begin 2` begins two subagents, `tell <id>` makes one continue. Any other instruction is work. */
function answerTo({ items }: ModelCall, gates: Gates, random: Random): ScriptedAnswer {
  const last = items.at(-1);
  const wait = (): ScriptedPart => ({ waits: gates.wait(undefined) });
  const hesitates = random.chance(0.4) ? [wait()] : [];
  if (last?.type !== "user") return [...hesitates, { says: "that is begun" }];
  const [, word, rest = ""] = /\[INSTRUCTION\]\n(\w+) (\S*)/.exec(last.parts[0] ?? "") ?? [];
  if (word === "begin") {
    const calls = Array.from({ length: Number(rest) }, (_, at) => at + 1);
    return [...hesitates, ...calls.map((at) => ({ calls: "spawn_subagent", with: { instruction: `work at ${at}` } }))];
  }
  if (word === "tell") {
    return [...hesitates, { calls: "steer_subagent", with: { subagent_id: rest, message: "work on" } }];
  }
  return random.weighted<ScriptedPart[]>([
    [6, [...hesitates, { says: ["it ", "is ", "done"] }]],
    [2, [{ says: ["half ", gates.wait(undefined), "and whole"] }]],
    [1, [{ fails: "provider_refused_content" }]],
    [1, [...hesitates, { says: "half" }, { cuts: true }]],
  ]);
}
