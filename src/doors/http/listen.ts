/** Opens a socket for a door. This file is separate, so that a program that needs no socket loads no server. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { pause } from "../../system/abort.ts";
import { endOfRound } from "../../system/rounds.ts";
import { sendEventStream } from "../event-stream.ts";
import type { HttpDoor } from "./door.ts";
import { lingerOnClose } from "./linger.ts";
import { problemAnswer } from "./problem-answer.ts";

export interface ListeningServer {
  /** The address, for example `http://127.0.0.1:4870`. */
  url: string;
  port: number;
  /**
   * Ends within `graceMs`: answers what clients have sent already, until a moment without a new request; then accepts no new
   * connections, waits for open responses, and cuts them.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** How long nothing may arrive before the server stops to accept connections, in milliseconds. */
const quietMs = 50;

/** Listens at an address. Port 0 is any free port. Throws `address_unavailable`. */
export async function listen(door: HttpDoor, { host, port }: { host: string; port: number }): Promise<ListeningServer> {
  const answer = async (request: Request, { outgoing }: HttpBindings): Promise<Response> => {
    const response = await door.fetch(request);
    return sendEventStream(response, outgoing) ? RESPONSE_ALREADY_SENT : response;
  };
  const listener = getRequestListener((request, bindings) => answer(request, bindings as HttpBindings), {
    hostname: host,
    // Otherwise the adapter replaces Request and Response in the whole process with its faster ones.
    overrideGlobalObjects: false,
    // Called only for input that is no valid request, for example a host with a space in it.
    errorHandler: (error) =>
      problemAnswer(
        new AptoveError("request_invalid", error instanceof Error ? error.message : String(error)),
        { requestId: newId(), code: null },
        { report: () => undefined },
      ),
  });
  // A server may ignore any other upgrade that a client proposes, for example to HTTP/2, and answer the request.
  const arrivals = { last: 0, areLast: false };
  const server = createServer(
    { shouldUpgradeCallback: (incoming) => door.takesUpgrade(incoming) },
    (incoming, outgoing) => {
      arrivals.last = performance.now();
      // Then the client sends nothing more on this connection, which could be lost with it.
      if (arrivals.areLast) outgoing.shouldKeepAlive = false;
      lingerOnClose(incoming, outgoing);
      void listener(incoming, outgoing);
    },
  );
  server.on("connection", () => (arrivals.last = performance.now()));
  const upgraded = new Set<Duplex>();
  server.on("upgrade", (incoming, socket, head) => {
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    void door.upgrade({ incoming, socket, head });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const detail = `${host} port ${port}: ${cause.code === "EADDRINUSE" ? "another process uses this port; stop it or choose another port" : cause.message}`;
      reject(new AptoveError("address_unavailable", detail, { cause }));
    });
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    close: async ({ graceMs = 0 } = {}) => {
      const until = performance.now() + graceMs;
      arrivals.areLast = true;
      await quiet(arrivals, graceMs / 2);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const timer = setTimeout(
        () => {
          server.closeAllConnections();
          // The server counts upgraded sockets as its connections but does not close them.
          for (const socket of upgraded) socket.destroy();
        },
        Math.max(0, until - performance.now()),
      );
      await closed;
      clearTimeout(timer);
    },
  };
}

/**
 * Resolves when no connection and no request has arrived for a moment, at the latest after `atMostMs`. The system has accepted connections that Node
 * has not seen yet; if the server closes at once, their clients get a reset in place of an answer.
 */
async function quiet(arrivals: { last: number }, atMostMs: number): Promise<void> {
  const until = performance.now() + atMostMs;
  arrivals.last = performance.now();
  for (let now = arrivals.last; now < until && now - arrivals.last < quietMs; now = performance.now()) {
    await pause(Math.min(quietMs, until - now), undefined);
    // A process that got no processor time for a while has input to read first.
    await endOfRound();
    await endOfRound();
  }
}
