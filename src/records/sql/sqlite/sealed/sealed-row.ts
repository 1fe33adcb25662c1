/** The row of a finished turn with its steps, in packed form. */
import { AptoveError } from "../../../../domain/errors.ts";
import type { ContentText } from "./content-row.ts";
import { allForms, asBytes, wordsOf } from "./content-texts.ts";
import { unpackFrame } from "./frames.ts";
import { packPart, unpackPart, type Around, type Part } from "./parts.ts";

const version = 2;
/** Version 1 was a whole frame, which begins with this byte. */
const versionOneByte = 0x28;

interface AroundRow {
  seed: Part;
  text: ContentText;
}

export async function sealRow(bytes: Buffer, around: AroundRow): Promise<{ sealed: Buffer; row: Part }> {
  const { packed, part } = await packPart(bytes, aroundPart(around));
  return { sealed: Buffer.concat([Uint8Array.of(version), packed]), row: part };
}

/** Throws an error if the bytes, the words or the seed are not those with which the row was sealed. */
export function unsealRow(sealed: Buffer, around: AroundRow): Part {
  if (sealed[0] === versionOneByte) {
    const { instruction, answer } = around.text;
    const bytes = unpackFrame(sealed, [around.seed.short, Buffer.from(instruction + answer)]);
    return { bytes, short: bytes, values: [] };
  }
  if (sealed[0] !== version) throw new AptoveError("storage_failed", "it begins with an unknown byte");
  return unpackPart(sealed.subarray(1), aroundPart(around));
}

function aroundPart({ seed, text }: AroundRow): Around {
  const words = wordsOf(text);
  return { before: [seed.short, asBytes(words.once)], texts: allForms(words), values: [], seedValues: seed.values };
}
