/** Reads the contents of a turn that are stored as blobs, exactly as they were (D3). */
import { AptoveError } from "../../domain/errors.ts";
import { answerOf, type TurnEvent } from "../../domain/events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { EngineCore } from "./live/engine-core.ts";
import type { AskedOfTurn, TurnReader } from "../engine.ts";
import { readForeignSource, readPart } from "./kept/kept-parts.ts";
import { decodeResponse, readBlob, readBootPrompt, type OpeningBlob } from "./kept/turn-blobs.ts";
import { keptEvents } from "./kept/kept-events.ts";

export function turnReader(core: EngineCore, turn: Turn): TurnReader {
  const { blobs, records } = core.deps;
  const opening = (): Promise<OpeningBlob> => readBlob<"opening">(blobs, turn.blobs.opening, turn.id);
  return {
    turn,
    instruction: async () => (await opening()).instruction,
    prompt: () => promptOf(core, turn),
    message: async () => (await opening()).message,
    inputContent: async ({ content }) => (content === null ? null : await readPart(blobs, content)),
    asked: async () => await askedOf(core, turn, await opening()),
    toolResults: async () => (await opening()).toolResults,
    answer: async () => answerOf(await eventsSoFar(core, turn)),
    steps: () => records.turns.listSteps(turn.id),
    request: async (step) => Buffer.from(await requestBody(core, turn, step)),
    response: async (step) => await responseBytes(core, turn, step),
    output: async (callId) => await outputOf(core, turn, callId),
    source: async () => await sourceBytes(core, turn),
  };
}

async function promptOf({ deps }: EngineCore, { manifest: { promptHash } }: Turn): Promise<string | null> {
  const bytes = await readBootPrompt(deps.blobs, promptHash);
  return bytes === null ? null : Buffer.from(bytes).toString("utf8");
}

async function askedOf(
  core: EngineCore,
  turn: Turn,
  { earlier = [], toolResults, asked = {} }: OpeningBlob,
): Promise<AskedOfTurn> {
  const { clientData = {}, instructionsAt: at } = asked;
  const from = turn.manifest.clientTools;
  const prompt = at === undefined ? null : await promptOf(core, turn);
  return {
    earlier,
    instructions: at === undefined ? null : (prompt?.slice(at.from, at.to) ?? null),
    tools: from === undefined ? [] : await core.histories.clientTools(from),
    toolResults,
    clientData,
  };
}

async function eventsSoFar(core: EngineCore, turn: Turn): Promise<TurnEvent[]> {
  const sequenced =
    turn.status === "pending" ? ((await core.deps.log.read(turn.id, 0)) ?? []) : await keptEvents(core.deps, turn);
  return sequenced.map(({ event }) => event);
}

async function requestBody(core: EngineCore, turn: Turn, step: number): Promise<string> {
  const { blobs, records } = core.deps;
  const opening = await readBlob<"opening">(blobs, turn.blobs.opening, turn.id);
  const key = (await records.turns.listSteps(turn.id)).find((one) => one.index === step)?.request.blob;
  // A call that was running when its process ended has no step, but its request was stored before it was sent.
  const stored = key === undefined ? step : storedStep(turn, key);
  try {
    return await core.histories.request(opening, stored);
  } catch (error) {
    if (key === undefined && error instanceof AptoveError && error.code === "blob_missing") throw noStep(turn, step);
    throw error;
  }
}

/**
 * Returns the step that the request was stored for. A retry sends the bytes of an earlier step, which the name of the
 * blob tells.
 */
function storedStep(turn: Turn, key: string): number {
  return key === turn.blobs.opening ? 1 : Number(/request-(\d+)\.json$/.exec(key)?.[1]);
}

async function responseBytes(core: EngineCore, turn: Turn, step: number): Promise<Uint8Array> {
  if (turn.status === "pending") throw new AptoveError("turn_not_finished", `turn ${turn.id} is still running`);
  const run = turn.blobs.run === null ? null : await readBlob<"run">(core.deps.blobs, turn.blobs.run, turn.id);
  const response = run?.responses.find((one) => one.step === step);
  if (response !== undefined) return decodeResponse(response);
  // Throws if there was no such call.
  await requestBody(core, turn, step);
  const detail = `the model call ${step} of turn ${turn.id} has no response: the turn ended before the response did`;
  throw new AptoveError("not_found", detail);
}

async function outputOf(core: EngineCore, turn: Turn, callId: string): Promise<string> {
  const { run } = turn.blobs;
  const whole = run === null ? [] : ((await readBlob<"run">(core.deps.blobs, run, turn.id)).outputs ?? []);
  const kept = whole.find((one) => one.callId === callId);
  if (kept !== undefined) return kept.text;
  const events = await eventsSoFar(core, turn);
  const result = events.findLast((event) => event.type === "tool_result" && event.callId === callId);
  if (result?.type === "tool_result") return result.output;
  throw new AptoveError("not_found", `turn ${turn.id} has no result of a call ${JSON.stringify(callId)}`);
}

async function sourceBytes({ deps }: EngineCore, { id, foreign }: Turn): Promise<Uint8Array> {
  if (foreign !== undefined) return await readForeignSource(deps.blobs, foreign);
  throw new AptoveError("not_found", `turn ${id} was not imported from another tool`);
}

function noStep(turn: Turn, step: number): AptoveError {
  return new AptoveError("not_found", `turn ${turn.id} has no model call ${step}`);
}
