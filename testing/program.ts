/**
 * The program as people start it, for tests: processes of `bin/aptove` on one data folder, with a model whose answers
 * the test scripts, on the real wire of a provider.
 */
import { spawn, type ChildProcess, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { createClient, type AptoveClient } from "../src/client/client.ts";
import { testClient, type ClientOptions, type TestClient } from "./acp/test-client.ts";
import { startFakeOpenai, type FakeOpenAI } from "./fake-openai/fake-openai.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface Program {
  /** The project folder, which is not in a git repository. */
  project: string;
  dataDir: string;
  model: FakeOpenAI;
  /** Runs one command in the project's folder to its end. */
  run(args: readonly string[], stdin?: string | Uint8Array): Promise<Ran>;
  /** Starts an editor's agent. `initialize` is sent, unless `initializes` is false. */
  acp(options?: AcpOptions): Promise<AcpProcess>;
  serve(): Promise<ServeProcess>;
}

export interface Ran {
  exit: number | null;
  stdout: string;
  stderr: string;
}

export interface AcpOptions extends ClientOptions {
  args?: readonly string[];
  initializes?: boolean;
}

export interface AcpProcess extends TestClient {
  /** Writes bytes unchanged to standard input. Resolves when the process has read them. */
  write(bytes: string | Uint8Array): Promise<void>;
  stderr(): string;
  /** Closes its standard input. Resolves with the exit code when the process has ended. */
  leave(): Promise<number | null>;
  /** Closes all its pipes, like the death of the editor. Resolves with the exit code when the process has ended. */
  vanish(): Promise<number | null>;
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>;
}

export interface ServeProcess {
  url: string;
  key: string;
  client: AptoveClient;
  /** Asks the process to stop. Resolves with the exit code when it has ended. */
  stop(): Promise<number | null>;
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const bin = fileURLToPath(new URL("../bin/aptove", import.meta.url));

export async function program(context: TestContext): Promise<Program> {
  const children: ChildProcess[] = [];
  // The processes end before the folder is removed: they would write into it again.
  context.after(() => Promise.all(children.map(kill)));
  const folder = await temporaryFolder(context);
  const [project, dataDir, home] = ["project", "data", "home"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [project, dataDir, home]) mkdirSync(each, { mode: 0o700 });
  const model = await startFakeOpenai();
  context.after(() => model.close());
  const { PATH, TMPDIR, TEST_RUN_MARK } = process.env;
  const provider = { OPENAI_API_KEY: "sk-test-0123456789", OPENAI_BASE_URL: model.url, APTOVE_MODEL: "gpt-5.1" };
  const env = { PATH, TMPDIR, TEST_RUN_MARK, HOME: home, APTOVE_DATA_DIR: dataDir, ...provider };
  const start = (args: readonly string[]): Child => {
    const child = spawn(bin, args, { cwd: project, env, stdio: ["pipe", "pipe", "pipe"] });
    // The process may end before it has read everything.
    child.stdin.on("error", () => undefined);
    children.push(child);
    return child;
  };
  return {
    project,
    dataDir,
    model,
    run: async (args, stdin = "") => {
      const child = start(args);
      child.stdin.end(stdin);
      const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), ended(child)]);
      return { exit, stdout, stderr };
    },
    acp: async ({ args = [], initializes = true, ...options } = {}) => {
      const agent = acpProcess(start(["acp", ...args]), testClient(project, options));
      if (initializes) await agent.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
      return agent;
    },
    serve: async () => await serveProcess(start(["serve", "--port", "0", "--json"]), dataDir),
  };
}

/** Connects a client to the started `aptove acp`. */
export function acpProcess(child: Child, client: TestClient & { agentEnd: Stream }): AcpProcess {
  const faults: string[] = [];
  const errors: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (piece: string) => errors.push(piece));
  const write = (bytes: string | Uint8Array): Promise<void> =>
    new Promise((resolve) => child.stdin.write(bytes, () => resolve()));
  connect(child, client, { write, fault: (line) => faults.push(`not JSON: ${line.slice(0, 400)}`) });
  return {
    ...client,
    get faults() {
      return [...faults, ...client.faults];
    },
    write,
    stderr: () => errors.join(""),
    leave: async () => {
      child.stdin.end();
      return await ended(child);
    },
    vanish: async () => {
      for (const pipe of [child.stdout, child.stderr, child.stdin]) pipe.destroy();
      client.close();
      return await ended(child);
    },
    kill: () => kill(child),
  };
}

interface Wire {
  write(line: string): Promise<void>;
  /** Called for a line that is no message. */
  fault(line: string): void;
}

/** Returns a stream that ends with either side. Every line is a message. */
function connect(child: Child, { agentEnd, close }: TestClient & { agentEnd: Stream }, { write, fault }: Wire): void {
  // The test's client may disconnect first.
  const gone = (): void => {};
  agentEnd.readable
    .pipeTo(new WritableStream({ write: async (message) => await write(`${JSON.stringify(message)}\n`) }))
    .catch(gone);
  const messages = agentEnd.writable.getWriter();
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    const message = parsed(line);
    if (message === null) fault(line);
    else messages.write(message).catch(gone);
  });
  lines.once("close", () => {
    messages.close().then(close, gone);
  });
}

function parsed(line: string): AnyMessage | null {
  try {
    return JSON.parse(line) as AnyMessage;
  } catch {
    return null;
  }
}

async function serveProcess(child: Child, dataDir: string): Promise<ServeProcess> {
  const [line] = (await Promise.race([once(child.stdout, "data"), ended(child)])) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  const { key } = JSON.parse(readFileSync(join(dataDir, "server.json"), "utf8")) as { key: string };
  const stop = async (): Promise<number | null> => {
    child.kill("SIGTERM");
    return await ended(child);
  };
  return { url, key, client: createClient({ url, key }), stop, kill: () => kill(child) };
}

/** Returns the exit code, or null if the process was killed. */
async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await ended(child);
}
