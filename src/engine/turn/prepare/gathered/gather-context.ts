/** Gathers what the message of a turn has beside the instruction, and makes the message. */
import type { PartRef } from "../../../../domain/input-part.ts";
import type { UserItem } from "../../../../domain/history.ts";
import { alreadySent } from "../../../../domain/lineage.ts";
import { missingWorkspaceNews } from "../../../contexts/missing-workspace.ts";
import type { EngineDependencies } from "../../../dependencies.ts";
import type { AcceptedPart } from "../../kept/accepted-part.ts";
import { placeInput, type PlacedInput } from "../../kept/kept-parts.ts";
import { contextBlock, line } from "../../request/context-block.ts";
import { userMessage } from "../../request/envelope.ts";
import { newsNotes, type FileNews } from "../../request/file-news.ts";
import { mailboxBlock } from "../../request/mailbox-block.ts";
import { endingNotes, noteBlock, unheardNote } from "../../request/note-block.ts";
import { rulesNotes } from "../../request/rules-block.ts";
import type { AcceptedRequest } from "../accepted-request.ts";
import { memoryNews, type FreshHistory, type MemoryNews } from "../facts/turn-memory.ts";
import { mediaElsewhere } from "../result-media.ts";
import { missingPins, type RepeatedPins } from "../summarised/pins.ts";
import { noteRulesFiles, surroundingsNews, type SurroundingsNews } from "../surroundings.ts";
import type { TurnPlacement } from "../turn-placement.ts";
import type { CheckedFile } from "./check-files.ts";
import { budgetOf } from "./file-budget.ts";
import { versionsOf } from "./file-versions.ts";
import { chunkBounds, gatherChunks, type GatheredChunks } from "./gather-chunks.ts";
import { gatherFiles, namedFiles, type GatheredFiles } from "./gather-files.ts";
import { gatherDocuments, joinedChunks } from "./long-documents.ts";

/** The part of a registered turn that is gathered for (live/turn-stages.ts). */
export interface TurnToGatherFor {
  accepted: AcceptedRequest;
  place: TurnPlacement;
  live: { turnId: string; signal: AbortSignal };
}

/** Everything that the message has beside the instruction, and the message. */
export interface TurnContext {
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
export async function gatherContext(
  deps: EngineDependencies,
  { live, accepted, place }: TurnToGatherFor,
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
  const context = contextBlock(chunks.toSend, files.toSend, describedInput(accepted));
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

/** Returns the parts that the message describes. The images and documents of other items stand in those, and come first. */
function describedInput(accepted: AcceptedRequest): AcceptedPart[] {
  let elsewhere = mediaElsewhere(accepted);
  return accepted.input.filter(({ shown }) => shown.as !== "media" || (elsewhere -= 1) < 0);
}

/** Returns the images and documents of the message: those that no other item has. */
function ownMedia(accepted: AcceptedRequest, { media }: PlacedInput): PartRef[] {
  return media.slice(mediaElsewhere(accepted));
}

function waitingNote(waiting: readonly CheckedFile[]): string[] {
  if (waiting.length === 0) return [];
  return [
    `Modified files that were not sent, because there was no room (with their tokens): ${line(namedFiles(waiting))}.`,
  ];
}
