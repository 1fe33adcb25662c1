/** The tree of sessions on the wire: moving the head, forks beside each other, purging, search (S5, S6, S8, T6, K4). */
import { z } from "zod";
import { limits } from "../domain/limits.ts";
import { session } from "./session.ts";
import { turnSummary } from "./turn.ts";
import { columnText, id, queryNumber } from "./values.ts";

export const headMove = z
  .strictObject({
    from: id.nullable().describe("The head as you saw it; null: there is none."),
    to: id.describe("A turn of the session that can be continued."),
  })
  .meta({ id: "HeadMove" });
export type WireHeadMove = z.input<typeof headMove>;

export const sessionGraph = z
  .object({
    session,
    turns: z
      .array(turnSummary)
      .describe("All turns of the session, newest first, then those above it that it was forked from."),
    forks: z
      .array(session)
      .describe("Sessions that begin below one of these turns, as far as the caller may see them."),
  })
  .meta({ id: "SessionGraph" });
export type WireSessionGraph = z.infer<typeof sessionGraph>;

export const purgeReport = z
  .object({
    turnsPurged: z.int(),
    turnsKept: z.int().describe("Turns that other sessions rest on."),
    blobsDeleted: z.int(),
    bytesFreed: z.int(),
  })
  .meta({ id: "PurgeReport" });
export type WirePurgeReport = z.infer<typeof purgeReport>;

export const garbageOrder = z
  .strictObject({ dryRun: z.boolean().describe("True: say what would be deleted, and delete nothing.") })
  .meta({ id: "GarbageOrder" });

export const garbageReport = z
  .object({ keys: z.array(z.string()).describe("Blobs that no turn needs."), bytes: z.int() })
  .meta({ id: "GarbageReport" });
export type WireGarbageReport = z.infer<typeof garbageReport>;

export const searchQuery = z.strictObject({
  q: columnText().describe(
    "Words that all must be there, each anywhere in the session; every character is plain text.",
  ),
  limit: queryNumber(1, limits.pageSizeMax).optional(),
});

export const searchHits = z
  .object({
    hits: z.array(
      z.object({
        session,
        matches: z.array(
          z.object({
            where: z.enum(["name", "instruction", "answer"]),
            turnId: id.nullable().describe("Null for the name."),
            excerpt: z.string().describe("The text around the place, on one line; `…` stands where it was cut."),
          }),
        ),
      }),
    ),
  })
  .meta({ id: "SearchHits" });
export type WireSearchHits = z.infer<typeof searchHits>;
