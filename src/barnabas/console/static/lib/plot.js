// Plots, drawn by uPlot, which the page has loaded.
import { html, useEffect, useRef } from "../vendor/htm-preact.js";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const WINDOW_MS = 15 * 60000;
const MINUTE = 60;

// Steps of the y axis, so that no two ticks have the same label: whole numbers, or parts of an hour.
const powers = (from, to) =>
  Array.from({ length: to - from + 1 }, (_, n) => 10 ** (from + n)).flatMap((p) => [
    p,
    2 * p,
    5 * p,
  ]);
const TIMES_S = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900,
  1800, 3600, 7200, 21600, 43200, 86400, 604800, 2592000, 8640000, 31536000, 315360000,
];
const CLOCK_S = TIMES_S.filter((s) => s >= 1);
const STEPS = {
  number: powers(-1, 15),
  whole: powers(0, 15),
  s: TIMES_S,
  ms: TIMES_S.map((s) => s * 1000),
};

const clock = (t, step) => new Date(t * 1000).toTimeString().slice(0, step >= MINUTE ? 5 : 8);
const once = (labels) => labels.map((label, at) => (labels.indexOf(label) === at ? label : ""));

// `series` are [label, color variable, values]; `times` are milliseconds; `unit` is number, whole, ms or s.
export function Plot({ title, times, series, format, unit = "whole", height = 150 }) {
  const begin = times.findIndex(
    (t, n) => t > times.at(-1) - WINDOW_MS && series.some((each) => known(each[2][n])),
  );
  const from = Math.max(0, begin);
  const drawn = begin >= 0 && series.some((each) => each[2].slice(from).filter(known).length > 1);
  const last = series.map(([label, , values]) => [label, values.findLast(known)]);
  const said = last
    .map(([label, value]) => `${label} ${value === undefined ? "unknown" : format(value)}`)
    .join(", ");
  const data = [
    times.slice(from).map((t) => t / 1000),
    ...series.map((each) => each[2].slice(from)),
  ];
  return html`<figure class="plot"><figcaption><span>${title}</span><span class="legend">${series.map(
    ([label, name], at) => html`
    <span key=${label}><i class=${"dot c" + name}></i>${label} <b>${last[at][1] === undefined ? "–" : format(last[at][1])}</b></span>`,
  )}</span></figcaption>
    ${drawn ? html`<${Canvas} label=${`${title}: now ${said}`} data=${data} series=${series} format=${format} unit=${unit} height=${height} />` : html`<p class="plot-box plot-empty muted">Nothing to draw yet.</p>`}</figure>`;
}

const known = (value) => value !== null && value !== undefined;

function Canvas({ label, data, series, format, unit, height }) {
  const box = useRef(),
    plot = useRef(),
    made = useRef("");
  useEffect(() => {
    const UPlot = window.uPlot;
    const key =
      series.map((each) => each[0]).join() + (document.documentElement.dataset.theme ?? "");
    if (plot.current && made.current === key) {
      plot.current.setData(data);
      return;
    }
    plot.current?.destroy();
    made.current = key;
    const axis = {
      stroke: color("--muted"),
      grid: { stroke: color("--grid"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui",
    };
    plot.current = new UPlot(
      {
        width: box.current.clientWidth,
        height,
        padding: [8, 28, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { size: 6 } },
        scales: {
          y: {
            range: (_, low, high) => [
              Math.min(0, low ?? 0),
              Math.max(high ?? 0, unit === "ms" ? 10 : 1) * 1.15,
            ],
          },
        },
        axes: [
          {
            ...axis,
            size: 26,
            space: 62,
            incrs: CLOCK_S,
            values: (_, ticks, __, ___, step) => once(ticks.map((t) => clock(t, step))),
          },
          {
            ...axis,
            incrs: STEPS[unit],
            space: 34,
            size: (_, labels) => 16 + 7 * Math.max(3, ...(labels ?? []).map((each) => each.length)),
            values: (_, ticks) => once(ticks.map((v) => format(v, true))),
          },
        ],
        series: [
          {},
          ...series.map(([name, at], n) => ({
            label: name,
            stroke: color(at),
            width: 1.75,
            fill: n === 0 ? color(at) + "14" : undefined,
            points: { show: false },
            spanGaps: false,
          })),
        ],
      },
      data,
      box.current,
    );
  });
  useEffect(() => {
    const resize = new ResizeObserver(() =>
      plot.current?.setSize({ width: box.current.clientWidth, height }),
    );
    resize.observe(box.current);
    return () => {
      resize.disconnect();
      plot.current?.destroy();
    };
  }, []);
  return html`<div class="plot-box" role="img" aria-label=${label} ref=${box}></div>`;
}

// A line without axes, as large as a word.
export function Spark({ points, label }) {
  if (!points || points.length < 2) return html`<span class="muted">–</span>`;
  const values = points.map((p) => p[1]),
    high = Math.max(...values, 1);
  const line = values
    .map(
      (v, i) =>
        `${((i / (values.length - 1)) * 80).toFixed(1)},${(18 - (v / high) * 16).toFixed(1)}`,
    )
    .join(" ");
  return html`<svg class="spark" viewBox="0 0 80 20" role="img" aria-label=${label}><polyline points=${line} /></svg>`;
}
