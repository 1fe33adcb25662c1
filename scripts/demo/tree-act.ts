/**
 * The second act: what makes a session more than a log. It is a tree that branches for nothing, waits over a
 * restart, continues with another provider, is stopped without harm, and detects a later change.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { ExecuteAnswer, ExecuteRequest } from "../../src/client/client.ts";
import { change, repoName, serve, type Server, type Stage } from "./stage.ts";
import { chapter, claim, say, showRequest } from "./story.ts";

interface Act {
  stage: Stage;
  server: Server;
  sessionId: string;
  turnIds: string[];
}

/** Returns the server that runs at the end. */
export async function treeAct(stage: Stage, server: Server): Promise<Server> {
  const act: Act = { stage, server, sessionId: "", turnIds: [] };
  await fork(act);
  await rerunAndDiff(act);
  await waitOverRestart(act);
  await switchProviders(act);
  await interruptMidCall(act);
  await verify(act);
  return act.server;
}

async function run(
  { stage, server }: Act,
  request: ExecuteRequest,
  answer?: Parameters<Stage["fake"]["next"]>[0],
): Promise<ExecuteAnswer> {
  if (answer !== undefined) stage.fake.next(answer);
  return await server.client.execute({ repo: repoName, ...request });
}

function lastRequest({ stage }: Act): string {
  return stage.fake.requests.at(-1)?.raw.toString() ?? "";
}

async function fork(act: Act): Promise<void> {
  chapter("Ten turns, and a fork at the third");
  const { stage, server } = act;
  for (let n = 1; n <= 10; n += 1) {
    const continued = act.sessionId === "" ? {} : { sessionId: act.sessionId };
    const answer = await run(act, { instruction: `step ${n} of the plan`, ...continued }, `done with step ${n}`);
    act.sessionId = answer.sessionId ?? "";
    act.turnIds.push(answer.turnId ?? "");
  }
  const third = act.turnIds[2] ?? "";
  say(`session ${act.sessionId} has ten turns; a new one begins below the third`);
  const forked = await run(
    act,
    { instruction: "what if we did it the other way?", fork: { turnId: third } },
    "then step 4 would be another",
  );
  const request = stage.fake.requests.at(-1);
  if (request !== undefined) showRequest(request);
  const seen = JSON.stringify(request?.assembled);
  claim("the fork is a session of its own", forked.sessionId !== act.sessionId);
  claim("it has the first three turns and not the fourth", seen.includes("step 3 of") && !seen.includes("step 4 of"));
  const turn = await server.client.turns.get(forked.turnId ?? "");
  claim(
    "nothing was copied: its first turn's parent is the third turn",
    turn.parentId === third && turn.sequence === 1,
  );
}

async function rerunAndDiff(act: Act): Promise<void> {
  chapter("A rerun with a changed file, and why the answer changed");
  const { server, stage } = act;
  const file = (text: string) => ({ path: "src/discount.ts", content: text, isTouched: true });
  const path = join(stage.repo, "src/discount.ts");
  const first = await run(
    act,
    {
      instruction: "is the discount right?",
      sessionId: act.sessionId,
      activeFiles: [file(readFileSync(path, "utf8"))],
    },
    "yes: ten per cent from 100.00 on",
  );
  change(stage, "src/discount.ts", ["total / 10", "total / 5"]);
  const again = await run(
    act,
    { rerun: { turnId: first.turnId ?? "" }, activeFiles: [file(readFileSync(path, "utf8"))] },
    "no: it is twenty per cent now",
  );
  const diff = await server.client.turns.diff(first.turnId ?? "", again.turnId ?? "");
  for (const { path: changed, hashA, hashB } of diff.files)
    say(`${changed}: ${hashA?.slice(0, 8)} became ${hashB?.slice(0, 8)}`);
  say(`"${diff.a.answer}" became "${diff.b.answer}"`);
  claim(
    "the old turn stays, the new one is the head beside it",
    (await server.client.sessions.get(act.sessionId)).headTurnId === again.turnId,
  );
  claim(
    "the diff names the file that changed, and nothing else",
    diff.files.length === 1 && diff.same.prompt && diff.same.tools && diff.same.model,
  );
  claim("and the history that both share", diff.history.commonTurns === 10);
}

