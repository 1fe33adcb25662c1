/**
 * What a turn knows of its surroundings: the rules of the repository (M1), the place (M2) and the skills (M4). The client sends
 * them. The engine reads them itself if the request does not have them and the working copy is on this machine.
 */
import { pathFault } from "../../../domain/active-file.ts";
import type {
  ChangedRules,
  Place,
  RulesFile,
  RulesRef,
  Surroundings,
  SurroundingsChoice,
  SurroundingsRefs,
} from "../../../domain/context.ts";
import type { SkillFile } from "../../../domain/skill.ts";
import { AptoveError, type Warning } from "../../../domain/errors.ts";
import { joinPath, sessionPath, splitPath, type PathNames } from "../../../domain/repositories.ts";
import {
  knownPlace,
  notedRules,
  placeHeader,
  type AlreadySent,
  type NotedRules,
  type State,
} from "../../../domain/lineage.ts";
import { ownsWorkspaces } from "../../access/access.ts";
import type { Caller } from "../../../domain/caller.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import type { TurnRequest } from "../../engine.ts";
import type { KeptRules } from "../kept/kept-rules.ts";
import { placeBlock, placeRef } from "../request/place-block.ts";
import {
  boundRules,
  rulesHash,
  rulesRef,
  rulesSection,
  type BoundedRules,
  type RulesNews,
} from "../request/rules-block.ts";
import type { CheckedFile } from "./gathered/check-files.ts";
import type { AcceptedRequest, AcceptedSurroundings } from "./accepted-request.ts";
import { noSkills, offeredSkills, skillsNews, skillsRef, type SkillsNews, type TurnSkills } from "./skills.ts";
import type { TurnPlan } from "./turn-plan.ts";

interface SurroundingsInput {
  caller: Caller;
  request: TurnRequest;
  /** The rules of the boot prompt so far. Undefined: the conversation begins. */
  keptRules: KeptRules | null | undefined;
  /** The skills of a subagent, which are its spawner's. Absent: they are looked for. */
  skills?: TurnSkills;
}

interface SurroundingsSource {
  /** How paths are read. */
  paths: PathNames;
  /** The folder of this machine with each repository's working copy, by its name. */
  folders: ReadonlyMap<string, string>;
  workspaceId: string | null;
  context: SurroundingsChoice;
}

/** Returns the surroundings of a turn. Throws `request_invalid`. */
export async function acceptSurroundings(
  deps: EngineDependencies,
  input: SurroundingsInput,
  source: SurroundingsSource,
): Promise<AcceptedSurroundings> {
  const { request, keptRules: before } = input;
  const { paths, context } = source;
  const { rules, place, skills, unknownIn } = await foundAround(deps, request, source);
  const now = rules === null || context.rules === false ? null : boundRules(checkedRules(rules, paths));
  return {
    rules: context.rules === false ? null : before === undefined ? beginning(now, paths) : before,
    now,
    place: context.place === false || place === null ? null : inSession(place, paths),
    isBeginning: before === undefined,
    unknownIn,
    skills: await skillsAround(deps, input, { ...source, repository: skills ?? [] }),
  };
}

/** Returns the skills that the turn offers. A turn without a model, or with only the tools that it names, has none (O4). */
async function skillsAround(
  deps: EngineDependencies,
  { caller, request, skills: inherited }: SurroundingsInput,
  { paths, folders, workspaceId, context, repository }: SurroundingsSource & { repository: readonly SkillFile[] },
): Promise<TurnSkills> {
  const isOff = context.skills === false || request.withoutModel === true || request.onlyNamedTools === true;
  if (isOff) return { ...noSkills, read: [] };
  if (inherited !== undefined) return inherited;
  return await offeredSkills(deps.skills, {
    repository,
    // The paths in a request begin in the folder that it names. Without one they are on another machine.
    root: typeof request.workingCopy === "string" ? homeFolder(paths, folders) : null,
    workspaceId: ownsWorkspaces(caller) ? workspaceId : null,
  });
}

type FoundSurroundings = { [Part in keyof Required<Surroundings>]: Exclude<Surroundings[Part], undefined> };

