/** The picture behind the rows of the map: a line for each session, and lines down to its forks. The rows say the same in words. */
import { count } from "../parts/numbers.ts";
import { type ForestRow, placeOf, trunksOf } from "./forest.ts";

export const mapRowHeight = 44;
const margin = 14;
/** The line of few turns after many would be shorter than its marks. */
const leastLine = 12;
const middle = mapRowHeight / 2;

interface MapPictureProps {
  rows: readonly ForestRow<unknown>[];
  /** The rows in sight. */
  from: number;
  to: number;
  width: number;
}

export function MapPicture({ rows, from, to, width }: MapPictureProps) {
  const most = longest(rows);
  const x = (turns: number): number => margin + placeOf(turns, most, width - 2 * margin - leastLine);
  const y = (row: number): number => (row - from) * mapRowHeight + middle;
  const seen = trunksOf(rows).filter((trunk) => trunk.to >= from && trunk.from < to);
  return (
    <svg
      class="lanes map-picture"
      style={{ transform: `translateY(${from * mapRowHeight}px)` }}
      width={width}
      height={(to - from) * mapRowHeight}
      aria-hidden="true"
    >
      {ticksOf(most).map((turns) => (
        <line key={turns} class="map-grid" x1={x(turns)} x2={x(turns)} y1={0} y2={(to - from) * mapRowHeight} />
      ))}
      {rows.slice(from, to).map((row, at) => (
        <SessionLine key={row.id} row={row} start={x(row.start)} end={x(row.end)} y={y(from + at)} />
      ))}
      {seen.map((trunk) => {
        const [top, end] = [Math.max(trunk.from, from - 1), Math.min(trunk.to, to)];
        const hue = `lane-${trunk.level % 6}`;
        return (
          <g key={`${trunk.from} ${trunk.at}`}>
            <line class={hue} x1={x(trunk.at)} x2={x(trunk.at)} y1={y(top)} y2={y(end)} />
            {trunk.from >= from && <circle class={hue} cx={x(trunk.at)} cy={y(trunk.from)} r={2.5} />}
          </g>
        );
      })}
    </svg>
  );
}

/** A filled dot is the beginning, a ring the newest turn. */
function SessionLine({ row, start, end, y }: { row: ForestRow<unknown>; start: number; end: number; y: number }) {
  const hue = `lane-${row.level % 6}`;
  if (row.kind === "forks") {
    return (
      <>
        {[0, 5, 10].map((offset) => (
          <circle key={offset} class={hue} cx={start + offset} cy={y} r={1.5} />
        ))}
      </>
    );
  }
  const isEmpty = row.end === row.start;
  const right = Math.max(end, start + leastLine);
  return (
    <>
      {!isEmpty && <line class={`${hue} map-line`} x1={start} x2={right} y1={y} y2={y} />}
      <circle class={isEmpty ? `${hue} hollow` : hue} cx={start} cy={y} r={4} />
      {!isEmpty && <circle class={`${hue} hollow`} cx={right} cy={y} r={4} />}
    </>
  );
}

/** The scale above the rows. */
export function MapScale({ rows, width }: { rows: readonly ForestRow<unknown>[]; width: number }) {
  const most = longest(rows);
  return (
    <div class="map-scale dim small-text numbers" aria-hidden="true" style={{ width: `${width}px` }}>
      {ticksOf(most).map((turns) => (
        <span key={turns} style={{ left: `${margin + placeOf(turns, most, width - 2 * margin - leastLine)}px` }}>
          {turns === 0 ? "turn" : count(turns)}
        </span>
      ))}
    </div>
  );
}

function longest(rows: readonly ForestRow<unknown>[]): number {
  return rows.reduce((most, { end }) => Math.max(most, end), 1);
}

/** Returns the numbers of turns that the scale names. */
function ticksOf(most: number): number[] {
  return [0, 10, 100, 1_000, 10_000, 100_000].filter((turns) => turns <= most);
}
