/** A minimal client of server-sent events over a kept connection, the same for aptove and for the floor. */
import { Agent, request } from "node:http";

const connections = new Agent({ keepAlive: true, maxSockets: 1_000 });

export interface StreamEvent {
  type?: string;
  threadId?: string;
  delta?: string;
}

interface Post {
  body: unknown;
  key?: string;
  onEvent(event: StreamEvent): void;
}

/** Posts a request. Resolves when the stream of its answer has ended. */
export async function eventStream(url: string, post: Post): Promise<void> {
  const { body, key, onEvent } = post;
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const posted = request(url, { method: "POST", agent: connections, headers }, (answer) => {
    let rest = "";
    answer.setEncoding("utf8");
    answer.on("data", (piece: string) => {
      const frames = (rest + piece).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const at = frame.indexOf("data: ");
        if (at >= 0) onEvent(JSON.parse(frame.slice(at + 6)) as StreamEvent);
      }
    });
    answer.once("error", reject);
    answer.once("end", () => {
      if (answer.statusCode === 200) resolve();
      else reject(new Error(`${url} answered ${answer.statusCode}: ${rest}`));
    });
  });
  posted.once("error", (error: NodeJS.ErrnoException) => {
    // The server may close a kept connection at the moment at which it is used again.
    if (posted.reusedSocket && error.code === "ECONNRESET") resolve(eventStream(url, post));
    else reject(error);
  });
  posted.end(JSON.stringify(body));
  await promise;
}
