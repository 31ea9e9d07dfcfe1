// The rows of a long list that are near the window, between gaps as high as the other rows.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { placeOfReturn } from "./live-list.js";

/** Rows that are rendered above and below those in the window. */
const margin = 30;
/**
 * Rows that are rendered at first beside those in the window: the others follow after the first
 * paint. Above, because the list begins below the top of the page.
 */
const firstMargin = { above: 12, below: 4 };
/** The rendered rows change after this number of rows has passed. */
const chunk = 20;
/** Until the first row is rendered. */
const usualHeight = 34;
/** More rows are read when the end of the list is nearer than this. */
const nearEndPx = 400;

/**
 * The body of a table.
 * @param {object} props
 * @param {number} props.count of all rows
 * @param {(index: number) => import("preact").VNode} props.row from 0
 * @param {() => void} props.more called near the end of the list
 */
export function NearRows({ count, row, more }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const height = useRef(usualHeight);
  // The place to which the browser's Back returns: the rows there are the first that are rendered.
  const [place, setPlace] = useState(() => ({
    first: Math.max(0, Math.floor(placeOfReturn() / usualHeight) - firstMargin.above),
    isPainted: false,
  }));
  const look = () => {
    const top = body.current?.getBoundingClientRect().top ?? 0;
    const first = chunkAt(-top / height.current);
    setPlace((known) =>
      known.isPainted && known.first === first ? known : { first, isPainted: true },
    );
    const isNearEnd = scrollY + innerHeight > document.body.scrollHeight - nearEndPx;
    if (isNearEnd && scrollY > 0) more();
  };
  useEffect(() => {
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look, { passive: true });
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [more]);
  // Also when rows were added: the window may still be at the end.
  useEffect(look, [count]);
  useLayoutEffect(() => {
    const measured = body.current?.querySelector("tr[data-row]")?.getBoundingClientRect().height;
    if (measured !== undefined && measured > 0) height.current = measured;
  });
  const { first, isPainted } = place;
  const inWindow = Math.ceil(innerHeight / height.current);
  const [above, below] = isPainted
    ? [margin, chunk + margin]
    : [0, firstMargin.above + firstMargin.below];
  const begin = Math.min(Math.max(0, first - above), count);
  const end = Math.min(count, first + inWindow + below);
  return html`
    <tbody role="rowgroup" ref=${body}>
      ${begin > 0 && html`<${Gap} key="above" rows=${begin} height=${height.current} />`}
      ${Array.from({ length: end - begin }, (_, offset) => row(begin + offset))}
      ${end < count && html`<${Gap} key="below" rows=${count - end} height=${height.current} />`}
    </tbody>
  `;
}

/** @param {number} row */
function chunkAt(row) {
  return Math.max(0, Math.floor(row / chunk) * chunk);
}

/**
 * The height of rows that are not rendered.
 * @param {{ rows: number, height: number }} props
 */
function Gap({ rows, height }) {
  return html`<tr aria-hidden="true" class="gap">
    <td style=${{ height: `${rows * height}px` }}></td>
  </tr>`;
}
