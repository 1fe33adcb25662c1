/** The picture beside one row of the tree: its mark, and the lines that pass it or end in it. The text of the row says the same. */
import type { LaneRow } from "./lanes.ts";
import type { TreeNode } from "./tree-nodes.ts";

export const rowHeight = 34;
const laneWidth = 14;
/** The columns that are drawn. Branches beyond them share the last one. */
export const columnsMax = 8;
const middle = rowHeight / 2;

function x(column: number): number {
  return column * laneWidth + laneWidth / 2;
}

/** Lanes take six hues in a fixed order. */
function hue(column: number): string {
  return `lane-${column % 6}`;
}

interface LanesPictureProps {
  row: LaneRow;
  node: TreeNode;
  columns: number;
  isHead: boolean;
}

export function LanesPicture({ row, node, columns, isHead }: LanesPictureProps) {
  const { column, parentColumn, passing, joining, isContinued } = row;
  const isFolded = node.kind === "run";
  return (
    <svg class="lanes" width={columns * laneWidth} height={rowHeight} aria-hidden="true">
      {passing.map((at) => (
        <line key={at} class={hue(at)} x1={x(at)} x2={x(at)} y1={0} y2={rowHeight} />
      ))}
      {joining.map((at) => (
        <path key={at} class={hue(at)} d={`M${x(at)} 0C${x(at)} ${middle} ${x(at)} ${middle} ${x(column)} ${middle}`} />
      ))}
      {isContinued && (
        <line class={`${hue(column)} ${isFolded ? "many" : ""}`} x1={x(column)} x2={x(column)} y1={0} y2={middle} />
      )}
      {parentColumn !== null && (
        <line
          class={`${hue(column)} ${isFolded ? "many" : ""}`}
          x1={x(column)}
          x2={x(column)}
          y1={middle}
          y2={rowHeight}
        />
      )}
      <Mark node={node} at={x(column)} hue={hue(column)} isHead={isHead} />
    </svg>
  );
}

function Mark({ node, at, hue: of, isHead }: { node: TreeNode; at: number; hue: string; isHead: boolean }) {
  switch (node.kind) {
    case "run":
      return null;
    case "attempts":
    case "forks":
      return (
        <>
          {[-5, 0, 5].map((offset) => (
            <circle key={offset} class={of} cx={at + offset} cy={middle} r={1.5} />
          ))}
        </>
      );
    case "fork":
      return <path class={of} d={`M${at} ${middle - 5}l5 5l-5 5l-5 -5z`} />;
    case "turn":
      if (node.turn.subagent !== null)
        return <rect class={markOf(node.turn.status, of)} x={at - 4} y={middle - 4} width={8} height={8} />;
      return (
        <>
          <circle class={markOf(node.turn.status, of)} cx={at} cy={middle} r={isHead ? 6 : 4.5} />
          {isHead && <circle class="inner" cx={at} cy={middle} r={2.5} />}
        </>
      );
  }
}

/** A turn that did not end well is hollow. So is one that is not over. */
function markOf(status: string, of: string): string {
  if (status === "failed") return "hollow failed";
  return status === "completed" || status === "archived" ? of : `hollow ${of}`;
}
