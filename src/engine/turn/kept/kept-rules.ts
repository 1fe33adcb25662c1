/**
 * Reads the rules of a session back (M1, E6). They are the end of the boot prompt that the session began with, which is
 * stored as it was sent.
 */
import type { BlobStore } from "../../../blobs/blob-store.ts";
import type { RulesRef } from "../../../domain/context.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { sha256 } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { Turn } from "../../../domain/turn.ts";
import { BoundedCache } from "../../../system/bounded-cache.ts";
import { blobKeys, readBootPrompt } from "./turn-blobs.ts";

/** The rules of a boot prompt: the part of it that has them, and what the manifest keeps. */
export interface KeptRules {
  section: string;
  ref: RulesRef;
}

export class RulesOfSessions {
  readonly #blobs: BlobStore;
  readonly #sections = new BoundedCache<string>(limits.contextCacheBytesMax);

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  /**
   * Returns the rules of a turn's boot prompt. Null: it had none. Undefined: the prompt is not stored, as after an import
   * from an old export, so the rules begin anew. Throws `blob_damaged`.
   */
  async of({ manifest }: Pick<Turn, "manifest">): Promise<KeptRules | null | undefined> {
    if (manifest.rules === undefined || manifest.rules.characters === 0) return null;
    const { changed: _changed, ...ref } = manifest.rules;
    const section = this.#sections.get(ref.hash) ?? (await this.#read(manifest.promptHash, ref));
    if (section === null) return undefined;
    this.#sections.set(ref.hash, section, 2 * section.length);
    return { section, ref };
  }

  async #read(promptHash: string, { hash, characters }: RulesRef): Promise<string | null> {
    const bytes = await readBootPrompt(this.#blobs, promptHash);
    if (bytes === null) return null;
    const section = new TextDecoder().decode(bytes).slice(-characters);
    if (sha256(section) === hash) return section;
    const key = blobKeys.prompt(promptHash);
    throw new AptoveError("blob_damaged", `${key} does not end with the rules of its turn`, { facts: { key } });
  }
}
