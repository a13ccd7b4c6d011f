// What flows from where to where: topics, pipelines, connectors and tables in layers, as plain SVG.
import { html } from "../vendor/htm-preact.js";
import { compact, rate } from "./format.js";
import { connectorPath, pipelinePath, topicPath } from "./route.js";

const WIDTH = 168,
  HEIGHT = 46,
  COLUMN = 238,
  ROW = 76,
  MARGIN = 16;
const KINDS = {
  topic: "topic",
  files: "table",
  postgres: "table",
  mysql: "table",
  sqlite: "table",
  duckdb: "table",
  pipeline: "pipeline",
  connector: "connector",
};
const STATES = {
  running: "good",
  RUNNING: "good",
  done: "quiet",
  waiting: "warning",
  RESTARTING: "warning",
  failed: "bad",
  FAILED: "bad",
  lost: "bad",
  died: "bad",
};

// Of a long path the end says most, of anything else the beginning.
function short({ label, kind }, length = 19) {
  const text = kind === "files" ? label.slice(label.lastIndexOf("/", label.length - 2) + 1) : label;
  return text.length <= length ? text : text.slice(0, length - 1) + "…";
}
const perSecond = (value) => `${rate(value)}/s`;

export function Graph({ flow }) {
  const tallest = Math.max(...flow.layers);
  const width = 2 * MARGIN + (flow.layers.length - 1) * COLUMN + WIDTH,
    height = 2 * MARGIN + (tallest - 1) * ROW + HEIGHT;
  const x = (layer) => MARGIN + layer * COLUMN;
  const y = (layer, row) => MARGIN + ((tallest - flow.layers[layer]) / 2 + row) * ROW + HEIGHT / 2;
  const drawn = withLabels(flow.edges.map((edge) => ({ edge, points: pointsOf(edge, x, y) })));
  const said = flow.edges
    .map(
      (e) =>
        `${nameOf(flow, e.from)} to ${nameOf(flow, e.to)}${e.rate === null ? "" : `, ${perSecond(e.rate)}`}`,
    )
    .join("; ");
  return html`<div class="scroll card graph-box" tabindex="0" role="region" aria-label="Graph of topics and pipelines">
    <svg class=${flow.layers.length > 6 ? "graph wide" : "graph"} viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} aria-hidden="true">
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 8 4 0 8Z" /></marker></defs>
      ${drawn.map((e) => html`<${Edge} key=${e.edge.from + " " + e.edge.to} ...${e} />`)}
      ${flow.nodes.map((n) => html`<${Node} key=${n.kind + " " + n.name} node=${n} x=${x(n.at[0])} y=${y(...n.at)} />`)}</svg>
    <p class="sr">${said}</p></div>`;
}

const nameOf = (flow, [kind, name]) =>
  `${kind} ${flow.nodes.find((n) => n.kind === kind && n.name === name)?.label ?? name}`;

function pointsOf(edge, x, y) {
  const forward = edge.way.at(-1)[0] >= edge.way[0][0];
  return edge.way.map(([layer, row], at) => {
    if (at === 0) return [x(layer) + (forward ? WIDTH : 0), y(layer, row)];
    return at === edge.way.length - 1
      ? [x(layer) + (forward ? -3 : WIDTH + 3), y(layer, row)]
      : [x(layer) + WIDTH / 2, y(layer, row)];
  });
}

const isLabelled = (edge) => edge.rate !== null && (edge.rate > 0 || !edge.dead_letters);

// Each label on the last part of its edge: in the middle, or where it hides no other. Flat edges
// choose first, since a label that moves along them stays at the same height.
export function withLabels(edges) {
  const taken = [],
    steepness = ({ points }) => Math.abs(points.at(-1)[1] - points.at(-2)[1]);
  const overlaps = ([x, y]) =>
    taken.some((other) => Math.abs(other[0] - x) < 46 && Math.abs(other[1] - y) < 18);
  const placed = new Map(
    [...edges]
      .sort((a, b) => steepness(a) - steepness(b))
      .map((each) => {
        if (!isLabelled(each.edge)) return [each, null];
        const [from, to] = each.points.slice(-2),
          places = [0.5, 0.62, 0.38, 0.72, 0.28].map((t) => along(from, to, t));
        const at = places.find((place) => !overlaps(place)) ?? places[0];
        taken.push(at);
        return [each, at];
      }),
  );
  return edges.map((each) => ({ ...each, at: placed.get(each) }));
}

// A point of the curve that `Edge` draws.
function along([x1, y1], [x2, y2], t) {
  const s = 1 - t,
    middle = (x1 + x2) / 2;
  return [
    s ** 3 * x1 + 3 * s * t * middle + t ** 3 * x2,
    s * s * (s + 3 * t) * y1 + t * t * (t + 3 * s) * y2,
  ];
}

function Edge({ edge, points, at }) {
  let line = `M${points[0]}`;
  for (let n = 1; n < points.length; n += 1) {
    const [[x1, y1], [x2, y2]] = [points[n - 1], points[n]],
      middle = (x1 + x2) / 2;
    line += ` C${middle} ${y1}, ${middle} ${y2}, ${x2} ${y2}`;
  }
  const busy = edge.rate > 0,
    label = at ? perSecond(edge.rate) : "",
    room = label.length * 7 + 10;
  return html`<g class=${`edge ${busy ? "busy" : ""} ${edge.dead_letters ? "dead" : ""}`}><path d=${line} marker-end="url(#arrow)" />
    ${at ? html`<rect x=${at[0] - room / 2} y=${at[1] - 10} width=${room} height="20" rx="10" /><text x=${at[0]} y=${at[1] + 4} text-anchor="middle">${label}</text>` : null}</g>`;
}

function Node({ node, x, y }) {
  const kind = KINDS[node.kind] ?? "other";
  const to = {
    topic: topicPath(node.name),
    pipeline: pipelinePath(node.name),
    connector: connectorPath(node.name),
  }[node.kind];
  const below = node.state
    ? node.state.toLowerCase() + (node.lag ? `, lag ${compact(node.lag)}` : "")
    : node.is_missing
      ? "no such topic"
      : node.records_s !== undefined && node.records_s !== null
        ? `topic, ${perSecond(node.records_s)} in`
        : node.kind === "other"
          ? "outside"
          : node.kind;
  const box = html`<title>${node.kind} ${node.kind === "pipeline" ? node.label : node.name}</title>
    <rect class="box" x=${x} y=${y - HEIGHT / 2} width=${WIDTH} height=${HEIGHT} rx=${kind === "topic" ? 23 : 8} />
    ${node.state ? html`<circle cx=${x + WIDTH - 14} cy=${y - 9} r="4" />` : null}
    <text class="label" x=${x + 14} y=${y - 4}>${short(node)}</text><text class="below" x=${x + 14} y=${y + 13}>${below}</text>`;
  return html`<g class=${`node ${kind} ${STATES[node.state] ?? ""}`}>${to ? html`<a href=${to} tabindex="-1">${box}</a>` : box}</g>`;
}
