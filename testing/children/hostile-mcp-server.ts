/**
 * An MCP server on standard input and output that behaves as badly as its argument says. It speaks plain lines, so that
 * it can break every rule. `obeys` breaks none; each other mode does one thing wrong.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

interface Request {
  id?: number | string;
  method: string;
  params?: {
    name?: string;
    arguments?: Record<string, unknown>;
    _meta?: { progressToken?: number };
    requestId?: number;
  };
}

const [mode = "obeys", file = ""] = process.argv.slice(2);

const tool = (name: string, more: Record<string, unknown> = {}): Record<string, unknown> => {
  return { name, inputSchema: { type: "object" }, ...more };
};

const lists: Record<string, unknown[]> = {
  "bad-schemas": [
    tool("good"),
    tool("list", { inputSchema: [] }),
    tool("text", { inputSchema: { type: "string" } }),
    tool("large", { inputSchema: { type: "object", description: "x".repeat(1_048_576) } }),
    tool("deep", { inputSchema: nested(200) }),
    tool("good", { description: "another" }),
    { inputSchema: { type: "object" } },
    "nonsense",
  ],
  "bad-names": [tool("good"), tool("x".repeat(1_000_000)), tool("a\n\u001b[2J\u202eb")],
  "many-tools": Array.from({ length: 5_000 }, (_, at) => tool(`t${String(at).padStart(4, "0")}`)),
};

function nested(levels: number): Record<string, unknown> {
  return levels === 0 ? { type: "object" } : { type: "object", properties: { a: nested(levels - 1) } };
}

const write = (message: unknown): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
const answer = (id: Request["id"], result: unknown): void => write({ jsonrpc: "2.0", id, result });
const text = (content: string): unknown => ({ content: [{ type: "text", text: content }] });
const notify = (method: string, params: Record<string, unknown> = {}): void =>
  write({ jsonrpc: "2.0", method, params });

/** Writes without end, as fast as the client reads. */
function flood(line: string): void {
  const more = (): void => {
    while (process.stdout.write(line));
    process.stdout.once("drain", more);
  };
  more();
}

