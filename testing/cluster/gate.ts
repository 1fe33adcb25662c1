/** A TCP relay between one server and one store. Closing it simulates a network fault for that server alone. */
import { createServer, connect, type AddressInfo, type NetConnectOpts, type Socket } from "node:net";

export interface Gate {
  port: number;
  /** Cuts all connections and refuses new ones, like a switch that lost its power. */
  cut(): void;
  /** Stops all traffic without refusing it, like a firewall that drops packets. */
  stall(): void;
  /** Opens the gate again. Held traffic continues. */
  heal(): void;
  close(): Promise<void>;
}

export async function openGate(to: NetConnectOpts): Promise<Gate> {
  const pairs = new Set<[Socket, Socket]>();
  let state: "open" | "cut" | "stalled" = "open";
  const server = createServer((near) => {
    if (state === "cut") return near.destroy();
    const far = connect(to);
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    for (const [from, into] of [pair, pair.toReversed() as [Socket, Socket]]) {
      from.on("data", (bytes) => {
        if (!into.write(bytes)) from.pause();
      });
      into.on("drain", () => state !== "stalled" && from.resume());
      from.on("end", () => into.end());
      // The other end may be gone already.
      from.on("error", () => undefined);
      from.on("close", () => {
        into.destroy();
        pairs.delete(pair);
      });
    }
    if (state === "stalled") for (const socket of pair) socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const each = (act: (socket: Socket) => void): void => {
    for (const pair of pairs) for (const socket of pair) act(socket);
  };
  const become = (next: typeof state): void => {
    state = next;
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      become("cut");
      each((socket) => socket.destroy());
    },
    stall: () => {
      become("stalled");
      each((socket) => socket.pause());
    },
    heal: () => {
      become("open");
      each((socket) => socket.resume());
    },
    close: async () => {
      become("cut");
      each((socket) => socket.destroy());
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
