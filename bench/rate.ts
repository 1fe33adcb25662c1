/**
 * Durable turns per second of one process that embeds the library: 64 sessions side by side, one call of the offline model in each turn, without
 * listeners. Beside it the bare loop, with a model in its process too.
 */
import { inTurn, median, type BenchRow, type Rounds } from "./rows.ts";
import { linePipe, type LinePipe } from "./subjects/line-pipe.ts";
import { end, startProgram } from "./subjects/programs.ts";
import { libraryProgram } from "./subjects/subject.ts";
import { surroundings } from "./subjects/surroundings.ts";

const sessions = 64;
const turns = 5;

export async function benchRate({ rounds }: Rounds): Promise<BenchRow[]> {
  const at = await surroundings();
  const library = await libraryProgram(at.newFolder(), { model: "offline" });
  const loop = await startProgram("bare-loop", { args: [at.newFolder(), ""] });
  const rates = new Map<LinePipe, number[]>([
    [library.pipe, []],
    [linePipe(loop), []],
  ]);
  try {
    // The first round only warms up.
    for (let round = 0; round <= rounds; round += 1) {
      for (const [pipe, measured] of inTurn([...rates], round)) {
        const { ms } = (await pipe.ask({ do: "rate", sessions, turns })) as { ms: number };
        if (round > 0) measured.push((sessions * turns * 1_000) / ms);
      }
    }
  } finally {
    await Promise.all([library.child, loop].map((child) => end(child)));
    await at.end();
  }
  const [ours = 0, floor = 0] = [...rates.values()].map(median);
  const what = `durable turns per second, ${sessions} sessions`;
  return [
    { name: `${what}, floor`, value: floor, unit: "/s" },
    { name: `${what}, library`, value: ours, unit: "/s", limit: 300, aim: 500, isLeast: true },
  ];
}
