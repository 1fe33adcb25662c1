/** Closing a connection whose client still sends, so that the client hears the answer. */
import type { IncomingMessage, ServerResponse } from "node:http";

/** What a client may still send after its answer, before the connection is cut. */
const lingerBytes = 64 * 1024 * 1024;
const lingerMs = 5_000;

/**
 * Node closes the socket as soon as a last answer is written. With bytes of the body unread in it the system does so by
 * a reset, and a reset takes the answer away from a client that has not read it yet (RFC 9112 §9.6). So our side is
 * ended first, and what still comes is read and thrown away, for a bounded time and amount.
 */
export function lingerOnClose(incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.once("prefinish", () => {
    const { socket } = incoming;
    if (incoming.complete || socket.destroyed) return;
    socket.destroySoon = () => {
      socket.destroySoon = () => undefined;
      socket.end();
      const cut = () => void socket.destroy();
      const timer = setTimeout(cut, lingerMs).unref();
      const until = socket.bytesRead + lingerBytes;
      // Past the parser, which stops reading when nobody takes the body from it.
      socket.removeAllListeners("data");
      socket.on("data", () => {
        if (socket.bytesRead > until) cut();
      });
      socket.once("end", cut).once("close", () => clearTimeout(timer));
      socket.resume();
    };
  });
}
