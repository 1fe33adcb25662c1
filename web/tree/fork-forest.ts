/** The sessions of the map, as far as they are loaded. */
import { signal } from "@preact/signals";
import type { WireForest, WireSession } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";
import { attempted, type Failed } from "../api/loading.ts";
import type { ForestOrigin } from "./forest.ts";
import { ForkPages } from "./fork-pages.ts";

type Listed = WireForest["sessions"][number];

export class ForkForest {
  /** Null: nothing is loaded. */
  readonly sessions = signal<readonly Listed[] | null>(null);
  readonly nextCursor = signal<string | null>(null);
  readonly failed = signal<Failed | null>(null);
  /** The words that the shown sessions contain. Empty: all sessions are shown. */
  readonly text = signal("");
  readonly #pages = new ForkPages();

  /** Loads the newest trees, or the sessions that contain these words. */
  load(text = this.text.value): Promise<void> {
    this.text.value = text;
    return attempted(this.failed, async () => {
      const found = await client.sessions.forest(text === "" ? {} : { q: text });
      if (text !== this.text.value) return;
      this.sessions.value = found.sessions;
      this.nextCursor.value = found.nextCursor;
    });
  }

  more(): Promise<void> {
    const cursor = this.nextCursor.value;
    return attempted(this.failed, async () => {
      if (cursor === null) return;
      const page = await client.sessions.forest({ cursor });
      this.#add(page.sessions);
      this.nextCursor.value = page.nextCursor;
    });
  }

  /** Loads more forks of a turn. */
  moreForks(origin: ForestOrigin): Promise<void> {
    return attempted(this.failed, async () => {
      const { sessions } = await this.#pages.more(origin.turnId);
      this.#add(sessions.map((session: WireSession) => ({ session, origin, forks: null })));
    });
  }

  /** Loads the forks of a session that were not read. */
  forksOf(sessionId: string): Promise<void> {
    return attempted(this.failed, async () => {
      const { sessions } = await client.sessions.forest({ below: sessionId });
      const [root, ...forks] = sessions;
      const known = this.sessions.value ?? [];
      this.sessions.value = known.map((one) =>
        one.session.id === sessionId ? { ...one, forks: root?.forks ?? [] } : one,
      );
      this.#add(forks);
    });
  }

  #add(more: readonly Listed[]): void {
    const known = new Set(this.sessions.value?.map(({ session }) => session.id));
    this.sessions.value = [...(this.sessions.value ?? []), ...more.filter(({ session }) => !known.has(session.id))];
  }
}
