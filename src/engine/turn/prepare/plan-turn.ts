/**
 * Plans everything that a turn sends to the model, before anything is written or sent: the history, files, chunks, the
 * message, and the exact first request.
 */
import type { ContinuableTurn } from "../../../domain/turn.ts";
import type { SkippedFile } from "../../../domain/active-file.ts";
import type { ContextManifest } from "../../../domain/context.ts";
import { failure, failureOf, type Warning } from "../../../domain/errors.ts";
import type { GatheredContext } from "../../../domain/events.ts";
import type { HistoryItem, ToolResultItem, UserItem } from "../../../domain/history.ts";
import { sha256 } from "../../../domain/ids.ts";
import type { MailboxRef } from "../../../domain/mailbox.ts";
import { alreadySent, emptyState, type State } from "../../../domain/lineage.ts";
import type { AcceptedRequest } from "./accepted-request.ts";
import { chainWarnings, decideHistory, mediaWarnings, firstCall, usesChain, type SentHistory } from "./build-call.ts";
import { newsSent, versionsOf } from "./file-versions.ts";
import { gatherDocuments, joinedChunks } from "./long-documents.ts";
import { nearsWindow } from "./history-size.ts";
import type { CheckedFile } from "./check-files.ts";
import { budgetOf } from "./file-budget.ts";
import {
  chunkBounds,
  gatherChunks,
  gatherFiles,
  namedFiles,
  sentWith,
  type GatheredChunks,
  type GatheredFiles,
} from "./gather.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import type { Histories } from "../kept/histories.ts";
import { missingWorkspaceNews } from "../../contexts/missing-workspace.ts";
import { modeWarnings } from "../../contexts/resolve-contexts.ts";
import { contextBlock, line } from "../request/context-block.ts";
import { mediaTexts, placeInput, type PlacedInput } from "../kept/kept-parts.ts";
import { closeCalls, userMessage, type ClosedCalls } from "../request/envelope.ts";
import { mailboxBlock, type DeliveredMessage } from "../request/mailbox-block.ts";
import { newsNotes, type FileNews } from "../request/file-news.ts";
import { endingNotes, noteBlock, unheardNote } from "../request/note-block.ts";
import { rulesNotes } from "../request/rules-block.ts";
import { earlierTexts, makeRecipe, messageTexts } from "../request/recipe.ts";
import { earlierHistory } from "./earlier.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import { missingPins, pinRefs, pinsInManifest, type RepeatedPins } from "./summarised/pins.ts";
import {
  factRefs,
  forgottenWarnings,
  freshHistory,
  losesSummary,
  memoryNews,
  type FreshHistory,
  type MemoryNews,
} from "./facts/turn-memory.ts";
import {
  noteRulesFiles,
  rulesSent,
  surroundingsWarnings,
  surroundingsNews,
  surroundingsRefs,
  type SurroundingsNews,
} from "./surroundings.ts";
import type { TurnPlacement } from "./turn-placement.ts";
import type { CallGround, HistoryDecision, PlanResult, RequestBase, TurnPlan } from "./turn-plan.ts";

/** Answers the calls that the parent waits for (T8, T9). Throws `tool_feedback_invalid`. */
export function answerOpenCalls(parent: ContinuableTurn | null, accepted: AcceptedRequest): ClosedCalls {
  return closeCalls(parent?.status === "awaiting_tool_results" ? parent.deferredCalls : [], accepted.toolResults);
}

/** The part of a registered turn that its plan needs (live/turn-stages.ts). */
interface TurnToPlan {
  accepted: AcceptedRequest;
  place: TurnPlacement;
  /** The answers to the calls that the parent waits for. */
  closed: ClosedCalls;
  live: { turnId: string; signal: AbortSignal };
}

interface PlanningStores {
  histories: Histories;
  deps: EngineDependencies;
  windows: WindowTable;
}

/** The part of the known windows that a plan needs (live/known-windows.ts). */
interface WindowTable {
  of(called: Pick<AcceptedRequest, "provider" | "model">): number | null;
}

/** Plans the turn. Never throws: a failure here fails the turn. */
export async function tryToPlan(stores: PlanningStores, turn: TurnToPlan): Promise<PlanResult> {
  try {
    return await planTurn(stores, turn);
  } catch (error) {
    if (turn.live.signal.aborted)
      return { failure: failure("interrupted", "the turn was stopped before the model was called") };
    return { failure: failureOf(error) };
  }
}

