/** The repositories that are indexed, and the runs that index them (Q1, Q2). */
import * as z from "zod";
import { isoTime } from "../../domain/ids.ts";
import { columnText, errorCodeSchema, timeSchema } from "../values.ts";

export const indexListSchema = z
  .object({
    indexes: z.array(
      z
        .object({
          repo: z.string(),
          commit: z.string().nullable(),
          files: z.int(),
          chunks: z.int(),
          embedding: z.object({ model: z.string(), dimension: z.int() }),
          indexedAt: timeSchema,
        })
        .meta({ id: "Index" }),
    ),
  })
  .meta({ id: "IndexList" });

/** The indexed files whose path has a part (U4). */
export const indexedFilesQuerySchema = z.strictObject({
  repo: z.string().min(1).max(4_096).describe("The repository, as `GET /api/indexes` names it."),
  part: z.string().max(4_096).default("").describe("A part of a path, whatever its case."),
});
export const indexedFilesSchema = z
  .object({ paths: z.array(z.string()).describe("At most 20, the best first.") })
  .meta({ id: "IndexedFiles" });

export type WireIndex = z.infer<typeof indexListSchema>["indexes"][number];

const runningSchema = z.object({
  phase: z
    .enum(["waiting", "listing", "chunking", "writing"])
    .describe("`waiting`: another run writes the index. `listing`: the files are compared with the index."),
  filesDone: z.int().describe("In the phase `listing` of all files, afterwards of those that changed."),
  filesTotal: z.int().describe("0 as long as it is not known."),
  bytesDone: z.int(),
  chunksWritten: z.int(),
  startedAt: timeSchema,
  pid: z.int().describe("The process that indexes, on the machine of the index."),
  isHere: z.boolean().describe("True if the server that answers runs it itself."),
  isRefresh: z.boolean().describe("True if a question brings the index up to date."),
});

const completedSchema = z.object({
  endedAt: timeSchema,
  isRefresh: z.boolean(),
  commit: z.string().nullable(),
  filesTotal: z.int(),
  filesChanged: z.int(),
  filesRemoved: z.int(),
  chunksTotal: z.int(),
  chunksWritten: z.int(),
  bytesRead: z.int(),
  durationMs: z.int().describe("A whole number of milliseconds."),
  skipped: z
    .array(z.object({ reason: z.string(), count: z.int(), paths: z.array(z.string()).describe("At most 100.") }))
    .describe("The tracked files that are not in the index, by the reason."),
});

export const indexRunsSchema = z
  .object({
    runs: z.array(
      z
        .object({
          repo: z.string(),
          running: runningSchema.nullable().describe("Null: the repository is not being indexed."),
          done: completedSchema.nullable().describe("The last run that was completed."),
          failed: z
            .object({ endedAt: timeSchema, code: errorCodeSchema, message: z.string() })
            .nullable()
            .describe("The last run that was not completed. The index stayed as it was before."),
        })
        .meta({ id: "IndexRun" }),
    ),
  })
  .meta({ id: "IndexRuns" });

export const indexStartSchema = z
  .strictObject({
    repo: columnText().min(1).describe("A repository, as `GET /api/indexes` names it."),
    rebuild: z.boolean().optional().describe("True: every file is read again, also those that did not change."),
  })
  .meta({ id: "IndexStart" });
export const indexStopSchema = z.strictObject({ repo: columnText().min(1) });

export type WireIndexRun = z.infer<typeof indexRunsSchema>["runs"][number];
export type WireIndexStart = z.input<typeof indexStartSchema>;

/** Times in milliseconds, as the engine has them. */
type Timed<T, Key extends keyof T> = Omit<T, Key> & Record<Key, number>;
interface IndexRun {
  repo: string;
  running: Timed<z.infer<typeof runningSchema>, "startedAt"> | null;
  done: Timed<z.infer<typeof completedSchema>, "endedAt"> | null;
  failed: Timed<NonNullable<WireIndexRun["failed"]>, "endedAt"> | null;
}

export function toWireIndexRun({ repo, running, done, failed }: IndexRun): WireIndexRun {
  return {
    repo,
    running: running && { ...running, startedAt: isoTime(running.startedAt) },
    done: done && { ...done, endedAt: isoTime(done.endedAt) },
    failed: failed && { ...failed, endedAt: isoTime(failed.endedAt) },
  };
}
