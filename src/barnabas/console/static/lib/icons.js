// Small line drawings, in the color of the text.
import { html } from "../vendor/htm-preact.js";

const PATHS = {
  logo: "M4 5h9M4 10h14M4 15h11",
  overview: "M3 17V9m5 8V4m5 13v-6m5 6V7",
  topics: "M3 5h16M3 10h16M3 15h10",
  groups:
    "M8 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-5.500 8c0-3 2.500-5 5.500-5s5.500 2 5.500 5M15 4.500a3 3 0 0 1 0 5.500m2 3.500c1.700.8 2.700 2.500 2.700 4.500",
  pipelines:
    "M5 7a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm0 12a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm12-6a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM7 5h3c3 0 2 6 5 6M7 17h3c3 0 2-6 5-6",
  schemas: "M5 3h8l4 4v12H5zM13 3v4h4M8 11h6M8 15h6",
  cluster: "M4 4h14v5H4zM4 13h14v5H4zM7 6.500h.01M7 15.500h.01",
  access: "M6 10V7a5 5 0 0 1 10 0v3M4 10h14v8H4z",
  api: "m7 6-4 5 4 5M15 6l4 5-4 5M12.500 4l-3 14",
  search: "M10 16a6 6 0 1 0 0-12 6 6 0 0 0 0 12Zm4.500-1.500L19 19",
  theme: "M11 3a8 8 0 1 0 8 8 6 6 0 0 1-8-8Z",
};

export const Icon = ({ name }) =>
  html`<svg class="glyph" viewBox="0 0 22 22" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