async function foundAround(
  deps: EngineDependencies,
  request: TurnRequest,
  { paths, folders }: Pick<SurroundingsSource, "paths" | "folders">,
): Promise<FoundSurroundings & { unknownIn: string[] }> {
  const isWhole = request.rules !== undefined && request.place !== undefined && request.skills !== undefined;
  const folder = homeFolder(paths, folders);
  const read = folder !== null && !isWhole ? await deps.surroundings?.(folder) : undefined;
  const { rules = read?.rules ?? null, place = read?.place ?? null, skills = read?.skills ?? null } = request;
  const named = new Set(rules?.map(({ path }) => splitPath(paths, path).repo));
  const [readable, unknownIn] = partition(
    paths.names.filter((name) => name !== paths.home && !named.has(name)),
    (name) => folders.has(name),
  );
  const ofOthers = await Promise.all(readable.map(async (name) => await rulesIn(deps, name, folders.get(name) ?? "")));
  if (rules === null) unknownIn.push(...paths.names.filter((name) => name === paths.home));
  const isKnown = rules !== null || readable.length > 0;
  return { rules: isKnown ? [...ofOthers.flat(), ...(rules ?? [])] : null, place, skills, unknownIn };
}

/** Returns the folder of the repository in which the person works. Null: it is on another machine, or unknown. */
function homeFolder({ home }: PathNames, folders: ReadonlyMap<string, string>): string | null {
  return (home === null ? [...folders.values()][0] : folders.get(home)) ?? null;
}

function partition(names: readonly string[], isFirst: (name: string) => boolean): [string[], string[]] {
  return [names.filter(isFirst), names.filter((name) => !isFirst(name))];
}

/** Returns the rules of a repository that the session is about, beside that in which the person works. */
async function rulesIn(deps: EngineDependencies, repo: string, folder: string): Promise<RulesFile[]> {
  const read = await deps.surroundings?.(folder);
  return (read?.rules ?? []).map((file) => ({ ...file, path: joinPath({ repo, path: file.path }) }));
}

/** Returns the rules with the paths that the session has for them. */
function checkedRules(files: readonly RulesFile[], names: PathNames): readonly RulesFile[] {
  const paths = new Set<string>();
  return files.map((file) => {
    const path = sessionPath(names, file.path);
    const fault = paths.has(path) ? "is given twice" : pathFault(splitPath(names, path).path);
    if (fault !== null) throw new AptoveError("request_invalid", `rules: the path ${JSON.stringify(path)} ${fault}`);
    paths.add(path);
    return { ...file, path };
  });
}

function inSession(place: Place, paths: PathNames): Place {
  if (paths.names.length === 0) return place;
  return { ...place, modified: place.modified?.map((path) => sessionPath(paths, path)) ?? null };
}

/** Returns the rules of the boot prompt of a conversation that begins. */
function beginning(now: BoundedRules | null, { names }: PathNames): KeptRules | null {
  const texts = now?.texts ?? [];
  const section = rulesSection(texts, names);
  const ref = rulesRef(texts, section);
  return ref === null ? null : { section, ref };
}

/** What the message of a turn says about the surroundings, beside what the model has already. */
export interface SurroundingsNews extends SkillsNews {
  rules: RulesNews;
  /** The block of the place. Null: there is none, or the model has the same. */
  place: string | null;
  /** True if the model has the block from an earlier message. */
  isPlaceKnown: boolean;
  /** The hash of each file with rules that the model has with this message, by path. Empty: it no longer counts. */
  had: ReadonlyMap<string, string>;
}

type WithSurroundings = Pick<AcceptedRequest, "instruction" | "surroundings" | "retrieval">;

/** The part of a plan that says what the message has already. */
type OwnMessage = Pick<TurnPlan, "message" | "sent">;

