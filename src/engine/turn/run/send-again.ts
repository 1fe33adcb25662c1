/**
 * Sends again what a compaction hid from the model: files and chunks that count as sent, in turns that a summary has
 * replaced (X3, Q4, C6).
 */
import type { ActiveFileRef } from "../../../domain/active-file.ts";
import { alreadySent, chunkKey, noteSent } from "../../../domain/lineage.ts";
import type { ContextManifest } from "../../../domain/context.ts";
import type { ChunkRef } from "../../../domain/chunk.ts";
import type { HistoryItem, UserItem } from "../../../domain/history.ts";
import type { EngineCore } from "../live/engine-core.ts";
import { budgetOf } from "../prepare/gathered/file-budget.ts";
import { versionsOf } from "../prepare/gathered/file-versions.ts";
import { chunkBounds, gatherChunks, type GatheredChunks } from "../prepare/gathered/gather-chunks.ts";
import { gatherFiles, type GatheredFiles } from "../prepare/gathered/gather-files.ts";
import { sentWith } from "../prepare/gathered/sent-context.ts";
import { gatherDocuments, joinedChunks } from "../prepare/gathered/long-documents.ts";
import { contextBlock } from "../request/context-block.ts";
import { noteBlock } from "../request/note-block.ts";
import { rulesNotes, type RulesNews } from "../request/rules-block.ts";
import { noteRulesFiles, rulesSent, surroundingsNews, type SurroundingsNews } from "../prepare/surroundings.ts";
import { factRefs, memoryNews, type MemoryNews } from "../prepare/facts/turn-memory.ts";
import type { TurnPlan } from "../prepare/turn-plan.ts";

/**
 * Returns the compacted plan with the hidden files and chunks that this turn names, and the rules, the place and the skills. Throws what retrieval throws (Q5).
 */
export async function sendAgain({ deps }: EngineCore, plan: TurnPlan): Promise<TurnPlan> {
  const { accepted } = plan;
  const sent = alreadySent(plan.visible);
  noteSent(sent, plan.sent);
  const around = surroundingsNews(accepted, plan.visible, plan);
  noteRulesFiles(sent, accepted.files, around);
  const files = gatherFiles(accepted.files, sent, budgetOf(deps, accepted));
  const versions = versionsOf(accepted, { sent, state: plan.visible, wholePaths: files.wholePaths });
  const known = { sent, versions, bounds: chunkBounds(deps.limits), searches: deps, deadline: deps.deadline };
  const documents = await gatherDocuments(deps, accepted, known);
  // The commits are left out, because their warnings were already in the plan of the turn.
  const repositories = accepted.retrieval.repositories.map((each) => ({ ...each, commit: null }));
  const scope = { ...accepted.retrieval, repositories };
  const code = await gatherChunks(scope, accepted.instruction, { ...known, bounds: documents.left });
  const chunks = joinedChunks(documents.chunks, code);
  const memory = memoryNews(accepted, { visible: plan.visible, warned: sent.warned, sent: plan.sent.facts ?? [] });
  const note = noteBlock(rulesNotes(around.rules));
  const context = contextBlock(chunks.toSend, files.toSend);
  const blocks = [note, around.place, around.skills, ...memory.parts, context].filter((block) => block !== null);
  return blocks.length === 0 ? plan : withContext(plan, { blocks, around, memory, files, chunks });
}

interface Again {
  blocks: string[];
  around: SurroundingsNews;
  memory: MemoryNews;
  files: GatheredFiles;
  chunks: GatheredChunks;
}

/** Returns the plan with the blocks in front of the message, which stays byte for byte what was stored (E7). */
function withContext(plan: TurnPlan, { blocks, around, memory, files, chunks }: Again): TurnPlan {
  const context: UserItem = { type: "user", parts: blocks };
  const sentNow = sentWith(chunks, files, plan.accepted.retrieval);
  const facts = [...(plan.sent.facts ?? []), ...memory.sent];
  const at = plan.newItems.findLastIndex((item) => item.type === "user");
  const newItems: HistoryItem[] = at === -1 ? [...plan.newItems, context] : plan.newItems.toSpliced(at, 0, context);
  return {
    ...plan,
    newItems,
    sent: {
      ...withRules(plan.sent, around.rules),
      chunks: [...plan.sent.chunks, ...sentNow.chunks],
      files: [...plan.sent.files, ...sentNow.files],
      ...(facts.length > 0 && { facts }),
    },
    manifest: {
      ...plan.manifest,
      ...factRefs(plan.accepted, plan.visible, { sent: facts }),
      chunks: mergedChunks(plan.manifest.chunks, chunks.refs),
      activeFiles: mergedFiles(plan.manifest.activeFiles, files.refs),
      ...(around.skills !== null && skillsSent(plan)),
    },
  };
}

/** Returns what the manifest keeps of the skills, whose list is sent again. */
function skillsSent({ manifest: { skills } }: TurnPlan): Pick<ContextManifest, "skills"> {
  return skills === undefined ? {} : { skills: { ...skills, wasSent: true } };
}

function withRules(sent: TurnPlan["sent"], news: RulesNews): TurnPlan["sent"] {
  const rules = [...(sent.rules ?? []), ...(rulesSent(news).rules ?? [])];
  return { ...sent, ...(rules.length > 0 && { rules }) };
}

/** Joins the two lists. A chunk counts as sent if it was sent at either time. It may have been found only now. */
function mergedChunks(before: readonly ChunkRef[], now: readonly ChunkRef[]): ChunkRef[] {
  const sentNow = new Set(now.filter((ref) => ref.wasSent).map(refKey));
  const known = new Set(before.map(refKey));
  return [
    ...before.map((ref) => (sentNow.has(refKey(ref)) ? wasSent(ref) : ref)),
    ...now.filter((ref) => !known.has(refKey(ref))),
  ];
}

function wasSent({ notSentBecause: _because, ...ref }: ChunkRef): ChunkRef {
  return { ...ref, wasSent: true };
}

function refKey({ id, contentHash }: ChunkRef): string {
  return chunkKey({ id, hash: contentHash });
}

function mergedFiles(before: readonly ActiveFileRef[], now: readonly ActiveFileRef[]): ActiveFileRef[] {
  const sentNow = new Set(now.filter((ref) => ref.wasSentToLLM).map(({ path }) => path));
  return before.map((ref) => ({ ...ref, wasSentToLLM: ref.wasSentToLLM || sentNow.has(ref.path) }));
}
