/** The manifest of a turn: what its model receives, by names and hashes (E6). */
import type { SkippedFile } from "../../../domain/active-file.ts";
import type { ContextManifest } from "../../../domain/context.ts";
import type { GatheredContext } from "../../../domain/events.ts";
import { sha256 } from "../../../domain/ids.ts";
import { emptyState, type State } from "../../../domain/lineage.ts";
import type { MailboxRef } from "../../../domain/mailbox.ts";
import type { FileNews } from "../request/file-news.ts";
import type { DeliveredMessage } from "../request/mailbox-block.ts";
import type { AcceptedRequest } from "./accepted-request.ts";
import { usesChain } from "./build-call.ts";
import { factRefs } from "./facts/turn-memory.ts";
import type { TurnContext } from "./gathered/gather-context.ts";
import type { GatheredFiles } from "./gathered/gather-files.ts";
import { pinRefs, pinsInManifest } from "./summarised/pins.ts";
import { surroundingsRefs } from "./surroundings.ts";
import type { HistoryDecision } from "./turn-plan.ts";

interface ManifestInput {
  gathered: TurnContext;
  visible: State;
  decision: HistoryDecision;
}

export function plannedManifest(
  turnId: string,
  accepted: AcceptedRequest,
  { gathered, visible, decision }: ManifestInput,
): ContextManifest {
  const { files, chunks, news, around, memory, pinned } = gathered;
  return {
    ...bareManifest(turnId, accepted),
    ...surroundingsRefs(accepted, visible, around),
    ...factRefs(accepted, visible, memory),
    history: decision === null ? "none" : usesChain(decision) ? "chain" : "replay",
    chunks: chunks.refs,
    ...(chunks.isKept && { searchWasKept: true as const }),
    activeFiles: files.refs,
    skippedFiles: [...files.skipped, ...skippedByNews(files, news)],
    historyTurns: visible.entries.length,
    ...pinsInManifest(pinRefs(accepted.pins, visible, pinned.ids)),
  };
}

/** Returns the files that the note names, without those that are listed already. */
function skippedByNews({ skipped }: GatheredFiles, news: readonly FileNews[]): SkippedFile[] {
  const listed = new Set(skipped.map(({ path }) => path));
  return news
    .filter(({ path }) => !listed.has(path))
    .map(({ path, hash }) => ({ path, reason: hash === "" ? "deleted" : "outdated", sizeBytes: null }));
}

/** Returns the manifest of a turn that failed before anything was gathered. */
export function bareManifest(turnId: string, accepted: AcceptedRequest): ContextManifest {
  const { mail, clientTools, surroundings } = accepted;
  const { rules } = surroundings;
  return {
    ...accepted.contextRefs,
    promptHash: accepted.promptHash,
    toolsHash: accepted.toolsHash,
    history: "none",
    settings: accepted.settings,
    chunks: [],
    activeFiles: [],
    skippedFiles: [],
    historyTurns: emptyState.entries.length,
    ...(clientTools.tools.length > 0 && { clientTools: clientTools.storedWith ?? turnId }),
    ...(mail.length > 0 && { mailbox: mail.map(mailboxRef) }),
    ...(rules !== null && { rules: rules.ref }),
  };
}

function mailboxRef({ turnId, subagentId, kind, text }: DeliveredMessage): MailboxRef {
  return { turnId, subagentId, kind, contentHash: sha256(text) };
}

/** Returns what was gathered, in the form that listeners receive. */
export function gatheredContext(given: ContextManifest): GatheredContext {
  const { history, historyTurns, chunks, activeFiles, rules, skills, facts = [] } = given;
  const begins = history === "none" ? (rules?.files ?? []) : [];
  const changed = (rules?.changed ?? []).filter(({ wasSent }) => wasSent);
  return {
    history,
    historyTurns,
    chunks: chunks.map(({ id, path, startLine, endLine, wasSent }) => ({ id, path, startLine, endLine, wasSent })),
    files: activeFiles.map(({ path, wasSentToLLM, wasTooLargeToSend }) => ({
      path,
      wasSent: wasSentToLLM,
      wasTooLarge: wasTooLargeToSend,
    })),
    ...(begins.length > 0 && { rules: begins.map(({ path }) => path) }),
    ...(changed.length > 0 && { rulesChanged: changed.map(({ path }) => path) }),
    ...(facts.some(({ wasSent }) => wasSent) && {
      facts: facts.filter(({ wasSent }) => wasSent).map(({ id }) => id),
    }),
    ...(skills?.wasSent === true && { skills: skills.offered.map(({ name }) => name) }),
  };
}
