/**
 * A turn through each door beside the floor, a bare loop that keeps only the words (`bench/programs/bare-loop.ts`). All call the
 * same model, which answers at once in a process of its own, and they take turns. Everything that a caller waits for counts.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { nowUs } from "./clock.ts";
import { textOf } from "./content.ts";
import { inTurn, median, medianRatio, type BenchRow, type Rounds } from "./rows.ts";
import type { Conversation } from "./subjects/conversation.ts";
import { processorMs, residentBytes } from "./subjects/programs.ts";
import { startSubject, type Subject, type SubjectName } from "./subjects/subject.ts";
import { surroundings, type Surroundings } from "./subjects/surroundings.ts";

const doors = ["ACP", "HTTP", "library"] as const;
const measured: readonly SubjectName[] = ["floor", ...doors];
/** A turn that also asks git what has changed. */
const inRepository: SubjectName = "ACP in a repository";
const firstTurns = 20;
const longTurns = 1_000;
/** The turns of one round: as many as have every kind of base once (K2). */
const window = 16;
const syncTurns = 200;
const tokenTurns = 20;

export async function benchFloor({ rounds }: Rounds): Promise<BenchRow[]> {
  const at = await surroundings();
  try {
    return [
      ...(await newSessions(at, rounds)),
      ...(await longSessions(at, rounds)),
      ...(await firstTokens(at, rounds)),
      ...(await syncRows(at)),
    ];
  } finally {
    await at.end();
  }
}

/** Runs turns, and returns the milliseconds of each. */
async function run(conversation: Conversation, turns: number): Promise<number[]> {
  const times: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const text = textOf("words", "instruction", turn);
    const startedAt = performance.now();
    await conversation.turn(text);
    times.push(performance.now() - startedAt);
  }
  return times;
}

type Figures = Map<SubjectName, number[]>;

function note(figures: Figures, name: SubjectName, value: number): void {
  figures.set(name, [...(figures.get(name) ?? []), value]);
}

function repositoryRow(figures: Figures, what: string): BenchRow {
  const [taken = [], floor = []] = [figures.get(inRepository), figures.get("floor")];
  return { name: `${what}, ${inRepository}`, value: median(taken), unit: "ms", ratio: medianRatio(taken, floor) };
}

function rowsOf(figures: Figures, what: string, bounds: { limit?: number; aim?: number } = {}): BenchRow[] {
  const of = (name: SubjectName): number[] => figures.get(name) ?? [];
  return measured.map((name) => ({
    name: `${what}, ${name}`,
    value: median(of(name)),
    unit: "ms",
    ...(name !== "floor" && { ratio: medianRatio(of(name), of("floor")), ...bounds }),
  }));
}

/** Measures the first turns of new processes, as people start one for each question. */
async function newSessions(at: Surroundings, rounds: number): Promise<BenchRow[]> {
  const times: Figures = new Map();
  const memory: Figures = new Map();
  for (let round = 0; round < rounds; round += 1) {
    for (const name of inTurn([...measured, inRepository], round)) {
      const subject = await startSubject(name, { at, model: "words" });
      const turns = await run(await subject.open(), firstTurns);
      note(times, name, median(turns.slice(5, 10)));
      note(memory, name, residentBytes(subject.pid));
      await subject.end();
    }
  }
  const memoryRows = measured.map((name): BenchRow => {
    const row = {
      name: `memory after ${firstTurns} turns, ${name}`,
      value: median(memory.get(name) ?? []) / 1e6,
      unit: "MB",
    };
    return name === "floor" ? row : { ...row, limit: 110, aim: 95 };
  });
  const what = "turn 10 of a new process";
  return [...rowsOf(times, what, { limit: 2.5, aim: 2 }), repositoryRow(times, what), ...memoryRows];
}

/** Measures turn 1,000: its time, and the processor time, which other load of the machine raises less. */
async function longSessions(at: Surroundings, rounds: number): Promise<BenchRow[]> {
  const times: Figures = new Map();
  const processor: Figures = new Map();
  const all: [Subject, Conversation][] = [];
  for (const name of measured) {
    const subject = await startSubject(name, { at, model: "words" });
    const conversation = await subject.open();
    await run(conversation, longTurns - window);
    console.error(`floor: ${name} has ${longTurns - window} turns`);
    all.push([subject, conversation]);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [{ name, pid }, conversation] of inTurn(all, round)) {
      const before = processorMs(pid);
      note(times, name, median(await run(conversation, window)));
      note(processor, name, (processorMs(pid) - before) / window);
    }
  }
  await Promise.all(all.map(([subject]) => subject.end()));
  return [...rowsOf(times, "turn 1,000", { limit: 1, aim: 0.7 }), ...rowsOf(processor, "processor time of turn 1,000")];
}

/** Measures from the request to the first token, without the time that the model takes for it. */
async function firstTokens(at: Surroundings, rounds: number): Promise<BenchRow[]> {
  const names = ["floor over HTTP", "HTTP"] as const;
  const times: Figures = new Map();
  const subjects = await Promise.all(names.map((name) => startSubject(name, { at, model: "stamp" })));
  const open = await Promise.all(subjects.map(async (subject) => [subject.name, await subject.open()] as const));
  // The first round only warms up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, conversation] of inTurn(open, round)) {
      const firsts: number[] = [];
      for (let turn = 0; turn < tokenTurns; turn += 1) firsts.push(await firstToken(conversation));
      if (round > 0) note(times, name, median(firsts));
    }
  }
  await Promise.all(subjects.map((subject) => subject.end()));
  const [floor = [], http = []] = names.map((name) => times.get(name) ?? []);
  const what = "first token over the provider's";
  return [
    { name: `${what}, floor over HTTP`, value: median(floor), unit: "ms" },
    { name: `${what}, HTTP`, value: median(http), unit: "ms", ratio: medianRatio(http, floor), limit: 1.5 },
  ];
}

async function firstToken(conversation: Conversation): Promise<number> {
  const startedAt = nowUs();
  let took = Number.NaN;
  await conversation.turn("What comes first?", (delta) => {
    const [came = 0, left = 0] = delta.trim().split("-").map(Number);
    took = (nowUs() - startedAt - (left - came)) / 1_000;
  });
  return took;
}

async function syncRows(at: Surroundings): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const name of measured) {
    const bounds = name === "floor" ? {} : { limit: 2.3, aim: 2 };
    const row = { name: `syncs in a turn with one call, ${name}`, unit: "syncs" };
    if (spawnSync("strace", ["--version"]).status !== 0) {
      rows.push({ ...row, value: Number.NaN, note: "strace is not installed" });
      continue;
    }
    const subject = await startSubject(name, { at, model: "words" });
    const conversation = await subject.open();
    await run(conversation, firstTurns);
    const syncs = await countSyncs(subject.pid, join(at.folder, "strace"), () => run(conversation, syncTurns));
    await subject.end();
    rows.push({ ...row, value: syncs / syncTurns, ...bounds });
  }
  return rows;
}

/** Counts the syncs of a running process and all its threads. Throws if `strace` cannot attach to it. */
async function countSyncs(pid: number, file: string, work: () => Promise<unknown>): Promise<number> {
  const args = ["-f", "-e", "trace=fsync,fdatasync", "-o", file, "-p", String(pid)];
  const strace = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
  const exited = once(strace, "exit");
  await once(strace.stderr.setEncoding("utf8"), "data");
  await work();
  strace.kill("SIGINT");
  await exited;
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => /\b(?:fsync|fdatasync)\(/.test(line)).length;
}
