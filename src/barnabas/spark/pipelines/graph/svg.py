"""The graph as a picture: places as rounded labels, pipelines as boxes, from left to right."""

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from barnabas.flow.graph import PIPELINE, Edge, Node, PipelineGraph
from barnabas.flow.layers import Layers, Slot, in_layers

_CHARACTER = 7.0
_HEIGHT = 40
_POINT_HEIGHT = 14
_GAP_X, _GAP_Y = 52, 18
_MARGIN = 24
_LONGEST = 32
_SETTLE = 24
_COLOURS = {
    PIPELINE: ("#1f4e79", "#1f4e79", "#ffffff", "#c9dcee"),
    "topic": ("#eaf3fb", "#5b9bd5", "#17324d", "#5a7896"),
    "files": ("#f3f0e6", "#b89b4c", "#4a3d14", "#8a7634"),
    "postgres": ("#e9f5ec", "#5aa469", "#18402a", "#4d8a5c"),
}
_OTHER = ("#f0f0f0", "#999999", "#333333", "#777777")
"""Fill, border, text and the smaller text above it."""
_STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}"
    ".n{font-size:13px}.k{font-size:9px;letter-spacing:.06em}"
)
_LINES = {"flow": "#8596a8", "letters": "#c0504d", "back": "#d9822b"}
"""The colours of edges, of those for dead letters, and of those that close a cycle."""


def svg(graph: PipelineGraph) -> str:
    """An SVG document."""
    layers = in_layers(graph)
    places = _places(layers)
    width = max((x + _width(slot) for slot, (x, _y) in places.items()), default=0) + _MARGIN
    height = max((y + _height(slot) for slot, (_x, y) in places.items()), default=0) + _MARGIN
    rank = {slot: at for at, layer in enumerate(layers.layers) for slot in layer}
    size = f'width="{width:.0f}" height="{height:.0f}"'
    box = f'viewBox="0 0 {width:.0f} {height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img">',
        "<title>Pipelines</title>",
        f"<style>{_STYLE}</style>",
        "<defs>",
        *(_arrow_head(name, colour) for name, colour in _LINES.items()),
        "</defs>",
        f'<rect {size} fill="#ffffff"/>',
    ]
    lines += [_line(edge, layers, places, rank) for edge in graph.edges]
    for node in graph.nodes:
        lines += _box(node, *places[node])
    return "\n".join([*lines, "</svg>", ""])


def _places(layers: Layers) -> dict[Slot, tuple[float, float]]:
    """The corner of every node and point: layers side by side, neighbours at one height."""
    y: dict[Slot, float] = {}
    for layer in layers.layers:
        at = 0.0
        for slot in layer:
            y[slot] = at
            at += _height(slot) + _GAP_Y
    near: dict[Slot, list[Slot]] = {slot: [] for slot in y}
    for path in layers.paths.values():
        for one, other in pairwise(path):
            near[one].append(other)
            near[other].append(one)
    for step in range(_SETTLE):
        order = layers.layers if step % 2 == 0 else layers.layers[::-1]
        for layer in order:
            _settle(layer, y, near)
    top = min(y.values(), default=0.0)
    places: dict[Slot, tuple[float, float]] = {}
    x = float(_MARGIN)
    for layer in layers.layers:
        wide = max(_width(slot) for slot in layer)
        for slot in layer:
            places[slot] = (x + (wide - _width(slot)) / 2, y[slot] - top + _MARGIN)
        x += wide + _GAP_X
    return places


def _settle(layer: list[Slot], y: dict[Slot, float], near: dict[Slot, list[Slot]]) -> None:
    """Move a layer's nodes to the middle of their neighbours, as far as the order allows.

    Nodes that would overlap move as a block, around the mean of what they want.
    """
    blocks: list[tuple[list[Slot], float, float]] = []  # slots, wanted top of the block, height
    for slot in layer:
        others = near[slot]
        centre = (
            sum(y[each] + _height(each) / 2 for each in others) / len(others)
            if others
            else y[slot] + _height(slot) / 2
        )
        slots, want, tall = [slot], centre - _height(slot) / 2, _height(slot) + _GAP_Y
        while blocks and blocks[-1][1] + blocks[-1][2] > want:
            before, want_before, tall_before = blocks.pop()
            count, count_before = len(slots), len(before)
            want = (want_before * count_before + (want - tall_before) * count) / (
                count_before + count
            )
            slots, tall = before + slots, tall_before + tall
        blocks.append((slots, want, tall))
    for slots, want, _tall in blocks:
        at = want
        for slot in slots:
            y[slot] = at
            at += _height(slot) + _GAP_Y


def _line(
    edge: Edge, layers: Layers, places: dict[Slot, tuple[float, float]], rank: dict[Slot, int]
) -> str:
    path = layers.paths[edge.source, edge.target]
    is_back = rank[edge.source] > rank[edge.target]
    kind = "back" if is_back else "letters" if edge.dead_letters else "flow"
    dashes = ' stroke-dasharray="4 4"' if edge.dead_letters else ""
    points = []
    for at, slot in enumerate(path):
        x, y = places[slot]
        middle = y + _height(slot) / 2
        left, right = (x, middle), (x + _width(slot), middle)
        ends = (right, left) if is_back else (left, right)
        points += [ends[1]] if at == 0 else [ends[0]] if at == len(path) - 1 else list(ends)
    start, *rest = points
    text = f"M{start[0]:.1f} {start[1]:.1f}"
    before = start
    for x, y in rest:
        bend = (x - before[0]) / 2
        text += f"C{before[0] + bend:.1f} {before[1]:.1f} {x - bend:.1f} {y:.1f} {x:.1f} {y:.1f}"
        before = (x, y)
    return (
        f'<path d="{text}" fill="none" stroke="{_LINES[kind]}" stroke-width="1.5"{dashes} '
        f'marker-end="url(#{kind})"/>'
    )


def _arrow_head(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
    )


def _box(node: Node, x: float, y: float) -> Iterator[str]:
    fill, border, text, small = _COLOURS.get(node.kind, _OTHER)
    wide = _width(node)
    round_by = 6 if node.kind == PIPELINE else _HEIGHT / 2
    centre = x + wide / 2
    yield (
        f'<g><title>{escape(f"{node.kind} {node.name}")}</title><rect x="{x:.1f}" y="{y:.1f}" '
        f'width="{wide:.1f}" height="{_HEIGHT}" rx="{round_by}" fill="{fill}" '
        f'stroke="{border}" stroke-width="1.2"/>'
    )
    yield (
        f'<text class="k" x="{centre:.1f}" y="{y + 14:.1f}" fill="{small}" '
        f'text-anchor="middle">{escape(node.kind.upper())}</text>'
    )
    yield (
        f'<text class="n" x="{centre:.1f}" y="{y + 29:.1f}" fill="{text}" '
        f'text-anchor="middle">{escape(_short(node.name))}</text></g>'
    )


def _short(name: str) -> str:
    """The end of a long name, which is often a path."""
    return name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}"


def _width(slot: Slot) -> float:
    if not isinstance(slot, Node):
        return 0.0
    return max(len(_short(slot.name)), len(slot.kind)) * _CHARACTER + 32


def _height(slot: Slot) -> float:
    return _HEIGHT if isinstance(slot, Node) else _POINT_HEIGHT
