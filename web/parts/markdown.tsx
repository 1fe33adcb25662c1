/**
 * Markdown as components: the lexer's tokens become elements, and HTML in the text stays text. While text arrives, only the last
 * block is read again, so that a long answer costs no more than a short one.
 */
import type { Token, Tokens } from "marked";
import { type ComponentChildren, Component, type JSX } from "preact";
import { Code } from "./code.tsx";
import { allBlocks, GrowingBlocks } from "./growing-blocks.ts";

/** The blocks of a longer answer are laid out when they come near. Those of a shorter one have their heights at once, so that nothing moves. */
const shortBlocksMax = 200;

interface MarkdownProps {
  text: string;
  isOpen?: boolean;
}

export class Markdown extends Component<MarkdownProps, { isWhole: boolean }> {
  override state = { isWhole: false };
  readonly #blocks = new GrowingBlocks();

  override shouldComponentUpdate(next: MarkdownProps, state: { isWhole: boolean }): boolean {
    return next.text !== this.props.text || next.isOpen !== this.props.isOpen || state !== this.state;
  }

  override render({ text, isOpen = false }: MarkdownProps) {
    const { hidden, blocks } = this.state.isWhole && !isOpen ? allBlocks(text) : this.#blocks.of(text);
    const last = blocks.at(-1)?.key;
    return (
      <div class={blocks.length > shortBlocksMax ? "markdown long" : "markdown"}>
        {hidden > 0 && !isOpen && (
          <button type="button" class="quiet" onClick={() => this.setState({ isWhole: true })}>
            Show {hidden} earlier blocks
          </button>
        )}
        {hidden > 0 && isOpen && <p class="dim">{hidden} earlier blocks are shown when the answer is complete.</p>}
        {blocks.map(({ key, token }) => (
          <BlockView key={key} token={token} isOpen={isOpen && key === last} />
        ))}
      </div>
    );
  }
}

class BlockView extends Component<{ token: Token; isOpen: boolean }> {
  override shouldComponentUpdate(next: { token: Token; isOpen: boolean }): boolean {
    return next.token.raw !== this.props.token.raw || next.isOpen !== this.props.isOpen;
  }

  override render({ token, isOpen }: { token: Token; isOpen: boolean }) {
    return block(token, isOpen);
  }
}

export function MarkdownBlock({ token }: { token: Token }) {
  return <>{block(token)}</>;
}

function block(token: Token, isOpen = false): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "hr":
      return <hr />;
    case "heading":
      return heading(token as Tokens.Heading);
    case "code":
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang ?? ""} isOpen={isOpen} />;
    case "blockquote":
      return <blockquote>{(token as Tokens.Blockquote).tokens.map((one) => block(one))}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "paragraph":
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? text : inline(tokens);
    }
    default:
      return <p class="raw">{token.raw}</p>;
  }
}

/** The page has headings of its own above these. */
function heading({ depth, tokens }: Tokens.Heading): JSX.Element {
  const Tag = `h${Math.min(6, depth + 1)}` as "h2";
  return <Tag>{inline(tokens)}</Tag>;
}

function list({ ordered, start, items }: Tokens.List): JSX.Element {
  const rows = items.map(({ task, checked, tokens }, at) => (
    <li key={at}>
      {task && (
        <input type="checkbox" checked={checked === true} disabled aria-label={checked === true ? "done" : "open"} />
      )}
      {tokens.map((one) => block(one))}
    </li>
  ));
  return ordered ? <ol start={start === "" ? 1 : start}>{rows}</ol> : <ul>{rows}</ul>;
}

function table({ header, rows }: Tokens.Table): JSX.Element {
  return (
    <div class="scroll-x" role="group" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map(({ tokens, align }, at) => (
              <th key={at} scope="col" class={align ?? ""}>
                {inline(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map(({ tokens, align }, column) => (
                <td key={column} class={align ?? ""}>
                  {inline(tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[]): ComponentChildren {
  return tokens.map((token) => inlineOne(token));
}

function inlineOne(token: Token): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case "mark":
      return <mark>{inline((token as Tokens.Strong).tokens)}</mark>;
    case "del":
      return <del>{inline((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      return link(token as Tokens.Link);
    case "image":
      // No image of another host is loaded: the address would learn who reads the answer.
      return <span class="raw">{token.raw}</span>;
    case "escape":
      return (token as Tokens.Escape).text;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? text : inline(tokens);
    }
    default:
      return token.raw;
  }
}

/** Only addresses that a browser opens as pages, or as letters, become links. */
function link({ href, tokens, raw }: Tokens.Link): ComponentChildren {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return <span class="raw">{raw}</span>;
  return (
    <a href={href} target="_blank" rel="noreferrer noopener" title={href}>
      {inline(tokens)}
    </a>
  );
}
