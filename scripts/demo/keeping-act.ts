/**
 * The fourth act: nothing that a session has is lost on the way. A long turn of tool calls costs the next one nothing
 * of its history. A turn that fails late keeps what it did. A client that was cut off finds its turn and its question again.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { editor } from "./editor.ts";
import { lateFailureScene } from "./late-failure-scene.ts";
import { reconnectScene } from "./reconnect-scene.ts";
import type { Server, Stage } from "./stage.ts";
import { chapter, claim, say, showRequest } from "./story.ts";

export async function keepingAct(stage: Stage, server: Server): Promise<void> {
  await longToolTurn(stage);
  await lateFailureScene(stage);
  await reconnectScene(stage, server);
}

const calls = 20;

/** A turn of twenty calls, and then an ordinary instruction: the model still has everything word for word. */
async function longToolTurn(stage: Stage): Promise<void> {
  chapter("Twenty tool calls in one turn, and the history stays whole");
  commitLedger(stage);
  const agent = await editor(stage);
  const { sessionId } = await agent.begin();
  const before = stage.fake.requests.length;
  stage.fake.next(...Array.from({ length: calls }, (_, n) => readCall(n)), "The ledger has 800 lines, all in order.");
  await agent.prompt(sessionId, "go through the ledger, line by line");
  const sizes = stage.fake.requests.slice(before).map(({ assembled }) => tokensIn(assembled));
  const sum = sizes.reduce((all, size) => all + size, 0);
  say(
    `${sizes.length} model calls; the last one was given about ${sizes.at(-1)?.toLocaleString("en")} tokens, all together ${sum.toLocaleString("en")}`,
  );
  claim("together they were given more than the whole window of 400000 tokens", sum > 400_000);
  stage.fake.next("In order, all 800 of them.");
  await agent.prompt(sessionId, "so is it in order?");
  const request = stage.fake.requests.at(-1);
  if (request !== undefined) showRequest(request);
  const seen = JSON.stringify(request?.assembled);
  claim("one request went out for the next instruction", stage.fake.requests.length === before + calls + 2);
  claim(
    "it continues the provider's memory, and no summary replaces the history",
    JSON.stringify(request?.body).includes('"previous_response_id"') && !seen.includes("SUMMARY OF THE CONVERSATION"),
  );
  claim("the model still has each result", seen.includes("entry 1:") && seen.includes("entry 799:"));
  await agent.leave();
}

/** The first two calls read the whole file, in two parts. The others look at single lines. */
function readCall(n: number): Parameters<Stage["fake"]["next"]>[0] {
  const part = n < 2 ? { offset: 1 + n * 400, limit: 400 } : { offset: 40 * n, limit: 1 };
  const args = JSON.stringify({ path: "ledger.txt", ...part });
  return { output: [{ type: "function_call", name: "read", arguments: args }] };
}

function commitLedger({ repo }: Stage): void {
  const lines = Array.from({ length: 800 }, (_, n) => `entry ${n}: ${"paid in full, ".repeat(7)}`);
  writeFileSync(join(repo, "ledger.txt"), `${lines.join("\n")}\n`);
  const author = ["-c", "user.name=demo", "-c", "user.email=demo@example.org"];
  execFileSync("git", ["add", "ledger.txt"], { cwd: repo });
  execFileSync("git", [...author, "commit", "-qm", "The ledger"], { cwd: repo });
}

function tokensIn(value: unknown): number {
  return Math.ceil(JSON.stringify(value ?? []).length / 4);
}
