/**
 * What the door for OpenAI's clients adds (O1, O5): the time of `/v1/responses` over that of `/api/ai/agent/execute`, on one engine in
 * this process without a socket, and what a chat of growing requests stores beside what the client sent.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAiMount } from "../src/compose/mounts/openai.ts";
import { createAptove } from "../src/compose.ts";
import { httpDoor } from "../src/doors/http/door.ts";
import { instantProvider, text400 } from "./instant-provider.ts";
import { inTurn, median, type BenchRow, type Rounds } from "./rows.ts";

const asksPerRound = 40;
const chatTurns = 1_000;

interface World {
  folder: string;
  /** Sends a JSON request and returns its answer. */
  post(path: string, body: object): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export async function benchOpenAi({ rounds }: Rounds): Promise<BenchRow[]> {
  return [...(await addedTime(rounds)), ...(await growingChat())];
}

async function open(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const overrides = { provider: "instant", conversation_contexts: { default: { retrieval: "off" } } };
  const aptove = await createAptove({ dataDir: folder, env: {}, overrides, providers: [instantProvider()] });
  const { engine, report } = aptove;
  const owner = await engine.keys.owner();
  const mount = openAiMount(aptove);
  const limits = { requestsPerMinuteMax: 1_000_000 };
  const door = httpDoor({ engine, report, limits, mounts: [mount], authenticate: async () => owner });
  const headers = { authorization: "Bearer aptove_bench", "content-type": "application/json" };
  return {
    folder,
    post: async (path, body) => {
      const request = new Request(`http://localhost${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      const response = await door.fetch(request);
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return (await response.json()) as Record<string, unknown>;
    },
    close: async () => {
      mount.close();
      await engine.close();
    },
  };
}

async function addedTime(rounds: number): Promise<BenchRow[]> {
  const world = await open();
  const times = { execute: [] as number[], responses: [] as number[] };
  const asks = {
    execute: () => world.post("/api/ai/agent/execute", { instruction: text400("question") }),
    responses: () => world.post("/v1/responses", { input: text400("question") }),
  };
  try {
    // The first round only warms up.
    for (let round = 0; round <= rounds; round += 1) {
      for (let n = 0; n < asksPerRound; n += 1) {
        for (const name of inTurn(["execute", "responses"] as const, n)) {
          const start = performance.now();
          await asks[name]();
          if (round > 0) times[name].push(performance.now() - start);
        }
      }
    }
  } finally {
    await world.close();
    rmSync(world.folder, { recursive: true, force: true });
  }
  const [execute, responses] = [median(times.execute), median(times.responses)];
  return [
    { name: "execute, median", value: execute, unit: "ms" },
    { name: "/v1/responses over execute", value: responses - execute, unit: "ms", limit: 0.5 },
  ];
}

async function growingChat(): Promise<BenchRow[]> {
  const world = await open();
  const messages: object[] = [];
  let sent = 0;
  try {
    for (let n = 1; n <= chatTurns; n += 1) {
      messages.push({ role: "user", content: text400(`question ${n}`) });
      const body = { model: "instant-1", messages };
      sent += JSON.stringify(body).length;
      const { choices } = (await world.post("/v1/chat/completions", body)) as {
        choices: { message: { content: string } }[];
      };
      messages.push({ role: "assistant", content: choices[0]?.message.content ?? "" });
    }
    await world.close();
    const stored = sizeOf(world.folder);
    const note = `the client sent ${(sent / 1e6).toFixed(0)} MB, of which the last request has ${(JSON.stringify(messages).length / 1e6).toFixed(1)}`;
    return [{ name: `chat of ${chatTurns} growing requests, stored`, value: stored / 1e6, unit: "MB", limit: 5, note }];
  } finally {
    rmSync(world.folder, { recursive: true, force: true });
  }
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
