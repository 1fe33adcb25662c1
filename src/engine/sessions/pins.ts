/** Pins turns and passages of turns, lists what is pinned, and removes pins (M6). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId, sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { State } from "../../domain/lineage.ts";
import {
  isSamePassage,
  pinsRoom,
  pinsTokens,
  textOfPart,
  type Passage,
  type Pin,
  type PinnablePart,
  type TurnTexts,
} from "../../domain/pin.ts";
import type { Session } from "../../domain/session.ts";
import { continuableSession, visibleSession } from "../access/visible.ts";
import type { PinRequest, Pins, ShownPin } from "../api/pins.ts";
import { settingsOf } from "../contexts/resolve-contexts.ts";
import { pinnedPassages, textsOfTurn } from "../turn/kept/pinned-texts.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { pinsOfHistory } from "../turn/prepare/summarised/pins.ts";

export function pins(core: EngineCore): Pins {
  return {
    list: async (caller, sessionId) => await shownPins(core, await visibleSession(core.deps, caller, sessionId)),
    add: (caller, sessionId, request) => addPin(core, caller, { sessionId, request }),
    remove: (caller, sessionId, pinId) => removePin(core, caller, { sessionId, pinId }),
  };
}

async function shownPins({ deps, histories }: EngineCore, session: Session): Promise<ShownPin[]> {
  if (session.pins.length === 0) return [];
  const state = await histories.state(session.headTurnId ?? session.originTurnId);
  const inHistory = new Set(pinsOfHistory(session.pins, state).map(({ id }) => id));
  const shown = session.pins.map(async (pin) => {
    // A turn whose blobs are damaged must not hide the other pins.
    const [text = null] = await pinnedPassages(deps, [pin]).catch(() => []);
    return { ...pin, text, isInHistory: inHistory.has(pin.id) };
  });
  return (await Promise.all(shown)).toSorted((a, b) => a.depth - b.depth || a.createdAt - b.createdAt);
}

async function addPin(
  core: EngineCore,
  caller: Caller,
  { sessionId, request }: { sessionId: string; request: PinRequest },
): Promise<ShownPin> {
  const session = await continuableSession(core.deps, caller, sessionId);
  const state = await core.histories.state(session.headTurnId ?? session.originTurnId);
  const depth = depthOf(state, request.turnId);
  const { text, ...passage } = passageOf(request, await textsOfTurn(core.deps, request.turnId));
  const pin: Pin = { ...passage, id: newId(), depth, contentHash: sha256(text), createdAt: core.deps.now() };
  if (pinsOfHistory([pin], state).length === 0) throw notPinnable(`an item of turn ${request.turnId} was deleted`);
  const room = pinsRoom(await windowOf(core, caller, session));
  const change = { pins: { add: pin, room } };
  const updated = await core.deps.records.sessions.update(sessionId, change, core.deps.now());
  if (updated === null) throw new AptoveError("not_found", `there is no session ${JSON.stringify(sessionId)}`);
  const stored = updated.pins.find((one) => isSamePassage(one, pin));
  if (stored === undefined) throw tooLarge(updated.pins, { pin, room });
  return { ...stored, text, isInHistory: true };
}

function tooLarge(pinned: readonly Pin[], { pin, room }: { pin: Pin; room: number }): AptoveError {
  const detail =
    pinned.length >= limits.pinsPerSessionMax
      ? `a session can have ${limits.pinsPerSessionMax} pins`
      : `all pins together would have about ${pinsTokens([...pinned, pin])} tokens; ${Math.floor(room)} fit with the model of this session`;
  return new AptoveError("pins_too_large", `${detail}; remove a pin, or pin a shorter passage`);
}

async function removePin(
  core: EngineCore,
  caller: Caller,
  { sessionId, pinId }: { sessionId: string; pinId: string },
): Promise<ShownPin[]> {
  const { records, now } = core.deps;
  const session = await continuableSession(core.deps, caller, sessionId);
  if (!session.pins.some(({ id }) => id === pinId)) return await shownPins(core, session);
  const updated = await records.sessions.update(sessionId, { pins: { remove: pinId } }, now());
  return updated === null ? [] : await shownPins(core, updated);
}

/** Returns the number of a turn in the history. The same answer for every other turn shows nothing of other sessions (H4). */
function depthOf({ entries }: State, turnId: string): number {
  const entry = entries.find((one) => one.turnId === turnId);
  if (entry !== undefined) return entry.depth;
  throw notPinnable(`turn ${JSON.stringify(turnId)} is not in the history of the session's head`);
}

function notPinnable(detail: string): AptoveError {
  return new AptoveError("pin_invalid", detail);
}

type FoundPassage = Passage & { text: string };

/** Finds the passage that a request names. Throws `pin_invalid`. */
function passageOf(request: PinRequest, texts: TurnTexts): FoundPassage {
  const { turnId, part, text, from, to } = request;
  const isRange = from !== undefined || to !== undefined;
  if (text !== undefined && isRange)
    throw notPinnable("give either the text of the passage, or its first and last character");
  const found =
    text === undefined
      ? rangeOf(texts, { part: part ?? (isRange ? "answer" : "turn"), from, to })
      : quoteOf(texts, part, text);
  const passage = textOfPart(texts, found.part).slice(found.from, found.to);
  if (passage.trim() === "") throw notPinnable("the passage has no text");
  if (!passage.isWellFormed()) throw notPinnable("the passage begins or ends within a character");
  return { turnId, ...found, text: passage };
}

type Place = Pick<Passage, "part" | "from" | "to">;

function rangeOf(
  texts: TurnTexts,
  { part, from = 0, to }: { part: PinnablePart; from: number | undefined; to: number | undefined },
): Place {
  const { length } = textOfPart(texts, part);
  const end = to ?? length;
  if (from < end && end <= length) return { part, from, to: end };
  throw notPinnable(`the ${part} has ${length} characters; ${from} to ${end} is no passage of it`);
}

function quoteOf(texts: TurnTexts, wanted: PinnablePart | undefined, quote: string): Place {
  const parts: PinnablePart[] = wanted === undefined ? ["instruction", "answer"] : [wanted];
  const places = parts.flatMap((part) => {
    const all = textOfPart(texts, part);
    const from = all.indexOf(quote);
    if (from === -1) return [];
    const place = { part, from, to: from + quote.length };
    return all.includes(quote, from + 1) ? [place, place] : [place];
  });
  const [place] = places;
  if (place === undefined) throw notPinnable(`the turn does not have this text: ${JSON.stringify(quote.slice(0, 80))}`);
  if (places.length === 1) return place;
  throw notPinnable(`the turn has this text more than once; give more of it, or the part: ${parts.join(" or ")}`);
}

/** Returns the window of the model that answered last. Null: it is unknown. */
async function windowOf(core: EngineCore, caller: Caller, session: Session): Promise<number | null> {
  const headId = session.headTurnId ?? session.originTurnId;
  const head = headId === null ? null : await core.deps.records.turns.get(headId);
  if (head === null) return null;
  const { providers } = await settingsOf(core.deps, caller, session.workspaceId);
  const provider = await providers.get(head.provider);
  return provider === undefined ? null : core.windows.of({ provider, model: head.model });
}
