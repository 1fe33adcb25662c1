/** The schemas of requests that the stable protocol does not have yet (P1). */
import * as z from "zod";

const named = z.array(z.object({ name: z.string(), value: z.string() }));

const mcpServer = z.union([
  z.object({ type: z.literal("http"), name: z.string(), url: z.string(), headers: named }),
  z.object({ type: z.literal("sse"), name: z.string(), url: z.string(), headers: named }),
  z.object({ name: z.string(), command: z.string(), args: z.array(z.string()), env: named }),
]);

/** `session/fork`: only the fields that it shares with `session/new`. The turn to fork at is in `_meta`. */
export const forkRequest = z.object({
  sessionId: z.string(),
  cwd: z.string(),
  additionalDirectories: z.array(z.string()).nullish(),
  mcpServers: z.array(mcpServer).nullish(),
  _meta: z.record(z.string(), z.unknown()).nullish(),
});

export type ForkRequest = z.output<typeof forkRequest>;

/** `session/set_title`. */
export const titleRequest = z.object({ sessionId: z.string(), title: z.string() });

export type TitleRequest = z.output<typeof titleRequest>;
