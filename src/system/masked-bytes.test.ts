import assert from "node:assert/strict";
import { test } from "node:test";
import { MaskedBytes, maskedBytes } from "./masked-bytes.ts";

const secrets = ["sk-0123456789", 'quo"ted\\key', "short"];

function inPieces(text: Buffer, at: readonly number[]): { text: string; isMasked: boolean } {
  const masking = new MaskedBytes(secrets);
  const pieces = [0, ...at].map((from, index) => text.subarray(from, at[index]));
  const fed = pieces.map((piece) => masking.feed(piece));
  const bytes = Buffer.concat([...fed.map((piece) => piece.bytes), masking.end()]);
  return { text: bytes.toString("latin1"), isMasked: fed.some(({ isMasked }) => isMasked) };
}

test("[E8] a secret is replaced wherever the pieces of its bytes are cut", () => {
  const text = Buffer.from('sk-sk-0123456789 and "quo\\"ted\\\\key", quo"ted\\key, short, sk-0123\xff', "latin1");
  const expected = 'sk-[secret] and "[secret]", [secret], short, sk-0123\xff';
  for (let first = 0; first <= text.length; first += 1) {
    for (let second = first; second <= text.length; second += 3) {
      assert.deepEqual(inPieces(text, [first, second]), { text: expected, isMasked: true });
    }
  }
});

test("[D3] bytes without a secret stay exact, and only what may begin a secret waits for the next piece", () => {
  const masking = new MaskedBytes(secrets);
  const first = masking.feed(Buffer.from("data: sk-01234"));
  assert.equal(Buffer.from(first.bytes).toString(), "data: ");
  const second = masking.feed(Buffer.from("x\n\n"));
  assert.deepEqual([Buffer.from(second.bytes).toString(), second.isMasked], ["sk-01234x\n\n", false]);
  assert.equal(masking.end().length, 0);
  const whole = maskedBytes(Buffer.from("ends with sk-0"), secrets);
  assert.deepEqual([Buffer.from(whole.bytes).toString(), whole.isMasked], ["ends with sk-0", false]);
});
