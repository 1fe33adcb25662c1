/**
 * A program that embeds aptove as a library, asked over standard input. Its model is on the wire of OpenAI if there is a
 * URL, `instant` (in this process, remembers), or `offline` (aptove's own).
 */
import type { Aptove, Tool } from "../../src/index.ts";
import { codePieces } from "../content.ts";
import { instantProvider, text400 } from "../instant-provider.ts";
import { serveLines } from "./line-server.ts";

const [library = "", dataDir = "", model = "offline"] = process.argv.slice(2);
const { createAptove } = (await import(library)) as { createAptove(options: object): Promise<Aptove> };

const isInstant = model === "instant";
const limits = { concurrent_runs_per_user_max: 1_000 };
/** The text of the conversation in bytes: instructions, answers, and the arguments and results of tools. */
let textBytes = 0;
const pieces = codePieces();

const readCode: Tool = {
  definition: {
    name: "read_code",
    description: "Reads the next part of the sources.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
  needsApproval: () => false,
  run: async (args) => {
    const output = pieces.next().value;
    textBytes += Buffer.byteLength(JSON.stringify(args) + output);
    return { output, isError: false };
  },
};

const { engine } = await createAptove({
  dataDir,
  env: model.startsWith("http")
    ? { OPENAI_API_KEY: "sk-bench-0123456789", OPENAI_BASE_URL: model, APTOVE_MODEL: "bench-1" }
    : {},
  overrides: { limits },
  ...(model.includes("/coding/") && { tools: [readCode] }),
  ...(isInstant && {
    providers: [instantProvider()],
    agentContexts: [{ id: "default", name: "Default", provider: "instant", index: "local" }],
  }),
});
const owner = await engine.keys.owner();

/** Runs one turn to its end. Returns its session. */
async function turn(session: string | undefined, instruction: string): Promise<string> {
  const running = await engine.turns.run(owner, { instruction, ...(session !== undefined && { sessionId: session }) });
  const finished = await running.finished;
  if (finished.status !== "completed") throw new Error(`a turn ended ${finished.status}`);
  textBytes += Buffer.byteLength(instruction + finished.answerSummary);
  return running.sessionId;
}

/** Runs turns of one session. Returns the session, and the milliseconds of each turn. */
async function converse(begun: string | undefined, turns: number) {
  const times: number[] = [];
  let session = begun;
  for (let number = 0; number < turns; number += 1) {
    const startedAt = performance.now();
    session = await turn(session, text400(`instruction ${number}`));
    times.push(performance.now() - startedAt);
  }
  return { session, times };
}

const many: (string | undefined)[] = [];

/** Continues many sessions side by side. Returns the time of all, in milliseconds. */
async function rate(sessions: number, turns: number): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: sessions }, async (_, place) => {
      many[place] = (await converse(many[place], turns)).session;
    }),
  );
  return performance.now() - startedAt;
}

await serveLines(async (ask) => {
  if (ask.do === "rate") return { ms: await rate(ask.sessions ?? 0, ask.turns ?? 0) };
  if (ask.do === "converse") return await converse(ask.session, ask.turns ?? 0);
  textBytes = 0;
  return { session: await turn(ask.session, ask.text ?? ""), textBytes };
});
await engine.close();
process.exit(0);
