/**
 * A proxy between a store and its PostgreSQL. It cuts the connection at the worst moment: when a COMMIT was sent and not
 * answered. The messages pass unchanged.
 */
import { createConnection, createServer, type Socket } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";

/**
 * `before`: the COMMIT does not reach the server. `unnoticed`: the same, and the server, which has all statements before it, does not see
 * that the client is gone. `after`: the server committed, and its answer is lost, with all answers that come with it. `begun`: the same, but the
 * answer to the begin of the transaction comes back.
 */
export const cuts = ["before", "unnoticed", "after", "begun"] as const;
export type Cut = (typeof cuts)[number];

export interface CuttingProxy {
  /** The URL of the database through this proxy. */
  url: string;
  /** Cuts the connection at the next COMMIT, or at the next ones. 0 times: at no further one. */
  cutNext(cut: Cut, times?: number): void;
  /** Cuts the connection at the next COMMIT, and refuses new ones from then on. Resolves when the first was refused. */
  cutAndGoDown(cut: Cut): Promise<void>;
  /** True if a requested cut still waits for its COMMIT. */
  readonly isWaiting: boolean;
  /** Drops all traffic without a notice, like a pulled cable. */
  partition(): void;
  heal(): void;
  /** Breaks all connections and refuses new ones, like a server restart. Resolves when the first was refused. */
  goDown(): Promise<void>;
  comeBack(): void;
  stop(): Promise<void>;
}

interface State {
  cut: Cut | null;
  /** How many more COMMITs are cut like that. */
  more: number;
  /** True if the cut takes the server down. */
  goesDown: boolean;
  isPartitioned: boolean;
  isDown: boolean;
  refused: (() => void) | null;
}

const commit = Buffer.from("Q\0\0\0\x0bcommit\0");
/** The server is ready for the next statement of a transaction. */
const inTransaction = Buffer.from("Z\0\0\0\x05T");

/** Starts the proxy in front of a server of `startPostgres`. */
export async function startCuttingProxy(serverUrl: string): Promise<CuttingProxy> {
  const server = new URL(serverUrl);
  const socketFolder = server.searchParams.get("host") ?? "";
  const folder = await mkdtemp(join(tmpdir(), "cut-"));
  const sockets = new Set<Socket>();
  const state: State = { cut: null, more: 0, goesDown: false, isPartitioned: false, isDown: false, refused: null };
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
  };
  const listener = createServer((client) => {
    track(client);
    if (state.isDown) {
      client.destroy();
      return state.refused?.();
    }
    const upstream = createConnection(join(socketFolder, ".s.PGSQL.5432"));
    track(upstream);
    connect(client, upstream, state);
  });
  listener.listen(join(folder, ".s.PGSQL.5432"));
  await once(listener, "listening");
  server.searchParams.set("host", folder);
  const dropAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: server.href,
    cutNext: (cut, times = 1) => {
      state.cut = times === 0 ? null : cut;
      state.more = times - 1;
    },
    cutAndGoDown: async (cut) => {
      state.cut = cut;
      state.goesDown = true;
      await new Promise<void>((resolve) => (state.refused = resolve));
    },
    get isWaiting() {
      return state.cut !== null;
    },
    partition: () => void (state.isPartitioned = true),
    heal: () => {
      state.isPartitioned = false;
      // What was sent meanwhile is lost, so the open connections cannot be used any more.
      dropAll();
    },
    goDown: async () => {
      state.isDown = true;
      dropAll();
      await new Promise<void>((resolve) => (state.refused = resolve));
    },
    comeBack: () => void (state.isDown = false),
    stop: async () => {
      dropAll();
      listener.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function connect(client: Socket, upstream: Socket, state: State): void {
  let isCut = false;
  let passesBegin = false;
  client.on("data", (chunk: Buffer) => {
    if (state.isPartitioned) return;
    const { cut } = state;
    if (cut === null || !chunk.includes(commit)) return void upstream.write(chunk);
    if (state.more === 0) state.cut = null;
    else state.more -= 1;
    state.isDown ||= state.goesDown;
    state.goesDown = false;
    isCut = true;
    passesBegin = cut === "begun";
    if (cut === "after" || cut === "begun") return void upstream.write(chunk);
    client.destroy();
    if (cut === "before") upstream.destroy();
    else upstream.write(chunk.subarray(0, chunk.indexOf(commit)));
  });
  upstream.on("data", (chunk: Buffer) => {
    if (state.isPartitioned) return;
    if (!isCut) return void client.write(chunk);
    const begun = chunk.indexOf(inTransaction);
    if (passesBegin && begun >= 0) client.end(chunk.subarray(0, begun + inTransaction.length));
    else client.destroy();
  });
  client.on("close", () => {
    if (!isCut) upstream.destroy();
  });
  upstream.on("close", () => client.destroy());
}
