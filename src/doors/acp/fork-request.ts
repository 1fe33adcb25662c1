/**
 * The schema of `session/fork`, which the stable protocol does not have yet (P1). It reads only the fields that it shares with
 * `session/new`. The turn to fork at is in `_meta`.
 */
import { z } from "zod";

const named = z.array(z.object({ name: z.string(), value: z.string() }));

const mcpServer = z.union([
  z.object({ type: z.literal("http"), name: z.string(), url: z.string(), headers: named }),
  z.object({ type: z.literal("sse"), name: z.string(), url: z.string(), headers: named }),
  z.object({ name: z.string(), command: z.string(), args: z.array(z.string()), env: named }),
]);

export const forkRequest = z.object({
  sessionId: z.string(),
  cwd: z.string(),
  additionalDirectories: z.array(z.string()).nullish(),
  mcpServers: z.array(mcpServer).nullish(),
  _meta: z.record(z.string(), z.unknown()).nullish(),
});

export type ForkRequest = z.output<typeof forkRequest>;
