/** A text as a square that cameras read. */
import { encode } from "uqr";
import { useMemo } from "preact/hooks";

export function Square({ text }: { text: string }) {
  const { data, size } = useMemo(() => encode(text, { border: 3 }), [text]);
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return (
    <svg class="square" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="The address as a code for a camera">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
