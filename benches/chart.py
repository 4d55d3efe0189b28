"""The results as a drawing.

Owns the picture of how many times faster than the official Python SDK each SDK is, work by work.
"""

from __future__ import annotations

from html import escape
from typing import Any

from benches import report

__all__ = ("drawing",)

# Works that every SDK has; bars of one work stand together.
WORKS = ("client update", "agent update", "round trip, one core", "64 at once")
SIDES = ("native", "rust", "typescript", "official")
COLOURS = {
    "native": "#2f6fde",
    "rust": "#b7410e",
    "typescript": "#6b7280",
    "official": "#9ca3af",
}
WIDTH, LEFT, RIGHT = 760, 300, 60
BAR, GAP, HEAD = 16, 26, 66


def drawing(table: list[report.Row], document: dict[str, Any]) -> str:
    """An SVG with a bar for each side of each work; longer is faster."""
    chosen = {row.name: row for row in table}
    bars: list[tuple[str, list[tuple[str, float]]]] = []
    for name in WORKS:
        row = chosen[name]
        peer = row.values[report.PEER]
        found = [(side, peer / row.values[side]) for side in SIDES if side in row.values]
        bars.append((row.title, found))
    longest = max(ratio for _, found in bars for _, ratio in found)
    scale = (WIDTH - LEFT - RIGHT) / longest
    lines: list[str] = []
    y = HEAD
    for title, found in bars:
        lines.append(text(16, y + 12, title, "start", weight="600"))
        y += 20
        for side, ratio in found:
            width = max(1.0, ratio * scale)
            lines.append(text(LEFT - 10, y + 12, report.NAMES[side], "end"))
            lines.append(
                f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 3}" rx="2" '
                f'fill="{COLOURS[side]}"/>'
            )
            lines.append(text(LEFT + width + 6, y + 11, f"{ratio:.1f}x", "start"))
            y += BAR
        y += GAP - BAR
    about = report.about(document).split(";", 1)[0]
    height = y + 14
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="system-ui, sans-serif" font-size="12" '
        'fill="#1f2937">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        + text(16, 26, "Times as fast as the official Python SDK", "start", size=16, weight="600")
        + "\n"
        + text(16, 46, about, "start", colour="#6b7280")
        + "\n"
        + "\n".join(lines)
        + "\n</svg>\n"
    )


def text(
    x: float,
    y: float,
    said: str,
    anchor: str,
    *,
    size: int = 12,
    weight: str = "400",
    colour: str = "#1f2937",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}" fill="{colour}">{escape(said)}</text>'
    )
