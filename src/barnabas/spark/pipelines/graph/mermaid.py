"""The graph in Mermaid's language, which many sites draw from a code block."""

from barnabas.flow.graph import PIPELINE, PipelineGraph


def mermaid(graph: PipelineGraph) -> str:
    """A flowchart: pipelines as boxes, places as rounded labels, dead letters dashed."""
    ids = {node: f"n{at}" for at, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    for node, name in ids.items():
        label = _quoted(node.name if node.kind == PIPELINE else f"{node.kind} {node.name}")
        lines.append(
            f"  {name}[{label}]:::pipeline" if node.kind == PIPELINE else f"  {name}([{label}])"
        )
    for edge in graph.edges:
        arrow = "-. dead letters .->" if edge.dead_letters else "-->"
        lines.append(f"  {ids[edge.source]} {arrow} {ids[edge.target]}")
    lines.append("  classDef pipeline fill:#1f4e79,stroke:#1f4e79,color:#ffffff")
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'"{escaped}"'
