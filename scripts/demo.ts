/**
 * `npm run demo`: shows the whole program in a terminal, within a minute, without a key or a network. A real server
 * process talks to a strict fake of the provider over HTTP, and each request that went out is shown. Ends with
 * 0 only if every step was as expected.
 */
import type { FakeRequest } from "../testing/fake-openai/fake-openai.ts";
import { keepingAct } from "./demo/keeping-act.ts";
import { placesAct } from "./demo/places-act.ts";
import { aptove, change, clear, serve, setStage, type Ran, type Server } from "./demo/stage.ts";
import { treeAct } from "./demo/tree-act.ts";
import { chapter, claim, command, end, plain, printed, say, showRequest } from "./demo/story.ts";

const startedAt = performance.now();
const stage = await setStage();
let server: Server | null = null;
try {
  await prepare();
  server = await serve(stage);
  say(`the server runs (pid ${server.pid}); every command below goes through it`);
  await firstTurn();
  await followUp();
  await changedFile();
  await forgottenChain();
  server = await killAndRecover(server);
  await explain();
  server = await treeAct(stage, server);
  await placesAct(stage, server);
  await keepingAct(stage, server);
} finally {
  await server?.stop();
  await stage.fake.close();
  await stage.anthropic.close();
  clear(stage);
}
process.exitCode = end((performance.now() - startedAt) / 1000);

async function prepare(): Promise<void> {
  chapter("A repository and its index");
  command("aptove index", await aptove(stage, ["index"]));
}

/** Sends an instruction, and shows the model's input and answer. */
async function ask(instruction: string, args: string[] = []): Promise<{ ran: Ran; requests: FakeRequest[] }> {
  const before = stage.fake.requests.length;
  const ran = await aptove(stage, ["ask", instruction, ...args]);
  command(["aptove ask", JSON.stringify(instruction), ...args].join(" "), ran);
  const requests = stage.fake.requests.slice(before);
  requests.forEach(showRequest);
  claim("the command ended well", ran.code === 0);
  return { ran, requests };
}

/** Returns the texts that one request sent as input. */
function sent(request: FakeRequest | undefined): string {
  return request === undefined ? "" : request.raw.toString();
}

