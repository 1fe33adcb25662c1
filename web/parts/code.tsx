/** A block of code. Colours come late, when the block is complete: the highlighter is a file of its own. */
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { CopyButton } from "./copy-button.tsx";

/** Longer code stays in one colour, because marking it would hold the page. */
const markedCharactersMax = 50_000;

export function Code({ text, language, isOpen = false }: { text: string; language: string; isOpen?: boolean }) {
  return (
    <div class="code">
      <div class="code-head">
        <span>{language.split(/\s/)[0]}</span>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0}>
        <code>
          <Marked text={text} language={language} isOpen={isOpen} />
        </code>
      </pre>
    </div>
  );
}

/** The text with the colours of its language, as soon as they are there. */
export function Marked({ text, language, isOpen = false }: { text: string; language: string; isOpen?: boolean }) {
  const [marked, setMarked] = useState<{ text: string; nodes: ComponentChildren } | null>(null);
  useEffect(() => {
    if (isOpen || language === "" || text.length > markedCharactersMax) return;
    let isCurrent = true;
    void import("./highlight.tsx").then(
      ({ highlight }) => isCurrent && setMarked({ text, nodes: highlight(text, language) }),
      // The server may be away. The code is readable without colours.
      () => undefined,
    );
    return () => void (isCurrent = false);
  }, [text, language, isOpen]);
  return <>{marked !== null && marked.text === text ? marked.nodes : text}</>;
}