async function planTurn({ histories, deps, windows }: PlanningStores, turn: TurnToPlan): Promise<PlanResult> {
  const { accepted, closed, place } = turn;
  const { parent } = place;
  const now = deps.now();
  const state = await histories.state(parent?.id ?? null);
  const fresh = await freshHistory(deps, accepted, state);
  const { visible } = fresh;
  const gathered = await gatherContext(deps, turn, fresh);
  const { input, message, files, chunks } = gathered;
  const decision = decideHistory(accepted, parent, { forgets: fresh.forgets.length > 0, now });
  const base = await requestBase(histories, state);
  const earlier = earlierOf(accepted, input.media);
  const newItems = [...closed.results, ...earlier, ...(message === null ? [] : [message])];
  const ground = { turnId: turn.live.turnId, accepted, visible, summary: null, newItems, input };
  const { withoutModel } = accepted;
  const isAsked =
    (accepted.compacts || (losesSummary(state, fresh.forgets) && !withoutModel)) && state.entries.length > 0;
  const isTooLong = isAsked || (!withoutModel && nearsWindow(ground, parent, windows.of(accepted)));
  const isFirstKnown = closed.approved.length === 0 && !isTooLong && !withoutModel;
  const parts = message?.parts ?? [];
  const first = isFirstKnown
    ? await firstRequest(ground, { decision, base, message: parts, earlier, histories })
    : null;
  const plan: TurnPlan = {
    ...ground,
    state,
    isTooLong,
    message: parts,
    sent: {
      ...withNews(sentWith(chunks, files, accepted.retrieval), gathered),
      ...(accepted.hides.length > 0 && { hides: accepted.hides }),
    },
    manifest: manifest(turn.live.turnId, accepted, { gathered, visible, decision }),
    approved: closed.approved,
    decision,
    first,
    base,
  };
  return { plan, warnings: planWarnings({ ...ground, parent, decision }, { gathered, closed }) };
}

async function requestBase(histories: Histories, state: State): Promise<RequestBase | null> {
  const turnId = histories.requestBase(state);
  const body = turnId === null ? null : await histories.firstRequest(turnId);
  return turnId === null || body === null ? null : { turnId, body };
}

interface TurnContext {
  files: GatheredFiles;
  chunks: GatheredChunks;
  /** The files whose version in the history no longer counts. */
  news: readonly FileNews[];
  around: SurroundingsNews;
  memory: MemoryNews;
  workspace: ReturnType<typeof missingWorkspaceNews>;
  /** The facts of the history that were forgotten since the last turn. */
  forgets: readonly string[];
  input: PlacedInput;
  /** The pinned passages that the message repeats. */
  pinned: RepeatedPins;
  message: UserItem | null;
}

/** Gathers everything that the message has beside the instruction, compared with what the history already has. */
async function gatherContext(
  deps: EngineDependencies,
  { live, accepted, place }: TurnToPlan,
  { visible: state, forgets }: FreshHistory,
): Promise<TurnContext> {
  const sent = alreadySent(state);
  const around = surroundingsNews(accepted, state);
  const memory = memoryNews(accepted, { visible: state, warned: sent.warned });
  const workspace = missingWorkspaceNews(accepted.missingWorkspace, sent.warned);
  noteRulesFiles(sent, accepted.files, around);
  const files = gatherFiles(accepted.files, sent, budgetOf(deps, accepted));
  const versions = versionsOf(accepted, { sent, state, wholePaths: files.wholePaths });
  await versions.review();
  const known = { sent, versions, bounds: chunkBounds(deps.limits), searches: deps, deadline: deps.deadline };
  const documents = await gatherDocuments(deps, accepted, known);
  const code = await gatherChunks(accepted.retrieval, accepted.instruction, { ...known, bounds: documents.left });
  const chunks = joinedChunks(documents.chunks, code);
  live.signal.throwIfAborted();
  const input = placeInput(live.turnId, state, accepted.input);
  for (const ref of input.readable) accepted.readable.set(ref.name, ref);
  const pinned = await missingPins(deps, accepted.pins, state);
  const gathered = { files, chunks, news: versions.news, around, memory, workspace, forgets, input, pinned };
  const ending = [...endingNotes(place.parent), ...place.unheard.map(unheardNote)];
  const ofFiles = [...newsNotes(versions.news), ...waitingNote(files.waiting)];
  const notes = [...ending, ...rulesNotes(around.rules), ...ofFiles];
  return { ...gathered, message: buildMessage(accepted, { ...gathered, notes }) };
}

