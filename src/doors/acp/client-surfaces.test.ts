/** Files and terminals of the client, if it offers them (P4). */
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { RequestError } from "@agentclientprotocol/sdk";
import { commandShell } from "../../tools/shell.ts";
import { acpTest, type AcpTest, type TestConnection } from "../../../testing/acp/acp-test.ts";
import type { Script, ScriptedPart } from "../../providers/scripted/scripted.ts";

/** A turn that makes these calls, one after the other, and ends. */
const calling =
  (...calls: ScriptedPart[]): Script =>
  (_call, n) => {
    const call = calls[n - 1];
    return call === undefined ? "done" : [call];
  };

async function results({ provider }: AcpTest): Promise<string[]> {
  return provider.exchanges.at(-1)?.context.flatMap((item) => (item.type === "tool_result" ? [item.output] : [])) ?? [];
}

function requests(connection: TestConnection): string[] {
  return connection.sent.flatMap(({ by, message }) => {
    return by === "agent" && "id" in message && "method" in message ? [message.method] : [];
  });
}

test("[P4] files are read from the client and written through it, including unsaved text", async (t) => {
  const script = calling({ calls: "edit", with: { path: "a.txt", find: "one", replace: "two" } });
  const world = await acpTest(t, { script });
  writeFileSync(join(world.project, "a.txt"), "on disk\n");
  const buffers = new Map([[join(world.project, "a.txt"), "one, not saved\n"]]);
  const connection = await world.connect({
    capabilities: { fs: { readTextFile: true, writeTextFile: true } },
    answers: {
      "fs/read_text_file": ({ path }: { path: string }) => ({ content: buffers.get(path) }),
      "fs/write_text_file": ({ path, content }: { path: string; content: string }) => {
        buffers.set(path, content);
        return {};
      },
    },
  });
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "edit");
  assert.equal(buffers.get(join(world.project, "a.txt")), "two, not saved\n");
});

test("[P4] a file that the client does not have is a missing file, whatever error the client sends", async (t) => {
  const faults = [
    RequestError.resourceNotFound("a.txt"),
    RequestError.internalError({ details: "ENOENT: no such file or directory" }),
  ];
  for (const fault of faults) {
    const world = await acpTest(t, { script: calling({ calls: "write", with: { path: "a.txt", content: "new\n" } }) });
    const written: string[] = [];
    const connection = await world.connect({
      capabilities: { fs: { readTextFile: true, writeTextFile: true } },
      answers: {
        "fs/read_text_file": () => {
          throw fault;
        },
        "fs/write_text_file": ({ content }: { content: string }) => {
          written.push(content);
          return {};
        },
      },
    });
    const { sessionId } = await connection.begin();
    await connection.prompt(sessionId, "write");
    assert.deepEqual(written, ["new\n"]);
    assert.match((await results(world)).join(), /created a\.txt/);
  }
});

test("[P4] an answer without the text of the file is an error of the client, whatever else it is", async (t) => {
  for (const answer of [null, {}, { content: 5 }, "text"]) {
    const world = await acpTest(t, { script: calling({ calls: "read", with: { path: "a.txt" } }) });
    writeFileSync(join(world.project, "a.txt"), "on disk\n");
    const connection = await world.connect({
      capabilities: { fs: { readTextFile: true } },
      answers: { "fs/read_text_file": () => answer },
    });
    const { sessionId } = await connection.begin();
    assert.equal((await connection.prompt(sessionId, "read")).stopReason, "end_turn");
    const fault = typeof answer === "object" && answer !== null ? "has no valid `content`" : "is no object";
    assert.match((await results(world)).join(), new RegExp(`client's answer to fs/read_text_file ${fault}`));
  }
});

test("[P4] a client that refuses to write is an error for the model, not for the turn", async (t) => {
  const world = await acpTest(t, { script: calling({ calls: "write", with: { path: "a.txt", content: "new\n" } }) });
  const connection = await world.connect({
    capabilities: { fs: { writeTextFile: true } },
    answers: {
      "fs/write_text_file": () => {
        throw RequestError.internalError({ details: "the buffer is locked" });
      },
    },
  });
  const { sessionId } = await connection.begin();
  assert.equal((await connection.prompt(sessionId, "write")).stopReason, "end_turn");
  assert.match((await results(world)).join(), /the buffer is locked/);
  assert.equal(existsSync(join(world.project, "a.txt")), false);
});

interface Terminal {
  output: string;
  /** How the command ended, as the request for the output answers it. Absent: as the wait for the end does. */
  status: unknown;
  exit: PromiseWithResolvers<{ exitCode: number | null; signal: string | null }>;
  asked: string[];
}

async function withTerminal(t: TestContext, terminal: Partial<Terminal> = {}) {
  const made: Terminal = { output: "", status: null, exit: Promise.withResolvers(), asked: [], ...terminal };
  const world = await acpTest(t, { script: calling({ calls: "run", with: { command: "echo hi" } }) });
  const note = (method: string, answer: unknown) => (params: unknown) => {
    made.asked.push(`${method} ${JSON.stringify(params)}`);
    return answer;
  };
  const connection = await world.connect({
    capabilities: { terminal: true },
    answers: {
      "terminal/create": note("create", { terminalId: "t1" }),
      "terminal/wait_for_exit": note("wait", made.exit.promise),
      "terminal/output": async (params: unknown) => {
        note("output", null)(params);
        const exit = await made.exit.promise;
        return { output: made.output, truncated: false, exitStatus: "status" in terminal ? terminal.status : exit };
      },
      "terminal/kill": (params: unknown) => {
        note("kill", null)(params);
        made.exit.resolve({ exitCode: null, signal: "SIGKILL" });
        return {};
      },
      "terminal/release": note("release", {}),
    },
  });
  const { sessionId } = await connection.begin();
  return { world, connection, sessionId, terminal: made };
}

