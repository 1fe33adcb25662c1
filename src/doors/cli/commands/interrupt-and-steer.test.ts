import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import type { WireTurn } from "../../../client/client.ts";
import { scriptedProvider, type Script } from "../../../providers/scripted/scripted.ts";

/** A model that does what the test says, in the place of the offline one. */
async function scripted(t: TestContext, script: Script): Promise<CliWorld> {
  const world = await cliWorld(t, { providers: [scriptedProvider({ name: "offline", script })] });
  await world.run(["index"]);
  return world;
}

/** A model whose first answer of the named turn is held until the test lets it go. */
function held(word: string): { script: Script; begun: Promise<void>; release: () => void } {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const script: Script = (call) => {
    const text = JSON.stringify(call.items.at(-1));
    if (!text.includes(word)) return `received ${text.includes("aside") ? "the aside" : "something else"}`;
    begun.resolve();
    return [{ says: [`${word} begins`, gate.promise, ` ${word} ends`] }];
  };
  return { script, begun: begun.promise, release: () => gate.resolve() };
}

async function turns(world: CliWorld): Promise<WireTurn[]> {
  const { stdout } = await world.run(["session", "log", "--json"]);
  return (JSON.parse(stdout) as { turns: WireTurn[] }).turns.toReversed();
}

test("[T5] [L1] a busy session refuses, and names the ways; --queue waits for the running turn", async (t) => {
  const slow = held("slowly");
  const world = await scripted(t, slow.script);
  await world.run(["ask", "first"]);
  const running = world.start(["ask", "-c", "slowly"]);
  await slow.begun;
  const refused = await world.run(["ask", "-c", "meanwhile"]);
  assert.equal(refused.exit, 1);
  assert.match(refused.stderr, /\(session_busy\)\nfix: .*--queue, --interrupt or --steer/);
  const queued = world.start(["ask", "-c", "--queue", "afterwards"]);
  slow.release();
  assert.equal((await running.finished).stdout, "slowly begins slowly ends\n");
  assert.equal((await queued.finished).exit, 0);
  assert.deepEqual(
    (await turns(world)).map(({ instructionSummary }) => instructionSummary),
    ["first", "slowly", "afterwards"],
  );
});

test("[T5] [T10] [L1] ask --interrupt stops the running turn first, which keeps its output", async (t) => {
  const slow = held("slowly");
  const world = await scripted(t, slow.script);
  t.after(slow.release);
  await world.run(["ask", "first"]);
  const running = world.start(["ask", "-c", "slowly"]);
  await running.saw("slowly begins");
  const next = await world.run(["ask", "-c", "--interrupt", "instead"]);
  assert.equal(next.exit, 0, next.stderr);
  const cut = await running.finished;
  assert.deepEqual([cut.exit, cut.stdout], [130, "slowly begins\n"]);
  const [, stopped, last] = await turns(world);
  assert.deepEqual([stopped?.stopReason, last?.instructionSummary], ["interrupted", "instead"]);
  assert.match((await world.run(["session", "log"])).stdout, /^ +2 +[0-9a-f]{8} +interrupted .* slowly$/m);
});

test("[T5] [V4] [R3] [L1] ask --steer sends a message to the running turn of another process, and prints its answer", async (t) => {
  const slow = held("slowly");
  const world = await scripted(t, slow.script);
  await world.run(["ask", "first"]);
  const running = world.start(["ask", "-c", "slowly"]);
  await slow.begun;
  const steering = world.start(["ask", "-c", "--steer", "an aside", "--events"]);
  // The turn sends events only after it was steered.
  await steering.saw("RUN_STARTED");
  slow.release();
  const [ran, steered] = [await running.finished, await steering.finished];
  assert.match(ran.stdout, /slowly ends\n\nreceived the aside\n$/);
  assert.match(ran.stderr, /^steered: an aside$/m);
  const last = JSON.parse(steered.stdout.trimEnd().split("\n").at(-1) ?? "") as { type: string; runId: string };
  assert.deepEqual([last.type, last.runId], ["RUN_FINISHED", (await turns(world))[1]?.id]);
});

test("[V4] [L1] session steer and session interrupt reach the running turn; without one they say so", async (t) => {
  const slow = held("slowly");
  const world = await scripted(t, slow.script);
  t.after(slow.release);
  await world.run(["ask", "first"]);
  const unsteered = await world.run(["session", "steer", "hello", "there?"]);
  assert.equal(unsteered.exit, 1);
  assert.match(unsteered.stderr, /\(turn_not_running\)/);
  const nothing = await world.run(["session", "interrupt"]);
  assert.equal(nothing.exit, 0);
  assert.match(nothing.stderr, /^no turn is running in [0-9a-f]{8}\n$/);
  const running = world.start(["ask", "-c", "slowly"]);
  await running.saw("slowly begins");
  const steered = await world.run(["session", "steer", "-s", "last", "an", "aside"]);
  assert.match(steered.stdout, /^turn [0-9a-f]{8} gets the message at its next step\n$/);
  const stopped = await world.run(["session", "interrupt"]);
  assert.match(stopped.stdout, /^turn [0-9a-f]{8} is being stopped; its output so far is kept\n$/);
  assert.equal((await running.finished).exit, 130);
});

test("[A1] [A2] [L1] [L2] session mailbox lists messages of subagents, session fire and /fire send them to the model; log --graph draws them", async (t) => {
  const script: Script = (call) => {
    const text = JSON.stringify(call.items.at(-1));
    if (text.includes("begin one")) return [{ calls: "spawn_subagent", with: { instruction: "work", name: "worker" } }];
    return text.includes("[MAILBOX]") ? "it is handed over" : "done";
  };
  const overrides = { conversation_contexts: { default: { subagents: true } } };
  const world = await cliWorld(t, { overrides, providers: [scriptedProvider({ name: "offline", script })] });
  await world.run(["index"]);
  const begun = await world.run(["ask", "begin one"]);
  assert.match(begun.stderr, /^subagent "worker" runs in turn [0-9a-f]{8}$/m);
  const waits = await world.run(["session", "mailbox"]);
  assert.match(waits.stdout, /^[0-9a-f]{8} 1 "worker" has ended, waits /);
  assert.match(waits.stderr, /^1 answer in the mailbox; send them to the model: aptove session fire [0-9a-f]{8}$/m);
  const fired = await world.run(["session", "fire", "last"]);
  assert.deepEqual([fired.exit, fired.stdout], [0, "it is handed over\n"]);
  const again = await world.run(["session", "fire", "last"]);
  assert.equal(again.exit, 1);
  assert.match(again.stderr, /\(mailbox_empty\)\nfix: .*mailbox --all/);
  assert.match((await world.run(["session", "mailbox", "--all"])).stdout, /delivered to turn [0-9a-f]{8}/);
  const graph = await world.run(["session", "log", "--graph"]);
  assert.match(graph.stdout, /\(subagent "worker" of 1\) work/);

  const chat = world.start(["chat", "--continue"], {});
  chat.input.write("begin one\n");
  await chat.saw("its answer waits in the mailbox");
  chat.input.end("/fire\n/fire go on\n");
  const { stdout, stderr } = await chat.finished;
  assert.match(stdout, /it is handed over\n/);
  assert.match(stderr, /\(mailbox_empty\)/);
});
