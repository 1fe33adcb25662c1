/** A real Redis for tests and the cluster, on a free port of loopback. It stores nothing: after a kill it is empty. */
import { connect } from "node:net";
import { freePort, serviceFolder, startProcess, untilReady, type KeptProcess } from "./kept-process.ts";
import { requirePackages } from "./programs.ts";

export interface TestRedis {
  /** The URL for a Redis client. It stays the same after `kill` and `start`. */
  url: string;
  /** Sends SIGSTOP: connections stay open, and nothing answers. */
  pause(): void;
  resume(): void;
  /** Kills the server with SIGKILL: connections are cut, and all data is lost. */
  kill(): Promise<void>;
  /** Starts an empty server again after `kill`, on the same port. */
  start(): Promise<void>;
  /** Stops the server and removes its folder. */
  stop(): Promise<void>;
}

const readyTimeoutMs = 20_000;

/** Starts the server in about 0.1 s. If Redis is not installed, throws an error that states how to install it. */
export async function startRedis(): Promise<TestRedis> {
  requirePackages("redis-server");
  const folder = await serviceFolder("redis");
  try {
    const { port, server: first } = await startOnFreePort(folder.path);
    let server = first;
    return {
      url: `redis://127.0.0.1:${port}`,
      pause: () => server.pause(),
      resume: () => server.resume(),
      kill: () => server.kill(),
      start: async () => {
        if (!server.isRunning()) server = await startServer(folder.path, port);
      },
      stop: async () => {
        await server.kill();
        await folder.remove();
      },
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

async function startOnFreePort(folder: string): Promise<{ port: number; server: KeptProcess }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return { port, server: await startServer(folder, port) };
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
}

async function startServer(folder: string, port: number): Promise<KeptProcess> {
  const settings = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  const process = await startProcess({ folder, name: "redis", command: ["redis-server", ...settings] });
  const isReady = (): Promise<boolean> => answersPing(port);
  await untilReady({ folder, name: "redis", process, timeoutMs: readyTimeoutMs, isReady });
  return process;
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on("data", (answer) => {
      resolve(answer.toString().startsWith("+PONG"));
      socket.destroy();
    });
    socket.on("error", () => resolve(false));
    socket.on("close", () => resolve(false));
  });
}
