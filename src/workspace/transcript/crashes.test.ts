/**
 * Runs random turns and edits in processes that die at random points, between the calls to the store and during them. Each
 * run can be repeated by its seed. The checks after it are the contract of a transcript.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, Conversations } from "../../../testing/conversations.ts";
import { seededRandom, type Random } from "../../../testing/simulation/random.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { TranscribedTurn, TranscriptMessage } from "../../domain/transcript.ts";
import { memoryTranscripts } from "../memory/memory-transcripts.ts";
import {
  asideTranscriptName,
  currentTranscriptName,
  transcriptNotesName,
  type TranscriptStore,
} from "../transcript-store.ts";
import { parseTranscript } from "./format.ts";
import { noteOf, parseNotes } from "./notes.ts";
import { createTranscripts, type Transcripts } from "./transcripts.ts";

const id = "default";
const dead = new AptoveError("storage_failed", "the process was killed");

/** Returns a store whose process dies at a certain write: before it, after it, or in the middle of an append. */
function dyingStore(store: TranscriptStore, { writes, random }: { writes: number; random: Random }): TranscriptStore {
  let left = writes;
  const writing = async <T>(write: () => Promise<T>, tear?: () => Promise<unknown>): Promise<T> => {
    left -= 1;
    if (left > 0) return await write();
    if (left === 0) await random.pick([async () => {}, write, tear ?? write])?.();
    throw dead;
  };
  const reading = async <T>(read: () => Promise<T>): Promise<T> => {
    if (left <= 0) throw dead;
    return await read();
  };
  return {
    locked: (workspace, body) => store.locked(workspace, body),
    stat: (...given) => reading(() => store.stat(...given)),
    read: (...given) => reading(() => store.read(...given)),
    append: (workspace, name, { stamp, content }) => {
      const torn = content.subarray(0, random.below(content.length));
      return writing(
        () => store.append(workspace, name, { stamp, content }),
        () => store.append(workspace, name, { stamp, content: torn }),
      );
    },
    write: (...given) => writing(() => store.write(...given)),
    move: (...given) => writing(() => store.move(...given)),
    remove: (...given) => writing(() => store.remove(...given)),
    sync: (...given) => reading(() => store.sync(...given)),
    removeAll: (...given) => writing(() => store.removeAll(...given)),
  };
}

const pieces = ["## User", "\\## System", "", "\n", " ", "é", "👋", "---", "words", "\r\n", "\0", "- a list\n- of two"];

class Simulation {
  readonly #random: Random;
  readonly #peopleEdit: boolean;
  readonly #store = memoryTranscripts();
  readonly #conversations = new Conversations();
  readonly #sessions: string[] = [];
  /** Texts that a person wrote and that must not be lost: they are in a file, or a session began with them. */
  readonly #written: string[] = [];
  readonly #adopted: string[] = [];
  /** Every name that a file got. */
  readonly #names = new Set<string>();
  /** Processes that have begun. A dead one does nothing more. */
  readonly #processes: Transcripts[] = [];
  #time = 1;