/** Compares the surroundings with what the model has from the history, and from its message if there is one already. */
export function surroundingsNews(
  { instruction, surroundings, retrieval }: WithSurroundings,
  state: State,
  own: OwnMessage = { message: [], sent: { chunks: [], files: [] } },
): SurroundingsNews {
  const { now, place } = surroundings;
  const block = place === null ? null : placeBlock(place, retrieval);
  const known = own.message.find((text) => text.startsWith(placeHeader)) ?? knownPlace(state);
  const before = knownRules(surroundings.rules?.ref ?? null, state, own.sent.rules);
  const rules = now === null ? { texts: [], gone: [] } : newRules(now, before, surroundings.unknownIn);
  return {
    rules,
    had: new Map([...before, ...(rulesSent(rules).rules ?? []).map(({ path, hash }) => [path, hash] as const)]),
    // A turn that only brings results of tools has no message that could say it.
    place: instruction === "" || block === known ? null : block,
    isPlaceKnown: block !== null && block === known,
    ...skillsNews(surroundings.skills, { state, message: own.message, mayBeSent: instruction !== "" }),
  };
}

function newRules(
  { texts, unused }: BoundedRules,
  known: ReadonlyMap<string, string>,
  unknownIn: readonly string[],
): RulesNews {
  const isUnknown = (path: string): boolean =>
    unused.has(path) || unknownIn.some((repo) => path.startsWith(`${repo}:`));
  const current = new Set(texts.map(({ path }) => path));
  return {
    texts: texts.filter(({ path, hash }) => known.get(path) !== hash),
    gone: [...known]
      .filter(([path, hash]) => hash !== "" && !current.has(path) && !isUnknown(path))
      .map(([path]) => path),
  };
}

/** Returns the hash of each file with rules that the model has, by path. Empty: it no longer counts. */
function knownRules(
  prompt: Pick<RulesRef, "files"> | null,
  state: State,
  own: readonly NotedRules[] = [],
): Map<string, string> {
  const files = (prompt?.files ?? []).map(({ path, contentHash }) => [path, contentHash] as const);
  return new Map([...files, ...notedRules(state), ...own.map(({ path, hash }) => [path, hash] as const)]);
}

/** Notes the files of a request that the model has as rules, so that it does not receive them a second time (X8). */
export function noteRulesFiles(sent: AlreadySent, files: readonly CheckedFile[], { had }: SurroundingsNews): void {
  for (const { path, hash, current } of files) {
    const known = had.get(path);
    if (known === hash || (current !== null && known === rulesHash(current))) sent.files.set(path, hash);
  }
}

/** Returns what a person has to know of the rules and the skills, when the model gets them: once, not with every turn. */
export function surroundingsWarnings({ surroundings }: WithSurroundings, news: SurroundingsNews): Warning[] {
  const { now, isBeginning, skills } = surroundings;
  return [
    ...(isBeginning || news.rules.texts.length > 0 ? (now?.warnings ?? []) : []),
    ...(isBeginning || news.skills !== null ? skills.warnings : []),
  ];
}

/** Returns the news as they are recorded, so that later turns do not repeat them. */
export function rulesSent({ texts, gone }: RulesNews): { rules?: NotedRules[] } {
  const rules = [...texts.map(({ path, hash }) => ({ path, hash })), ...gone.map((path) => ({ path, hash: "" }))];
  return rules.length === 0 ? {} : { rules };
}

const noRules: RulesRef = { files: [], hash: "", characters: 0 };

/** Returns what the manifest keeps. */
export function surroundingsRefs(
  { surroundings, retrieval }: WithSurroundings,
  state: State,
  news: SurroundingsNews,
): SurroundingsRefs {
  const { rules, place } = surroundings;
  const skills = skillsRef(surroundings.skills, news);
  const isTold = place !== null && (news.place !== null || news.isPlaceKnown);
  const changed = changedRules(state, news.rules);
  const ref = rules?.ref ?? (changed.length === 0 ? null : noRules);
  return {
    ...(ref !== null && { rules: { ...ref, ...(changed.length > 0 && { changed }) } }),
    ...(isTold && { place: placeRef(place, placeBlock(place, retrieval), news.place !== null) }),
    ...(skills !== null && { skills }),
  };
}

function changedRules(state: State, news: RulesNews): ChangedRules[] {
  const sent = new Map((rulesSent(news).rules ?? []).map(({ path, hash }) => [path, hash]));
  return [...new Map([...notedRules(state), ...sent])].map(([path, contentHash]) => ({
    path,
    contentHash,
    wasSent: sent.has(path),
  }));
}
