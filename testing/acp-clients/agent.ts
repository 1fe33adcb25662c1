/**
 * `aptove acp` as public clients start it: a separate process with a fresh data folder, and a model that does what
 * the test says, on the real wire of a provider.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { startFakeOpenai, type FakeOpenAI } from "../fake-openai/fake-openai.ts";
import { temporaryFolder } from "../temporary-folder.ts";

export interface Agent {
  /** Path of a program that starts the agent without arguments. */
  command: string;
  /** The project folder of the sessions. */
  project: string;
  dataDir: string;
  model: FakeOpenAI;
  env: Record<string, string>;
  /** Registers a function that runs after the test, before the agent is killed and its folder is removed. */
  beforeEnd(leave: () => Promise<unknown>): void;
  /** Kills every process of the agent with -9. */
  kill(): void;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

export async function startAgent(context: TestContext): Promise<Agent> {
  const leaving: (() => Promise<unknown>)[] = [];
  // The processes end before the folder is removed: they would write into it again.
  context.after(async () => {
    for (const leave of leaving) await leave();
    kill();
  });
  const folder = await temporaryFolder(context);
  const project = join(folder, "project");
  const dataDir = join(folder, "data");
  const pids = join(folder, "pids");
  const command = join(folder, "agent.sh");
  for (const dir of [project, dataDir, join(folder, "home")]) mkdirSync(dir);
  // `exec` keeps the process id, so this is the id of the agent.
  writeFileSync(command, `#!/bin/sh\necho $$ >> '${pids}'\nexec '${root}bin/aptove' acp "$@"\n`);
  chmodSync(command, 0o700);
  const model = await startFakeOpenai();
  context.after(() => model.close());
  const kill = (): void => {
    const started = existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\n") : [];
    for (const pid of started) {
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  };
  return {
    command,
    project,
    dataDir,
    model,
    kill,
    beforeEnd: (leave) => void leaving.push(leave),
    env: {
      PATH: `${root}node_modules/.bin:${process.env["PATH"] ?? ""}`,
      HOME: join(folder, "home"),
      APTOVE_DATA_DIR: dataDir,
      OPENAI_API_KEY: "sk-test-0123456789",
      OPENAI_BASE_URL: model.url,
    },
  };
}