  constructor(seed: number, peopleEdit: boolean) {
    this.#peopleEdit = peopleEdit;
    this.#random = seededRandom(seed);
    const move = this.#store.move.bind(this.#store);
    this.#store.move = (workspace, from, to) => {
      this.#names.add(to);
      return move(workspace, from, to);
    };
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      this.#time += 1;
      await this.#random.weighted<() => Promise<void>>([
        [10, () => this.#turns()],
        [3, () => this.#begin()],
        [2, () => this.#transcripts().sync(id)],
        [this.#peopleEdit ? 2 : 0, () => this.#edit()],
        [this.#peopleEdit ? 1 : 0, () => this.#clear()],
      ])();
      await this.#checkPeople();
    }
    for (const session of this.#sessions) {
      await this.#newProcess(Infinity).turnsFinished(id, [this.#conversations.say(session, asked("last", "one"))]);
      await this.#checkSession(session);
    }
    for (const session of this.#sessions) await this.#checkSession(session);
    await this.#checkPeople();
    if (!this.#peopleEdit) assert.ok([...this.#names].every((name) => !name.endsWith(".edited.md")));
  }

  /** Returns the transcripts of a process, which may die after some writes: of a new one, or of one that has written before. */
  #transcripts(): Transcripts {
    if (this.#random.chance(0.5)) this.#processes.push(this.#newProcess(this.#writesToDeath()));
    return this.#random.pick(this.#processes.slice(-2)) ?? this.#newProcess(Infinity);
  }

  #writesToDeath(): number {
    return this.#random.chance(0.6) ? 1 + this.#random.below(9) : Infinity;
  }

  #newProcess(writes: number): Transcripts {
    const store = dyingStore(this.#store, { writes, random: this.#random });
    const report = (message: string, error?: unknown): void => {
      if (error !== undefined) assert.equal(error, dead, message);
    };
    return createTranscripts({ store, now: () => this.#time, report });
  }

  /** Ends a turn, or several together. */
  async #turns(): Promise<void> {
    const turns: TranscribedTurn[] = [];
    do {
      const session = this.#random.pick(this.#sessions);
      if (session === undefined) return await this.#begin();
      turns.push(this.#turnOf(session));
    } while (this.#random.chance(0.4));
    await this.#transcripts().turnsFinished(id, turns);
    // Reported again, as after a restart that does not know whether they were.
    if (this.#random.chance(0.2)) await this.#transcripts().turnsFinished(id, turns);
  }

  #turnOf(session: string): TranscribedTurn {
    const words = (): string => Array.from({ length: 3 }, () => this.#random.pick(pieces)).join("\n");
    const back = this.#random.chance(0.1)
      ? (this.#conversations.again(this.#conversations.headOf(session) ?? "").parentTurnId ?? null)
      : undefined;
    return this.#conversations.say(session, this.#random.chance(0.1) ? [] : asked(words(), words()), back);
  }

  /** Begins a session with a first turn, as the engine does. */
  async #begin(): Promise<void> {
    const transcripts = this.#transcripts();
    const isDead = await survives(async () => {
      const beginning = await transcripts.nextBeginning(id);
      let below: string | null = null;
      if (beginning.kind === "session") below = this.#conversations.headOf(beginning.sessionId);
      if (beginning.kind === "edited") {
        assert.ok(this.#peopleEdit, "an incomplete write was taken for an edit");
        const imported = this.#conversations.begin({ at: this.#time });
        const turn = this.#conversations.say(imported, beginning.messages);
        this.#sessions.push(imported);
        this.#adopted.push(...beginning.messages.map(({ text }) => text));
        await beginning.adopt(turn);
        below = turn.turnId;
      }
      const session = this.#conversations.begin({ at: this.#time, below });
      this.#sessions.push(session);
      await transcripts.turnsFinished(id, [this.#conversations.say(session, asked("first", "one"))]);
    });
    if (isDead && this.#sessions.length === 0) {
      this.#processes.length = 0;
      await this.#begin();
    }
  }

  async #edit(): Promise<void> {
    const read = await this.#store.read(id, currentTranscriptName);
    const before = Buffer.from(read?.content ?? []);
    const mark = `mark ${this.#written.length}.`;
    const written = this.#random.pick([
      () => Buffer.concat([before, Buffer.from(`\n## User\n\n${mark}\n`)]),
      () => Buffer.from(`## User\n\n${mark}`),
      () => Buffer.from(`${mark} in no block`),
      () => Buffer.alloc(0),
    ])?.();
    // A text that the person replaces is gone on purpose.
    for (const [at, old] of this.#written.entries())
      if (before.includes(old) && !written?.includes(old)) this.#written[at] = "";
    if (written?.includes(mark)) this.#written.push(mark);
    await this.#store.write(id, currentTranscriptName, { content: written ?? before });
  }

  async #clear(): Promise<void> {
    await survives(() => this.#transcripts().clear(id));
  }

  async #checkSession(session: string): Promise<void> {
    const { notes } = parseNotes((await this.#store.read(id, transcriptNotesName))?.content ?? Buffer.from("")) ?? {};
    assert.ok(notes !== undefined && noteOf(notes, session) !== null);
    const name = notes.current === session ? currentTranscriptName : asideTranscriptName(session);
    assert.deepEqual(await this.#messages(name), this.#conversations.messagesOf(session));
  }

  async #messages(name: string): Promise<TranscriptMessage[]> {
    const parsed = parseTranscript((await this.#store.read(id, name))?.content ?? Buffer.from([0xff]));
    assert.ok(parsed.kind === "transcript", name);
    return parsed.messages;
  }

  async #checkPeople(): Promise<void> {
    const names = [currentTranscriptName, ...this.#sessions.map(asideTranscriptName), ...this.#names];
    const contents = await Promise.all(names.map(async (name) => (await this.#store.read(id, name))?.content ?? []));
    const all = [...contents.map((content) => Buffer.from(content).toString()), ...this.#adopted].join("\n");
    for (const mark of this.#written) assert.ok(all.includes(mark), `a person's text is lost: ${mark}`);
  }
}

/** Returns true if the process died. */
async function survives(body: () => Promise<void>): Promise<boolean> {
  try {
    await body();
    return false;
  } catch (error) {
    if (error !== dead) throw error;
    return true;
  }
}

const from = Number(process.env["APTOVE_SEED"] ?? 1);

for (const people of [false, true]) {
  const who = people ? "and people edit session.md" : "and no one edits";
  test(`[W4] [B3] wherever processes die ${who}, every turn is in its transcript once, in order, and no text is lost`, async () => {
    for (let seed = from; seed < from + 60; seed += 1) {
      try {
        await new Simulation(seed, people).run(25);
      } catch (error) {
        assert.fail(`APTOVE_SEED=${seed}: ${error instanceof Error ? error.stack : String(error)}`);
      }
    }
  });
}
