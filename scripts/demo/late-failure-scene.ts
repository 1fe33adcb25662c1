/**
 * A scene of the fourth act: a turn writes files, runs a command, and its stream is cut in the last answer. The next
 * instruction continues from what it did, and an editor that loads the session shows it.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { editor } from "./editor.ts";
import { aptove, type Stage } from "./stage.ts";
import { chapter, claim, command, plain, say, showRequest } from "./story.ts";

export async function lateFailureScene(stage: Stage): Promise<void> {
  chapter("The stream is cut late in a turn, and what the turn did is not forgotten");
  const agent = await editor(stage);
  const { sessionId } = await agent.begin();
  const partial = "Both files are written, and now I describe what is in them.";
  stage.fake.next(
    call("write", { path: "rules/gold.md", content: "Fifteen per cent for gold.\n" }),
    call("write", { path: "rules/silver.md", content: "Twelve per cent for silver.\n" }),
    call("run", { command: "ls rules" }),
    { output: [{ type: "message", text: partial }], cut: { afterEvents: 8, how: "end" } },
  );
  const prompted = agent.prompt(sessionId, "write down the rules of gold and silver");
  const failure = await prompted.then(() => "nothing", messageOf);
  say(`the provider ended the stream in the middle of the last answer; the editor shows: ${failure}`);
  claim(
    "the files are there",
    ["gold", "silver"].every((name) => existsSync(join(stage.repo, "rules", `${name}.md`))),
  );
  const log = await aptove(stage, ["session", "log", sessionId]);
  command(`aptove session log ${sessionId.slice(-8)}`, log);
  claim("the turn failed and is the head of the session", /failed/.test(plain(log.stdout)));
  stage.fake.next("Gold has fifteen per cent, silver twelve.");
  await agent.prompt(sessionId, "what did you write?");
  const request = stage.fake.requests.at(-1);
  if (request !== undefined) showRequest(request);
  const seen = JSON.stringify(request?.assembled);
  claim(
    "the next instruction goes out with both calls, the command's output and the text so far",
    ["Fifteen per cent", "Twelve per cent", "gold.md\\nsilver.md", "Both files"].every((part) => seen.includes(part)),
  );
  claim("and with a note that says how the turn before it ended", seen.includes("[NOTE]"));
  await agent.leave();
  await loadAgain(stage, sessionId);
}

async function loadAgain(stage: Stage, sessionId: string): Promise<void> {
  const again = await editor(stage);
  await again.load(sessionId);
  const shown = JSON.stringify(again.updates(sessionId));
  claim(
    "an editor that loads the session shows the calls of the failed turn",
    shown.includes("rules/gold.md") && shown.includes("rules/silver.md"),
  );
  await again.leave();
}

function call(name: string, args: Record<string, unknown>): Parameters<Stage["fake"]["next"]>[0] {
  return { output: [{ type: "function_call", name, arguments: JSON.stringify(args) }] };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