/** Adds what the note names, so that later turns do not repeat it. */
function withNews(
  sent: TurnPlan["sent"],
  { news, around, files, memory, workspace, forgets, pinned }: TurnContext,
): TurnPlan["sent"] {
  const warned = [...(sent.warned ?? []), ...memory.warned, ...workspace.warned];
  return {
    ...sent,
    files: [...sent.files, ...newsSent([...news, ...files.waiting])],
    ...rulesSent(around.rules),
    ...(warned.length > 0 && { warned }),
    ...(memory.sent.length > 0 && { facts: memory.sent }),
    ...(forgets.length > 0 && { forgets: [...forgets] }),
    ...(pinned.ids.length > 0 && { pins: pinned.ids }),
  };
}

interface PlanFindings {
  gathered: TurnContext;
  closed: ClosedCalls;
}

function planWarnings(sent: SentHistory, { gathered, closed }: PlanFindings): Warning[] {
  const closedWarning: Warning[] =
    closed.unanswered === 0
      ? []
      : [{ code: "open_calls_closed", message: `${closed.unanswered} tool calls were closed without a result` }];
  return [
    ...chainWarnings(sent),
    ...mediaWarnings(sent),
    ...closedWarning,
    ...modeWarnings(sent.accepted.conversationContext, sent.accepted.mode),
    ...forgottenWarnings(gathered),
    ...gathered.workspace.warnings,
    ...gathered.memory.warnings,
    ...surroundingsWarnings(sent.accepted, gathered.around),
    ...gathered.files.warnings,
    ...gathered.chunks.warnings,
  ];
}

interface FirstRequest {
  histories: Histories;
  decision: HistoryDecision;
  base: RequestBase | null;
  message: readonly string[];
  earlier: readonly HistoryItem[];
}

async function firstRequest(
  ground: CallGround,
  { decision, base, message, earlier, histories }: FirstRequest,
): Promise<TurnPlan["first"]> {
  const call = firstCall(ground, decision);
  await histories.loadMedia(call, ground.input.loaded);
  const request = ground.accepted.provider.prepare(call);
  const known = [...messageTexts(message), ...mediaTexts(call, ground.input.loaded)];
  const inOrder = earlierTexts(earlier);
  return { call, request, recipe: makeRecipe(request.body, base?.body ?? null, { known, inOrder }) };
}

/** Returns the earlier items as items of the history. `media` are all images and documents of the turn. */
export function earlierOf(
  { mode, earlier }: Pick<AcceptedRequest, "mode" | "earlier">,
  media: readonly PartRef[],
): HistoryItem[] {
  return earlierHistory(mode.id, earlier, media);
}

/** Returns the images and documents of the message: those that no earlier item has. */
function ownMedia({ earlier }: AcceptedRequest, { media }: PlacedInput): PartRef[] {
  return media.slice(earlier.reduce((sum, item) => sum + item.media, 0));
}

/** Returns the plan with the results of the allowed calls, in front of the new message (T9). */
export function withResults(plan: TurnPlan, results: readonly ToolResultItem[]): TurnPlan {
  const after = plan.newItems.findIndex((item) => item.type !== "tool_result");
  const at = after === -1 ? plan.newItems.length : after;
  return { ...plan, newItems: plan.newItems.toSpliced(at, 0, ...results) };
}

interface MessageContent {
  chunks: GatheredChunks;
  files: GatheredFiles;
  input: PlacedInput;
  around: SurroundingsNews;
  pinned: RepeatedPins;
  memory: MemoryNews;
  /** What the model must know about the history, one line each (E2). */
  notes: readonly string[];
}

/** Returns the user message. A turn that only brings tool results still names files that changed. */
function buildMessage(
  accepted: AcceptedRequest,
  { chunks, files, input, around, memory, pinned, notes }: MessageContent,
): UserItem | null {
  const note = noteBlock(notes);
  const context = contextBlock(chunks.toSend, files.toSend, accepted.input);
  const own = ownMedia(accepted, input);
  const media = own.length > 0 ? { media: own } : {};
  const { instruction, mode, mail } = accepted;
  if (instruction !== "" || own.length > 0) {
    const blocks = [note, around.place, around.skills, pinned.block, ...memory.parts, mailboxBlock(mail), context];
    return { ...userMessage(mode.id, instruction, ...blocks), ...media };
  }
  const parts = [note, pinned.block, context].filter((part) => part !== null);
  return parts.length === 0 ? null : { type: "user", parts, ...media };
}

interface ManifestInput {
  gathered: TurnContext;
  visible: State;
  decision: HistoryDecision;
}

function manifest(
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

function waitingNote(waiting: readonly CheckedFile[]): string[] {
  if (waiting.length === 0) return [];
  return [
    `Modified files that were not sent, because there was no room (with their tokens): ${line(namedFiles(waiting))}.`,
  ];
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
