/**
 * Many sessions at once in one process: streams of 50 tokens at 20 ms each, with the measured program on one processor and
 * everything else on the other; and durable turns per second. Everything takes turns with the bare loop, over HTTP and over standard input.
 */
import { nowUs } from "./clock.ts";
import { inTurn, median, medianRatio, percentile, type BenchRow, type Rounds } from "./rows.ts";
import type { Conversation } from "./subjects/conversation.ts";
import { pinThisProcess, processorMs, residentBytes } from "./subjects/programs.ts";
import { startSubject, type Subject, type SubjectName } from "./subjects/subject.ts";
import { surroundings } from "./subjects/surroundings.ts";

/** Each door beside the loop on the same transport. */
const pairs = [
  ["HTTP", "floor over HTTP"],
  ["ACP", "floor"],
] as const satisfies readonly (readonly [SubjectName, SubjectName])[];
const tokensPerTurn = 50;
const sampleMs = 100;

const stages = [
  { streams: 16, delay: { limit: 3, aim: 2 } },
  { streams: 64, delay: { limit: 3, aim: 2 }, memory: { limit: 300 }, isProcessorTimed: true },
  { streams: 256, delay: { limit: 1.5, aim: 1.2 }, memory: { limit: 300, aim: 200 } },
];

interface Burst {
  delayMs: number;
  processorMs: number;
  bytes: number;
}

export async function benchMany({ rounds }: Rounds): Promise<BenchRow[]> {
  const at = await surroundings();
  const names = pairs.flat();
  const subjects = await Promise.all(names.map((name) => startSubject(name, { at, model: "paced", core: 0 })));
  const open = new Map<Subject, Conversation[]>(subjects.map((subject) => [subject, []]));
  const rows: BenchRow[] = [];
  pinThisProcess(1);
  try {
    for (const stage of stages) {
      const bursts = new Map<string, Burst[]>(names.map((name) => [name, []]));
      // The first round only warms up.
      for (let round = 0; round <= rounds; round += 1) {
        for (const subject of inTurn(subjects, round)) {
          const conversations = open.get(subject) ?? [];
          while (conversations.length < stage.streams) conversations.push(await subject.open());
          const measured = await burst(subject, conversations);
          if (round > 0) bursts.get(subject.name)?.push(measured);
        }
      }
      rows.push(...rowsOf(stage, bursts));
      console.error(`many: ${stage.streams} streams measured`);
    }
    return rows;
  } finally {
    pinThisProcess(null);
    await Promise.all(subjects.map((subject) => subject.end()));
    await at.end();
  }
}

async function burst(subject: Subject, conversations: readonly Conversation[]): Promise<Burst> {
  const delays: number[] = [];
  let bytes = 0;
  const sampling = setInterval(() => (bytes = Math.max(bytes, residentBytes(subject.pid))), sampleMs);
  const before = processorMs(subject.pid);
  const onDelta = (delta: string): void => {
    const now = nowUs();
    for (const left of delta.trim().split(" ")) delays.push((now - Number(left)) / 1_000);
  };
  try {
    await Promise.all(conversations.map((conversation) => conversation.turn("Tell me the time.", onDelta)));
  } finally {
    clearInterval(sampling);
  }
  const used = processorMs(subject.pid) - before;
  const tokens = tokensPerTurn * conversations.length;
  if (delays.length !== tokens) throw new Error(`${subject.name}: ${delays.length} of ${tokens} tokens were received`);
  return { delayMs: percentile(delays, 95), processorMs: used / conversations.length, bytes };
}

function rowsOf(
  { streams, delay, memory, isProcessorTimed = false }: (typeof stages)[number],
  bursts: Map<string, Burst[]>,
): BenchRow[] {
  return pairs.flatMap(([door, floor]) => {
    const of = (name: string, key: keyof Burst): number[] => (bursts.get(name) ?? []).map((measured) => measured[key]);
    const compared = (
      what: string,
      key: "delayMs" | "processorMs",
      bounds: { limit: number; aim: number },
    ): BenchRow[] => [
      { name: `${streams} streams: ${what}, ${floor}`, value: median(of(floor, key)), unit: "ms" },
      {
        name: `${streams} streams: ${what}, ${door}`,
        value: median(of(door, key)),
        unit: "ms",
        ratio: medianRatio(of(door, key), of(floor, key)),
        ...bounds,
      },
    ];
    return [
      ...compared("delay of a token, p95", "delayMs", delay),
      ...(isProcessorTimed ? compared("processor time of a turn", "processorMs", { limit: 2, aim: 1.5 }) : []),
      ...(memory === undefined
        ? []
        : [
            {
              name: `${streams} streams: memory, ${door}`,
              value: Math.max(...of(door, "bytes")) / 1e6,
              unit: "MB",
              ...memory,
            },
          ]),
    ];
  });
}
