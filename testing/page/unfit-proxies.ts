/** Proxies that do not let streams through as they should: one holds each answer back until it has ended, one cuts every connection after a time. */
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export interface UnfitProxy {
  url: string;
  /** The paths that were asked for, with their queries. */
  asked: string[];
  /** Cuts the answers that are open now. Returns how many there were. */
  cut(): number;
}

/** `buffers`: an answer is delivered when it has ended. `cuts`: answers pass, and `cut` breaks those that are open. */
export async function unfitProxy(t: TestContext, to: string, kind: "buffers" | "cuts"): Promise<UnfitProxy> {
  const asked: string[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer((incoming, answer) => {
    asked.push(incoming.url ?? "");
    open.add(answer);
    answer.on("close", () => open.delete(answer));
    pass(incoming, { answer, to, isHeld: kind === "buffers" });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const cut = (): number => {
    const cutNow = [...open];
    for (const answer of cutNow) answer.destroy();
    return cutNow.length;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, cut };
}

interface Passing {
  answer: ServerResponse;
  to: string;
  isHeld: boolean;
}

function pass(incoming: IncomingMessage, { answer, to, isHeld }: Passing): void {
  // The server sees its own origin, as behind a proxy that keeps the host's name.
  const { host } = new URL(to);
  const { origin: _origin, ...headers } = incoming.headers;
  const outgoing = request(to + (incoming.url ?? ""), { method: incoming.method, headers: { ...headers, host } });
  outgoing.on("error", () => answer.destroy());
  answer.on("close", () => outgoing.destroy());
  outgoing.on("response", (response) => {
    const pieces: Buffer[] = [];
    const begin = (): void => void answer.writeHead(response.statusCode ?? 502, response.headers);
    if (!isHeld) begin();
    response.on("data", (piece: Buffer) => void (isHeld ? pieces.push(piece) : answer.write(piece)));
    response.on("error", () => answer.destroy());
    response.on("end", () => {
      if (isHeld) begin();
      answer.end(Buffer.concat(pieces));
    });
  });
  incoming.pipe(outgoing);
}
