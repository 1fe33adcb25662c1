/** Replaces known secrets in bytes that arrive in pieces, so that none is stored (E8). All other bytes stay exact. */

/** Shorter values occur in any text and are not secrets. */
const secretBytesMin = 8;
const mask = Buffer.from("[secret]");
const nothing = Buffer.alloc(0);

export interface MaskedPiece {
  bytes: Uint8Array;
  /** True if a secret was replaced in these bytes. */
  isMasked: boolean;
}

/** Masks one stream of bytes. */
export class MaskedBytes {
  readonly #forms: readonly Buffer[];
  /** The end of what came, which may be the beginning of a secret. */
  #held: Buffer = nothing;

  constructor(secrets: readonly string[]) {
    // In JSON a secret may be escaped.
    const forms = new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]));
    // The longest is first: one secret may begin with another.
    this.#forms = [...forms]
      .map((form) => Buffer.from(form))
      .filter(({ length }) => length >= secretBytesMin)
      .toSorted((a, b) => b.length - a.length);
  }

  /** Returns the bytes without secrets. The beginning of a secret at their end is held back until the next piece. */
  feed(bytes: Uint8Array): MaskedPiece {
    const whole = this.#held.length === 0 ? view(bytes) : Buffer.concat([this.#held, bytes]);
    const { bytes: masked, isMasked } = this.#replaced(whole);
    const begunBytes = this.#begunAtEnd(masked);
    if (begunBytes === 0) {
      this.#held = nothing;
      return { bytes: masked, isMasked };
    }
    const end = masked.length - begunBytes;
    this.#held = masked.subarray(end);
    return { bytes: masked.subarray(0, end), isMasked };
  }

  /** Returns what was held back, because nothing follows. */
  end(): Uint8Array {
    const held = this.#held;
    this.#held = nothing;
    return held;
  }

  #replaced(bytes: Buffer): { bytes: Buffer; isMasked: boolean } {
    const found = this.#forms.filter((form) => bytes.includes(form));
    return { bytes: found.reduce(without, bytes), isMasked: found.length > 0 };
  }

  /** Returns how many bytes at the end may be the beginning of a secret. */
  #begunAtEnd(bytes: Buffer): number {
    return Math.max(0, ...this.#forms.map((form) => begun(bytes, form)));
  }
}

/** Returns the bytes of a whole text without secrets. */
export function maskedBytes(bytes: Uint8Array, secrets: readonly string[]): MaskedPiece {
  const masking = new MaskedBytes(secrets);
  const { bytes: first, isMasked } = masking.feed(bytes);
  return { bytes: Buffer.concat([first, masking.end()]), isMasked };
}

function without(bytes: Buffer, form: Buffer): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = bytes.indexOf(form); at !== -1; at = bytes.indexOf(form, from)) {
    parts.push(bytes.subarray(from, at), mask);
    from = at + form.length;
  }
  return Buffer.concat([...parts, bytes.subarray(from)]);
}

function begun(bytes: Buffer, form: Buffer): number {
  const [first = 0] = form;
  const earliest = Math.max(0, bytes.length - form.length + 1);
  for (let at = bytes.indexOf(first, earliest); at !== -1; at = bytes.indexOf(first, at + 1)) {
    const length = bytes.length - at;
    if (bytes.subarray(at).equals(form.subarray(0, length))) return length;
  }
  return 0;
}

function view(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