/** How each mode handles a call. The other modes answer with the tool's name. */
const calls: Record<string, (request: Request) => void> = {
  hang: () => undefined,
  die: () => process.exit(3),
  "die-with-words": () => process.stderr.write("cannot open the database\n", () => process.exit(4)),
  "die-with-escapes": () => process.stderr.write("\u001b]0;title\u0007\u202eend\n", () => process.exit(4)),
  "wrong-id": ({ id }) => {
    answer(Number(id) + 1_000, text("for no request"));
    answer(null as never, text("for no request"));
    answer("none", text("for no request"));
  },
  "twice-answered": ({ id }) => {
    answer(id, text("first"));
    answer(id, text("second"));
  },
  "bad-json": ({ id }) => {
    process.stdout.write(`Listening…\n{"jsonrpc":"2.0","id":${id},"result":\n\u0000\n[]\nnull\n{"id":"no request"}\n`);
    answer(id, text("after the rubbish"));
  },
  "bad-result": ({ id }) => answer(id, { content: "no list" }),
  "unknown-part": ({ id }) =>
    answer(id, {
      content: [
        { type: "hologram\u001b[2J", depth: 3 },
        { type: "text", text: "the rest" },
      ],
    }),
  "progress-with-escapes": ({ params }) => {
    const progressToken = params?._meta?.progressToken;
    notify("notifications/progress", { progressToken, progress: 1, message: "step\u001b[2J\u202e" });
  },
  "no-result": ({ id }) => answer(id, 7),
  refuses: ({ id }) =>
    write({ jsonrpc: "2.0", id, error: { code: -32_602, message: `no such tool\n${"x".repeat(5_000)}` } }),
  "huge-line": () => flood("x".repeat(65_536)),
  "flood-notifications": () =>
    flood(
      `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } })}\n`,
    ),
  "flood-then-answer": ({ id }) => {
    for (let at = 0; at < 2_000; at += 1) notify("notifications/message", { level: "info", data: at });
    answer(id, text("after the flood"));
  },
  "flood-requests": () => flood(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`),
  "flood-errors": ({ id }) => {
    const lines = `${"e".repeat(999)}\n`.repeat(4_000);
    process.stderr.write(lines, () => answer(id, text("after the errors")));
  },
  "endless-progress": ({ params }) => {
    const progressToken = params?._meta?.progressToken;
    let progress = 0;
    setInterval(
      () => notify("notifications/progress", { progressToken, progress: (progress += 1), message: "busy" }),
      10,
    );
  },
  slow: ({ id, params }) => {
    const progressToken = params?._meta?.progressToken;
    let progress = 0;
    const timer = setInterval(() => {
      progress += 1;
      notify("notifications/progress", { progressToken, progress, total: 60, message: "busy" });
      if (progress < 60) return;
      clearInterval(timer);
      answer(id, text("done at last"));
    }, 25);
  },
  "list-change": ({ id }) => {
    lists[mode] = [tool("ask"), tool("new")];
    notify("notifications/tools/list_changed");
    answer(id, text("changed"));
  },
  environment: ({ id }) => answer(id, text(JSON.stringify(process.env))),
  children: ({ id }) => {
    void import("node:child_process").then(({ spawn }) => {
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 60_000)"], { stdio: "ignore" });
      answer(id, text(`${child.pid}`));
    });
  },
  "leaves-group": ({ id }) => {
    void import("node:child_process").then(({ spawn }) => {
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 60_000)"], {
        stdio: "ignore",
        detached: true,
      });
      answer(id, text(`${child.pid}`));
    });
  },
  "counts-starts": ({ id }) => {
    answer(id, text(`start ${readFileSync(file, "utf8").length}`));
    setImmediate(() => process.exit(5));
  },
};

/** Calls that wait until there are enough of them, and are answered last first. */
const waiting: Request[] = [];
calls["out-of-order"] = (request) => {
  waiting.push(request);
  if (waiting.length < 3) return;
  for (const { id, params } of waiting.toReversed()) answer(id, text(`${params?.arguments?.["word"]}`));
};
/** Says which calls were taken back, once asked by a second call. */
const cancelled: unknown[] = [];
calls["cancel"] = ({ id, params }) => {
  if (params?.arguments?.["what"] === "was cancelled") answer(id, text(JSON.stringify(cancelled)));
  else notify("notifications/progress", { progressToken: params?._meta?.progressToken, progress: 1 });
};

const starts: Record<string, () => void> = {
  "never-starts": () => undefined,
  "ends-at-once": () => process.exit(1),
  stubborn: () => undefined,
};

function begin({ id }: Request): void {
  const start = starts[mode];
  if (start !== undefined && mode !== "stubborn") return start();
  answer(id, {
    protocolVersion: "2025-06-18",
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: `hostile ${mode}`, version: "1" },
  });
}

function list({ id, params }: Request & { params?: { cursor?: string } }): void {
  if (mode === "endless-list")
    answer(id, { tools: [tool(`t${params?.cursor ?? ""}`)], nextCursor: `${params?.cursor ?? ""}x` });
  else answer(id, { tools: lists[mode] ?? [tool("ask", { annotations: { readOnlyHint: true } }), tool("change")] });
}

if (mode === "counts-starts") appendFileSync(file, "x");
if (mode === "stubborn") {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
  setInterval(() => undefined, 60_000);
}

/** Supports only the protocol of 2026-07-28: no `initialize`, and each result states that it is complete. */
function answerNewly({ id, method }: Request): void {
  const results: Record<string, Record<string, unknown>> = {
    "server/discover": {
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      ttlMs: 0,
      cacheScope: "private",
    },
    "tools/list": { tools: [tool("ask")], ttlMs: 0, cacheScope: "private" },
    "tools/call": { content: [{ type: "text", text: "newly" }] },
  };
  const result = results[method];
  if (result !== undefined) answer(id, { resultType: "complete", ...result });
  else if (id !== undefined) write({ jsonrpc: "2.0", id, error: { code: -32_601, message: "Method not found" } });
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line) as Request;
  if (mode === "new") return answerNewly(request);
  if (request.method === "initialize") begin(request);
  else if (request.method === "tools/list") list(request);
  else if (request.method === "notifications/cancelled") cancelled.push(request.params?.requestId);
  else if (request.method === "ping" && mode !== "hang") answer(request.id, {});
  else if (request.method === "tools/call") {
    const call = calls[mode];
    if (call === undefined) answer(request.id, text(`${request.params?.name}`));
    else call(request);
  }
});
