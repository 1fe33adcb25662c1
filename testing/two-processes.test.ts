/**
 * Several real processes on one workspace. `APTOVE_ROUNDS=20 npx node --test testing/two-processes.test.ts` does more of the
 * same (up to 24: transcripts of 50 sessions are kept), `APTOVE_SEED=7` the same in another way.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createAptove } from "../src/compose.ts";
import { parseTranscript } from "../src/workspace/transcript/format.ts";
import type { FakeOpenAI } from "./fake-openai/fake-openai.ts";
import { program, type AcpProcess, type Program } from "./program.ts";
import { seededRandom, type Random } from "./simulation/random.ts";

const rounds = Number(process.env["APTOVE_ROUNDS"] ?? 2);
const seed = Number(process.env["APTOVE_SEED"] ?? 1);
const timeout = 30_000 + rounds * 15_000;

const laptop = { _meta: { "aptove.dev/deviceId": "laptop" } };

/** A prompt that was answered. Nothing of it may be lost. */
interface Answered {
  sessionId: string;
  turnId: string;
  instruction: string;
}

const answerTo = (instruction: string): string => `the answer to ${instruction}`;

/** Returns an answer that repeats the instruction in a few pieces, so that a process can die in the middle. */
function answerAll(model: FakeOpenAI): void {
  model.eventDelayMs = 1;
  model.answer((assembled) => {
    const asked = JSON.stringify(assembled.findLast((item) => "role" in item && item.role === "user"));
    return answerTo(/\[INSTRUCTION\]\\n([^"\\]*)/.exec(asked)?.[1] ?? assert.fail(asked));
  });
}

test(
  `[T5] [W2] [W4] [B4] two processes, killed again and again, lose no turn, no binding and no line of a transcript (${rounds} rounds)`,
  { timeout },
  async (t) => {
    const world = await program(t);
    answerAll(world.model);
    const first = await world.acp();
    const { sessionId: shared, _meta } = await first.begin(laptop);
    const workspaceId = String(_meta?.["aptove.dev/workspaceId"]);
    await first.prompt(shared, "begin");
    assert.equal(await first.leave(), 0);
    const workers = ["one", "two"].map(
      (name, n) => new Worker(world, { name, shared, random: seededRandom(seed * 2 + n) }),
    );
    await Promise.all(workers.map((worker) => worker.work()));
    const answered = workers.flatMap((worker) => worker.answered);
    const sessions = new Set([shared, ...workers.flatMap((worker) => worker.sessions)]);

    // Turns that a crash kept out of a file are written with the next turn of their session.
    const last = await world.acp();
    for (const sessionId of sessions) {
      await last.load(sessionId);
      const { _meta: meta } = await last.prompt(sessionId, "and last");
      answered.push({ sessionId, turnId: String(meta?.["aptove.dev/turnId"]), instruction: "and last" });
    }
    assert.equal(await last.leave(), 0);

    const stored = await storedConversations(world, answered);
    const folder = join(world.dataDir, "workspaces", workspaceId);
    for (const sessionId of sessions) assert.deepEqual(transcriptOf(folder, sessionId), stored.get(sessionId));
    assert.deepEqual(readdirSync(join(world.dataDir, "workspaces")), [workspaceId]);
    assert.match(readFileSync(join(world.dataDir, "bindings.toml"), "utf8"), new RegExp(`laptop"? = "${workspaceId}"`));
    assert.ok(answered.length >= sessions.size + workers.length, `${answered.length} answers are too few to tell`);
  },
);

/** Runs one of the two agents: it is started, prompted in two sessions at once, and killed at any point, again and again. */
class Worker {
  readonly answered: Answered[] = [];
  readonly sessions: string[] = [];
  readonly #world: Program;
  readonly #given: { name: string; shared: string; random: Random };

  constructor(world: Program, given: { name: string; shared: string; random: Random }) {
    this.#world = world;
    this.#given = given;
  }

  async work(): Promise<void> {
    for (let round = 1; round <= rounds; round += 1) {
      const agent = await this.#world.acp();
      await this.#live(agent, round);
      await agent.kill();
      assert.deepEqual(agent.faults, []);
    }
  }

  async #live(agent: AcpProcess, round: number): Promise<void> {
    const { name, shared, random } = this.#given;
    const [{ sessionId: own }] = await Promise.all([agent.begin(laptop), agent.load(shared)]);
    this.sessions.push(own);
    for (let n = 1; n <= 2; n += 1) {
      const prompts = [own, shared].map((sessionId) => this.#ask(agent, sessionId, `${name} ${round}.${n}`));
      const dies = n === 2 && (await this.#somewhere(agent, { own, prompts, random }));
      if (dies) await agent.kill();
      await Promise.all(prompts);
    }
  }

  /** Waits for a random point of two prompts. False: the agent is not killed there, and both are answered. */
  async #somewhere(
    agent: AcpProcess,
    { own, prompts, random }: { own: string; prompts: Promise<void>[]; random: Random },
  ): Promise<boolean> {
    const messages = agent.sent.length + random.below(12);
    const isFurther = (): boolean => agent.sent.length >= messages;
    const speaks = (): boolean => agent.text(own).endsWith("the answer to");
    return await random.weighted<() => Promise<boolean>>([
      [1, async () => false],
      [4, () => Promise.race([agent.until(isFurther), Promise.all(prompts)]).then(() => true)],
      [2, () => Promise.race([agent.until(speaks), Promise.all(prompts)]).then(() => true)],
      [2, () => Promise.race(prompts).then(() => true)],
    ])();
  }

  async #ask(agent: AcpProcess, sessionId: string, instruction: string): Promise<void> {
    try {
      const { stopReason, _meta } = await agent.agent.request("session/prompt", {
        sessionId,
        prompt: [{ type: "text", text: instruction }],
        // Not a message to the turn of the other process, which was perhaps running when this one loaded the session.
        _meta: { "aptove.dev/ifBusy": "queue" },
      });
      assert.equal(stopReason, "end_turn");
      this.answered.push({ sessionId, turnId: String(_meta?.["aptove.dev/turnId"]), instruction });
    } catch (error) {
      // A dead process answers nothing.
      if (!/connection closed/i.test(String(error))) throw error;
    }
  }
}

/** Checks that every answer is stored, in the conversation from which its session continues. Returns the conversations by session. */
async function storedConversations(
  { dataDir }: Program,
  answered: readonly Answered[],
): Promise<Map<string, string[]>> {
  const { engine } = await createAptove({ dataDir, env: {} });
  try {
    const owner = await engine.keys.owner();
    const conversations = new Map<string, string[]>();
    const turnIds = new Map<string, string[]>();
    for (const sessionId of new Set(answered.map((each) => each.sessionId))) {
      const { headTurnId } = await engine.sessions.get(owner, sessionId);
      const turns = await engine.turns.lineage(owner, headTurnId ?? assert.fail());
      const lines: string[] = [];
      for (const { id } of turns) {
        const reader = await engine.turns.read(owner, id);
        lines.push(`user: ${await reader.instruction()}`, `assistant: ${await reader.answer()}`);
      }
      conversations.set(sessionId, lines);
      turnIds.set(
        sessionId,
        turns.map(({ id }) => id),
      );
      assert.equal((await engine.explain.verify(owner, sessionId)).fault, null);
    }
    for (const { sessionId, turnId, instruction } of answered) {
      const at = turnIds.get(sessionId)?.indexOf(turnId) ?? -1;
      assert.notEqual(at, -1, `the turn of "${instruction}" is not in its session any more`);
      const stored = conversations.get(sessionId)?.slice(at * 2, at * 2 + 2);
      assert.deepEqual(stored, [`user: ${instruction}`, `assistant: ${answerTo(instruction)}`]);
    }
    return conversations;
  } finally {
    await engine.close();
  }
}

function transcriptOf(folder: string, sessionId: string): string[] {
  const current = readFileSync(join(folder, "session.md"));
  const isCurrent = current.includes(`session: ${sessionId}`);
  const parsed = parseTranscript(isCurrent ? current : readFileSync(join(folder, "sessions", `${sessionId}.md`)));
  assert.ok(parsed.kind === "transcript");
  const lines: string[] = [];
  for (const { role, text } of parsed.messages) {
    if (role !== "system") lines.push(`${role}: ${text}`);
    // A turn that was lost with its process before the model answered has an end (W4), and no turn continues it.
    else if (lines.at(-1)?.startsWith("user: ") === true) lines.pop();
  }
  return lines;
}

test("[W2] [B4] first connections of devices from two processes at once give one workspace each", async (t) => {
  const world = await program(t);
  const agents = await Promise.all([world.acp(), world.acp()]);
  const devices = ["phone", "tablet", "laptop"];
  const workspaces = await Promise.all(
    devices.flatMap((device) =>
      agents.map(async (agent) => {
        const { _meta } = await agent.begin({ _meta: { "aptove.dev/deviceId": device } });
        return `${device}: ${String(_meta?.["aptove.dev/workspaceId"])}`;
      }),
    ),
  );
  assert.equal(new Set(workspaces).size, devices.length, workspaces.join("\n"));
  assert.equal(readdirSync(join(world.dataDir, "workspaces")).length, devices.length);
});
