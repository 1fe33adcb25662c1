/** Gives a door a socket. Apart from the door, so that whoever needs no socket loads no server. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { HttpDoor } from "./door.ts";
import { lingerOnClose } from "./linger.ts";
import { problemAnswer } from "./problem-answer.ts";

export interface Listening {
  /** For example `http://127.0.0.1:4870`. */
  url: string;
  port: number;
  /** Takes no new connections, gives open answers `graceMs` to end, then cuts them. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** Port 0: any free one. Throws `address_unavailable`. */
export async function listen(door: HttpDoor, { host, port }: { host: string; port: number }): Promise<Listening> {
  const listener = getRequestListener((request) => door.fetch(request), {
    hostname: host,
    // The adapter's quicker Request and Response would replace the ones of the whole process.
    overrideGlobalObjects: false,
    // Only for what is no request at all, for example a host with a space in it.
    errorHandler: (error) =>
      problemAnswer(
        new AptoveError("request_invalid", error instanceof Error ? error.message : String(error)),
        { requestId: newId(), code: null },
        () => undefined,
      ),
  });
  // Any other upgrade that a client proposes, to HTTP/2 for example, may be ignored, and the request is answered.
  const server = createServer(
    { shouldUpgradeCallback: (incoming) => door.takesUpgrade(incoming) },
    (incoming, outgoing) => {
      lingerOnClose(incoming, outgoing);
      void listener(incoming, outgoing);
    },
  );
  const upgraded = new Set<Duplex>();
  server.on("upgrade", (incoming, socket, head) => {
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    void door.upgrade({ incoming, socket, head });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const detail = `${host} port ${port}: ${cause.code === "EADDRINUSE" ? "another process listens there" : cause.message}`;
      reject(new AptoveError("address_unavailable", detail, { cause }));
    });
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    close: async ({ graceMs = 0 } = {}) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const timer = setTimeout(() => {
        server.closeAllConnections();
        // The server counts them as its connections, and does not close them.
        for (const socket of upgraded) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
