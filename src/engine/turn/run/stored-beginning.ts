/**
 * A summary of the session (M5) in place of the oldest part of a history that must be shortened (C4, C6): what it stands for need
 * not be read by a model again.
 */
import { linesByPart, partTitles, type CompletedSummary } from "../../../domain/summary.ts";
import { historySummary } from "../../../domain/lineage.ts";
import { limits } from "../../../domain/limits.ts";
import type { EngineCore } from "../live/engine-core.ts";
import type { TurnPlan } from "../prepare/turn-plan.ts";
import type { PlacedItem } from "./history-cut.ts";
import type { ModelRun } from "./model-run.ts";

export interface StoredBeginning {
  /** The id of the session's summary. */
  id: string;
  text: string;
  /** How many of the items it stands for. */
  done: number;
}

/** Returns the summary that stands for most of this branch. Null: there is none that may be used. */
export async function storedBeginning(
  { deps }: EngineCore,
  { plan, place }: Pick<ModelRun, "plan" | "place">,
  items: readonly PlacedItem[],
): Promise<StoredBeginning | null> {
  if (place.model === null || !mayBeUsed(plan)) return null;
  const asked = { limit: limits.storedSummariesLookedAt, status: "completed" } as const;
  const found = (await deps.records.summaries.list(place.model.id, asked)) as CompletedSummary[];
  const depths = new Map(plan.state.entries.map(({ turnId, depth }) => [turnId, depth]));
  const fitting = found.filter(
    ({ throughTurnId, throughDepth, provider }) =>
      depths.get(throughTurnId) === throughDepth &&
      // The offline model only quotes instructions, which is no history for any other model.
      (provider !== "offline" || plan.accepted.provider.name === "offline"),
  );
  const [best] = fitting.toSorted((one, other) => other.throughDepth - one.throughDepth);
  if (best === undefined) return null;
  const done = items.filter(({ depth }) => depth <= best.throughDepth).length;
  return done === 0 ? null : { id: best.id, text: textOf(best, depths), done };
}

/** A summary was made from everything that its turns say. What was hidden or forgotten since then must not come back with it (M3, O2). */
function mayBeUsed({ visible, state, sent }: TurnPlan): boolean {
  const isWhole = state.entries.every(({ hides, forgets }) => hides === undefined && forgets === undefined);
  return historySummary(visible) === null && isWhole && sent.hides === undefined && sent.forgets === undefined;
}

/** Returns the lines in the form that the compaction's own summaries have: each ends with the numbers of its turns. */
function textOf({ end: { lines } }: CompletedSummary, depths: ReadonlyMap<string, number>): string {
  const numbers = (turnIds: readonly string[]): string => {
    const known = [...new Set(turnIds.map((id) => depths.get(id)))].filter((depth) => depth !== undefined);
    return known.toSorted((a, b) => a - b).join(", ");
  };
  return linesByPart(lines)
    .map(({ part, lines: ofPart }) =>
      [
        `${partTitles[part]}:`,
        ...ofPart.map(({ text, sources }) => `- ${text} [turns ${numbers(sources.map(({ turnId }) => turnId))}]`),
      ].join("\n"),
    )
    .join("\n");
}
