/** Closes a connection whose client still sends, so that the client receives the response. */
import type { IncomingMessage, ServerResponse } from "node:http";

/** How much a client may still send after its response, before the connection is cut. */
const lingerBytes = 64 * 1024 * 1024;
const lingerMs = 5_000;

/**
 * Closes the connection in two steps. Node closes the socket as soon as the last response is written. If bytes of the request
 * body are unread, the system then sends a reset, and a client that has not read the response yet loses it (RFC 9112 §9.6).
 * So this ends the server's side first, and discards what still arrives, for a limited time and amount.
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
      // The parser stops reading when no handler takes the body from it, so this reads the socket directly.
      socket.removeAllListeners("data");
      socket.on("data", () => {
        if (socket.bytesRead > until) cut();
      });
      socket.once("end", cut).once("close", () => clearTimeout(timer));
      socket.resume();
    };
  });
}