test("[P4] commands run in the client's terminal, which the call shows, and which is released", async (t) => {
  const { world, connection, sessionId, terminal } = await withTerminal(t, { output: "hi\n" });
  terminal.exit.resolve({ exitCode: 3, signal: null });
  await connection.prompt(sessionId, "run");
  assert.match((await results(world)).join(), /hi[\s\S]*3|3[\s\S]*hi/);
  const [created, ...rest] = terminal.asked;
  const asked = JSON.parse(created?.replace("create ", "") ?? "") as Record<string, unknown>;
  assert.deepEqual(
    [asked["command"], asked["args"], asked["cwd"]],
    [commandShell().program, ["-c", "echo hi"], world.project],
  );
  assert.equal(typeof asked["outputByteLimit"], "number");
  assert.deepEqual(
    rest.map((one) => one.split(" ")[0]),
    ["wait", "output", "release"],
  );
  const shown = connection
    .updates(sessionId)
    .flatMap((update) => (update.sessionUpdate === "tool_call_update" ? [update.content] : []))
    .filter((content) => content?.some(({ type }) => type === "terminal"));
  assert.deepEqual(shown.at(0), [{ type: "terminal", terminalId: "t1" }]);
  // The result does not remove the terminal from the call.
  assert.deepEqual(shown.at(-1), [{ type: "terminal", terminalId: "t1" }]);
  assert.equal(shown.length, 2);
});

test("[P4] how a command ended is what the client says with its output, or else what the wait for its end answered", async (t) => {
  const cases: { status?: unknown; exit: unknown; output: string }[] = [
    { status: undefined, exit: { exitCode: 0 }, output: "hi" },
    { status: null, exit: { exitCode: 3, signal: null }, output: "hi\n(exit code 3)" },
    { status: {}, exit: { signal: "SIGTERM" }, output: "hi\n(ended by SIGTERM)" },
    { status: { exitCode: 4 }, exit: {}, output: "hi\n(exit code 4)" },
    { status: { exitCode: 5 }, exit: null, output: "hi\n(exit code 5)" },
    { status: { exitCode: "6" }, exit: { exitCode: 7, signal: 8 }, output: "hi\n(exit code 7)" },
  ];
  for (const { status, exit, output } of cases) {
    const { world, connection, sessionId, terminal } = await withTerminal(t, { output: "hi\n", status });
    terminal.exit.resolve(exit as never);
    await connection.prompt(sessionId, "run");
    assert.deepEqual(await results(world), [output]);
  }
});

test("[P4] a terminal without an id is not waited for, and an output without text is an error of the client", async (t) => {
  const answers = { "terminal/create": () => ({}), "terminal/release": () => ({}) };
  const withoutId = await acpTest(t, { script: calling({ calls: "run", with: { command: "echo hi" } }) });
  const connection = await withoutId.connect({ capabilities: { terminal: true }, answers });
  await connection.prompt((await connection.begin()).sessionId, "run");
  assert.match((await results(withoutId)).join(), /client's answer to terminal\/create has no valid `terminalId`/);
  assert.deepEqual(requests(connection), ["session/request_permission", "terminal/create"]);

  const withoutText = await withTerminal(t, { output: null as never });
  withoutText.terminal.exit.resolve({ exitCode: 0, signal: null });
  await withoutText.connection.prompt(withoutText.sessionId, "run");
  assert.match((await results(withoutText.world)).join(), /client's answer to terminal\/output has no valid `output`/);
  assert.match(withoutText.terminal.asked.at(-1) ?? "", /^release /);
});

test("[P4] a cancelled prompt ends the command in the client's terminal, and releases it", async (t) => {
  const { connection, sessionId, terminal } = await withTerminal(t);
  const prompt = connection.prompt(sessionId, "run");
  await connection.until(() => terminal.asked.some((one) => one.startsWith("wait")));
  await connection.agent.notify("session/cancel", { sessionId });
  assert.equal((await prompt).stopReason, "cancelled");
  await connection.agent.request("session/close", { sessionId });
  await connection.until(() => terminal.asked.some((one) => one.startsWith("release")));
  assert.ok(terminal.asked.some((one) => one.startsWith("kill")));
});

test("[P4] output over the limit is cut, between two characters", async (t) => {
  const { world, connection, sessionId, terminal } = await withTerminal(t, { output: "é".repeat(12_000_000) });
  terminal.exit.resolve({ exitCode: 0, signal: null });
  await connection.prompt(sessionId, "run");
  const [output = ""] = await results(world);
  assert.ok(output.length < 100_000, `${output.length}`);
  assert.doesNotMatch(output, /\uFFFD/);
});

test("[P4] a client whose terminal does not work is an error for the model", async (t) => {
  const world = await acpTest(t, { script: calling({ calls: "run", with: { command: "echo hi" } }) });
  const connection = await world.connect({
    capabilities: { terminal: true },
    answers: {
      "terminal/create": () => {
        throw RequestError.internalError({ details: "no shell" });
      },
    },
  });
  const { sessionId } = await connection.begin();
  assert.equal((await connection.prompt(sessionId, "run")).stopReason, "end_turn");
  assert.match((await results(world)).join(), /could not be run in the client's terminal/);
  assert.deepEqual(requests(connection), ["session/request_permission", "terminal/create"]);
});