async function waitOverRestart(act: Act): Promise<void> {
  chapter("A tool of the client's waits, over a kill -9");
  const tools = [{ name: "run_tests", description: "Runs the tests.", parameters: { type: "object", properties: {} } }];
  const call = { output: [{ type: "function_call" as const, name: "run_tests", arguments: "{}" }] };
  const parked = await run(act, { instruction: "do the tests pass?", sessionId: act.sessionId, tools }, call);
  claim("the turn waits for the result", parked.kind === "tool_calls" && parked.toolCalls.length === 1);
  const { stage, server } = act;
  await server.kill();
  act.server = await serve(stage);
  say(`the server was killed and started again (pid ${act.server.pid})`);
  const toolResults = [{ callId: parked.toolCalls[0]?.callId ?? "", output: "12 passed" }];
  const done = await run(act, { sessionId: act.sessionId, tools, toolResults }, "All twelve pass.");
  claim("the result is taken, and the model answers", done.kind === "answer" && done.text === "All twelve pass.");
  claim("it went out as the result of that call", lastRequest(act).includes("function_call_output"));
}

async function switchProviders(act: Act): Promise<void> {
  chapter("From OpenAI to Anthropic and back");
  const { stage } = act;
  stage.anthropic.next("Claude here: I have read it all.");
  const other = await run(act, {
    instruction: "and what do you say?",
    sessionId: act.sessionId,
    agentContextId: "claude",
  });
  const sent = stage.anthropic.requests.at(-1)?.raw.toString() ?? "";
  say(`→ POST /v1/messages  ${sent.length} bytes`);
  claim(
    "Anthropic got the whole history, tool call and result too",
    ["step 1 of", "done with step 10", "run_tests", "12 passed"].every((text) => sent.includes(text)),
  );
  claim("and answered", other.text === "Claude here: I have read it all.");
  const back = await run(
    act,
    { instruction: "back to you", sessionId: act.sessionId, agentContextId: "default" },
    "I see the answer.",
  );
  claim(
    "OpenAI got it all back, the other's answer too",
    ["step 1 of", "Claude here"].every((text) => lastRequest(act).includes(text)),
  );
  claim(
    "and a warning reports the rebuild",
    back.warnings.some(({ code }) => code === "chain_rebuilt"),
  );
}

async function interruptMidCall(act: Act): Promise<void> {
  chapter("An interrupt while the model writes a tool call");
  const { stage } = act;
  const { client } = act.server;
  const tools = [{ name: "deploy", description: "Deploys.", parameters: { type: "object", properties: {} } }];
  const never = new Promise<void>(() => {});
  const output = [
    { type: "message" as const, text: "I will deploy it." },
    { type: "function_call" as const, name: "deploy", arguments: '{"to": "production", "now": true}' },
  ];
  stage.fake.next({ output, hold: { afterEvents: 16, until: never } });
  const running = client.execute(
    { instruction: "deploy it", sessionId: act.sessionId, tools },
    { onEvent: ({ event }) => void (event.type === "TOOL_CALL_START" && client.sessions.interrupt(act.sessionId)) },
  );
  const stopped = await running;
  claim(
    "the turn is kept with its partial answer",
    stopped.stopReason === "interrupted" && stopped.text === "I will deploy it.",
  );
  const next = await run(act, { instruction: "better not", sessionId: act.sessionId }, "Good, I did not.");
  claim(
    "no call hangs in the history, and the session goes on",
    next.kind === "answer" && !/"type":"function_call"[^}]*"deploy"/.test(lastRequest(act)),
  );
}

async function verify(act: Act): Promise<void> {
  chapter("Another person changes a byte");
  const { client } = act.server;
  const whole = await client.sessions.verify(act.sessionId);
  claim(`all ${whole.turnsChecked} turns hold`, whole.fault === null);
  const seventh = act.turnIds[6] ?? "";
  const database = new Database(join(act.stage.dataDir, "records.db"));
  const ofTurn = "id = (select content_id from turns where id = ?)";
  const bytes = database.prepare<[string], Buffer>(`select blobs from contents where ${ofTurn}`).pluck().get(seventh);
  const write = database.prepare(`update contents set blobs = ? where ${ofTurn}`);
  const flipped = Buffer.from(bytes ?? []);
  flipped[40] = (flipped[40] ?? 0) ^ 1;
  write.run(flipped, seventh);
  say("one bit of what records.db has of the seventh turn was flipped");
  const broken = await client.sessions.verify(act.sessionId);
  say(broken.fault === null ? "nothing was found" : `turn ${broken.fault.sequence}: ${broken.fault.reason}`);
  claim("verify names the first turn that does not hold", broken.fault?.turnId === seventh);
  write.run(bytes, seventh);
  database.close();
}