async function firstTurn(): Promise<void> {
  chapter("The first turn: boot prompt, instruction, retrieved code");
  stage.fake.next("The discount is computed in src/discount.ts: ten per cent once the total is over 100.00.");
  const { ran, requests } = await ask("how is the discount computed?");
  claim(
    "one request went out, and nothing was continued",
    requests.length === 1 && !sent(requests[0]).includes("previous_response_id"),
  );
  claim("the boot prompt is its first input item", /"input":\[\{[^[]*"role":"system"/.test(sent(requests[0])));
  claim(
    "the code that answers the question was retrieved and sent",
    sent(requests[0]).includes("Path: src/discount.ts"),
  );
  claim("the answer came through", plain(ran.stdout).includes("ten per cent"));
}

async function followUp(): Promise<void> {
  chapter("A follow-up: only what is new");
  stage.fake.next("Exactly 100.00 gets no discount: the comparison is > and not >=.");
  const { requests } = await ask("and for exactly 100.00, how is the discount computed?", ["--continue"]);
  claim("it continues the provider's own memory", sent(requests[0]).includes('"previous_response_id":"resp_'));
  claim(
    "no boot prompt and no history were sent again",
    !sent(requests[0]).includes('"role":"system"') && !sent(requests[0]).includes('"role":"assistant"'),
  );
  claim("code that the model has already was not sent again", !sent(requests[0]).includes("Path: src/discount.ts"));
  claim("yet the model sees all of it", JSON.stringify(requests[0]?.assembled).includes("Path: src/discount.ts"));
}

async function changedFile(): Promise<void> {
  chapter("A changed file is sent, an unchanged one is not");
  change(stage, "src/discount.ts", ["total > 100_00", "total >= 100_00"]);
  say("src/discount.ts was edited: > became >=");
  stage.fake.next("Yes: with >= exactly 100.00 gets its ten per cent.");
  const first = await ask("I changed it. Right now?", ["--continue"]);
  claim(
    "the whole changed file was sent",
    sent(first.requests[0]).includes("=== FILE 1 ===") && sent(first.requests[0]).includes("total >= 100_00"),
  );
  stage.fake.next("Nothing else depends on it.");
  const second = await ask("does anything else depend on it?", ["--continue"]);
  claim("unchanged since, it was not sent again", !sent(second.requests[0]).includes("=== FILE"));
}

async function forgottenChain(): Promise<void> {
  chapter("The provider forgets everything");
  stage.fake.forget("all");
  say("every response id is gone, as after thirty days");
  stage.fake.next("You asked how the discount works, and changed > to >=.");
  const { ran, requests } = await ask("what have we done so far?", ["--continue"]);
  claim("the provider refused the id", requests[0]?.refusal?.body.error.code === "previous_response_not_found");
  claim(
    "the whole history was rebuilt from our own store",
    ["ten per cent once", "exactly 100.00", "total >= 100_00", "Nothing else depends"].every((text) =>
      sent(requests[1]).includes(text),
    ),
  );
  claim("and the command says so", plain(ran.stderr + ran.stdout).includes("chain_rebuilt"));
  stage.fake.next("Anything.");
  const next = await ask("what next?", ["--continue"]);
  claim(
    "from there it is a chain again",
    next.requests.length === 1 && sent(next.requests[0]).includes("previous_response_id"),
  );
}

async function killAndRecover(running: Server): Promise<Server> {
  chapter("kill -9 in the middle of an answer");
  const held = Promise.withResolvers<void>();
  const output = [
    { type: "message" as const, text: "This answer will be cut in the middle, because the server dies now." },
  ];
  stage.fake.next({ output, hold: { afterEvents: 9, until: held.promise } });
  const firstOutput = Promise.withResolvers<void>();
  const asking = aptove(stage, ["ask", "tell me more", "--continue"], {
    onStart: (child) => child.stdout?.once("data", () => firstOutput.resolve()),
  });
  await firstOutput.promise;
  await running.kill();
  held.resolve();
  const ran = await asking;
  command('aptove ask "tell me more" --continue', ran);
  say(`the server (pid ${running.pid}) was killed with -9`);
  claim("the command failed instead of hanging", ran.code !== 0);
  const next = await serve(stage);
  say(`a new server runs (pid ${next.pid})`);
  const log = await aptove(stage, ["session", "log"]);
  command("aptove session log", log);
  const lines = plain(log.stdout);
  claim("the finished turns are there", (lines.match(/completed/g) ?? []).length === 6);
  claim("the cut one is failed", /failed/.test(lines));
  const shown = await aptove(stage, ["session", "show", "--json"]);
  claim("with the code runner_lost", shown.stdout.includes("runner_lost"));
  stage.fake.next("Here we are again.");
  const { requests } = await ask("are you still there?", ["--continue"]);
  claim(
    "the session goes on from what the lost turn had done, and the model knows how it ended",
    requests.length === 1 && sent(requests[0]).includes("tell me more") && sent(requests[0]).includes("[NOTE]"),
  );
  return next;
}

async function explain(): Promise<void> {
  chapter("Every request can be read back, byte for byte");
  const ran = await aptove(stage, ["session", "show", "--turn", "5", "--request", "--step", "2"]);
  command("aptove session show --turn 5 --request --step 2");
  printed(`${ran.stdout.slice(0, 100)}… ${ran.stdout.length} bytes`);
  const original = stage.fake.requests.find(
    (request) => sent(request).includes("what have we done so far?") && request.refusal === null,
  );
  claim(
    "the rebuilt request of turn 5 is the one that was sent",
    original !== undefined && ran.stdout.trimEnd() === original.raw.toString(),
  );
}
