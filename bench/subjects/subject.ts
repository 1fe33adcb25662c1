/** The programs that are measured beside each other, all driven in the same way. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { acpAgent } from "./acp-agent.ts";
import type { Conversation } from "./conversation.ts";
import { linePipe } from "./line-pipe.ts";
import { end, firstLine, root, start, startProgram, type Child } from "./programs.ts";
import { eventStream } from "./event-stream.ts";
import type { ModelKind, Surroundings } from "./surroundings.ts";

export interface Subject {
  name: SubjectName;
  pid: number;
  dataDir: string;
  /** Opens a session that has no turn yet. */
  open(): Promise<Conversation>;
  end(): Promise<void>;
}

export type SubjectName = "floor" | "floor over HTTP" | "ACP" | "ACP in a repository" | "HTTP" | "library";

export interface Setting {
  at: Surroundings;
  model: ModelKind;
  core?: 0 | 1;
}

/** The limits of a person's default data folder must not decide what is measured. */
const configuration = "[limits]\nconcurrent_runs_per_user_max = 1000\nrequests_per_minute_max = 1000000\n";

const starts: Record<SubjectName, (setting: Setting) => Promise<Omit<Subject, "name">>> = {
  floor: (setting) => startFloor(setting),
  "floor over HTTP": (setting) => startHttpFloor(setting),
  ACP: (setting) => startAcp(setting, setting.at.project),
  "ACP in a repository": (setting) => startAcp(setting, setting.at.repository()),
  HTTP: (setting) => startHttp(setting),
  library: (setting) => startLibrary(setting),
};

export async function startSubject(name: SubjectName, setting: Setting): Promise<Subject> {
  return { name, ...(await starts[name](setting)) };
}

function parts(child: Child, dataDir: string) {
  return { pid: child.pid ?? 0, dataDir, end: () => end(child) };
}

let conversations = 0;

async function startFloor({ at, model, core }: Setting): Promise<Omit<Subject, "name">> {
  const dataDir = at.newFolder();
  const child = await startProgram("bare-loop", {
    args: [dataDir, at.modelUrl(model)],
    ...(core !== undefined && { core }),
  });
  const pipe = linePipe(child);
  const open = async (): Promise<Conversation> => {
    const session = `c${(conversations += 1)}`;
    return { turn: async (text, onDelta) => void (await pipe.ask({ do: "turn", session, text }, onDelta)) };
  };
  return { ...parts(child, dataDir), open };
}

async function startHttpFloor({ at, model, core }: Setting): Promise<Omit<Subject, "name">> {
  const dataDir = at.newFolder();
  const args = [dataDir, at.modelUrl(model), "http"];
  const child = await startProgram("bare-loop", { args, ...(core !== undefined && { core }) });
  const { url } = await firstLine<{ url: string }>(child);
  const open = async (): Promise<Conversation> => {
    const session = `c${(conversations += 1)}`;
    return {
      turn: async (text, onDelta) =>
        await eventStream(url, {
          body: { session, text },
          onEvent: ({ delta }) => delta !== undefined && onDelta?.(delta),
        }),
    };
  };
  return { ...parts(child, dataDir), open };
}

async function startLibrary({ at, model, core }: Setting): Promise<Omit<Subject, "name">> {
  const dataDir = at.newFolder();
  const { child, pipe } = await libraryProgram(dataDir, {
    model: at.modelUrl(model),
    ...(core !== undefined && { core }),
  });
  const open = async (): Promise<Conversation> => {
    let session: string | undefined;
    return {
      turn: async (text) => {
        const answer = await pipe.ask({ do: "turn", text, ...(session !== undefined && { session }) });
        ({ session } = answer as { session: string });
      },
    };
  };
  return { ...parts(child, dataDir), open };
}

let bundled: Promise<unknown> | null = null;

/** Bundles the library as it is published. Returns its entry. */
async function libraryEntry(): Promise<string> {
  const { bundleLibrary } = (await import(pathToFileURL(join(root, "scripts", "bundle.mjs")).href)) as {
    bundleLibrary(folder: string): Promise<unknown>;
  };
  const folder = join(root, ".cache", "bench", "library");
  bundled ??= bundleLibrary(folder);
  await bundled;
  return pathToFileURL(join(folder, "index.js")).href;
}

/** Starts a program that embeds aptove. */
export async function libraryProgram(dataDir: string, { model, core }: { model: string; core?: 0 | 1 }) {
  const args = [await libraryEntry(), dataDir, model];
  const child = await startProgram("library", { args, ...(core !== undefined && { core }) });
  return { child, pipe: linePipe(child) };
}

async function startAcp({ at, model, core }: Setting, project: string): Promise<Omit<Subject, "name">> {
  const dataDir = at.newFolder();
  writeFileSync(join(dataDir, "config.toml"), configuration, { mode: 0o600 });
  const env = { ...at.env(model), APTOVE_DATA_DIR: dataDir };
  const child = start(join(root, "bin", "aptove"), {
    args: ["acp"],
    env,
    cwd: project,
    ...(core !== undefined && { core }),
  });
  const agent = acpAgent(child);
  await agent.initialize();
  return { ...parts(child, dataDir), open: async () => await agent.open(project) };
}

async function startHttp({ at, model, core }: Setting): Promise<Omit<Subject, "name">> {
  const dataDir = at.newFolder();
  writeFileSync(join(dataDir, "config.toml"), configuration, { mode: 0o600 });
  const env = { ...at.env(model), APTOVE_DATA_DIR: dataDir };
  const args = ["serve", "--port", "0", "--json"];
  const child = start(join(root, "bin", "aptove"), { args, env, cwd: at.project, ...(core !== undefined && { core }) });
  const { url } = await firstLine<{ url: string }>(child);
  const { key } = JSON.parse(readFileSync(join(dataDir, "server.json"), "utf8")) as { key: string };
  const open = async (): Promise<Conversation> => {
    let sessionId: string | undefined;
    return {
      turn: async (instruction, onDelta) => {
        let last: string | undefined;
        await eventStream(`${url}/api/ai/agent/execute`, {
          key,
          body: { instruction, ...(sessionId !== undefined && { sessionId }) },
          onEvent: ({ type, threadId, delta }) => {
            last = type;
            if (type === "RUN_STARTED") sessionId = threadId;
            else if (type === "TEXT_MESSAGE_CONTENT" && delta !== undefined) onDelta?.(delta);
          },
        });
        if (last !== "RUN_FINISHED") throw new Error(`a turn ended with ${last ?? "nothing"}`);
      },
    };
  };
  return { ...parts(child, dataDir), end: () => end(child, "SIGTERM"), open };
}
