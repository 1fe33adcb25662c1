/**
 * The room that everything kept of a turn takes on the disk (`du`, after the program has closed): 1,000 turns of 400 + 400 characters,
 * random words and prose, and a coding conversation with five calls of a tool in each turn and results of 2 to 30 KB.
 */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { textOf, type ContentKind } from "./content.ts";
import type { BenchRow } from "./rows.ts";
import { end } from "./subjects/programs.ts";
import { libraryProgram } from "./subjects/subject.ts";
import { surroundings, type Surroundings } from "./subjects/surroundings.ts";

const turns = 1_000;
const codingTurns = 100;

export async function benchDisk(): Promise<BenchRow[]> {
  const at = await surroundings();
  try {
    const bounds = { limit: 2_500, aim: 1_500 };
    const words = await converse(at, "words");
    const prose = await converse(at, "prose");
    const coding = await converse(at, "coding");
    return [
      { name: "disk per turn at 1,000, random words", value: words.bytes / turns, unit: "B", ...bounds },
      { name: "disk per turn at 1,000, prose", value: prose.bytes / turns, unit: "B", ...bounds },
      { name: "files at 1,000 turns", value: words.files, unit: "files", limit: 10 },
      {
        name: "disk per turn, coding conversation, over its text",
        value: coding.bytes / codingTurns,
        unit: "B",
        ratio: coding.bytes / coding.textBytes,
        limit: 0.8,
        aim: 0.5,
        note: `${Math.round(coding.textBytes / codingTurns)} B of text a turn, ${codingTurns} turns`,
      },
    ];
  } finally {
    await at.end();
  }
}

interface Turned {
  session: string;
  textBytes: number;
}

interface Kept {
  bytes: number;
  files: number;
  /** The text of the conversation: instructions, answers, calls and results. */
  textBytes: number;
}

async function converse(at: Surroundings, kind: ContentKind | "coding"): Promise<Kept> {
  const dataDir = at.newFolder();
  const { child, pipe } = await libraryProgram(dataDir, { model: at.modelUrl(kind) });
  const count = kind === "coding" ? codingTurns : turns;
  let textBytes = 0;
  let session: string | undefined;
  for (let turn = 0; turn < count; turn += 1) {
    const text = textOf(kind === "words" ? "words" : "prose", "instruction", turn);
    const turned = (await pipe.ask({
      do: "turn",
      text,
      ...(session !== undefined && { session }),
    })) as unknown as Turned;
    ({ session } = turned);
    textBytes += turned.textBytes;
  }
  await end(child);
  console.error(`disk: ${kind} measured`);
  return { bytes: diskBytes(dataDir), files: countFiles(dataDir), textBytes };
}

function diskBytes(folder: string): number {
  return Number(execFileSync("du", ["-s", "--block-size=1", folder], { encoding: "utf8" }).split("\t")[0]);
}

function countFiles(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}
