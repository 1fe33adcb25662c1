/** The wire form of what changes in a caller's sessions while they listen (U3, U8). */
import * as z from "zod";
import { isoTime } from "../../domain/ids.ts";
import { sessionChanges, type SessionNews } from "../../domain/session-news.ts";
import { idSchema, timeSchema } from "../values.ts";

const at = timeSchema.describe("The time of the server.");

export const newsSchema = z
  .discriminatedUnion("type", [
    z.object({
      type: z.literal("read_anew"),
      version: z.string().describe("The version of the server."),
      heartbeatMs: z.int().describe("The longest silence of this stream in milliseconds."),
      at,
    }),
    z.object({ type: z.literal("session_changed"), sessionId: idSchema, what: z.enum(sessionChanges), at }),
    z.object({ type: z.literal("approvals_changed"), count: z.int().min(0), at }),
  ])
  .meta({
    id: "News",
    description:
      "One piece of news. A listener reads again what the news is about. It takes a type or a `what` that it does not know as a change.",
  });
export type WireNews = z.infer<typeof newsSchema>;

export const newsQuerySchema = z.object({
  sessionId: idSchema
    .optional()
    .describe("A session that is news too if it is not among the newest. One that the caller may not see has no news."),
});

export function toWireNews(news: SessionNews, server: { version: string; heartbeatMs: number }): WireNews {
  const sent = { ...news, at: isoTime(news.at) };
  return sent.type === "read_anew" ? { ...sent, ...server } : sent;
}
