"""Code shared by the charts."""

from xml.sax.saxutils import escape

STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}"
    ".title{font-size:18px;font-weight:600}.head{font-weight:600}"
    ".value{font-size:11px}.quiet{fill:#666;font-size:12px}"
    ".end{text-anchor:end}"
)


class Canvas:
    def __init__(self, width):
        self.width = width
        self.parts = []

    def text(self, x, y, words, kind=""):
        kind = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{kind}>{escape(words)}</text>')

    def box(self, x, y, width, height, colour):
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}"'
            f' height="{height}" fill="{colour}"/>'
        )

    def line(self, x1, y1, x2, y2, colour, dash=""):
        dash = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"'
            f' stroke="{colour}"{dash}/>'
        )

    def curve(self, points, colour):
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{colour}"/>')

    def document(self, height, label):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}"'
            f' width="{self.width}" height="{height}" role="img"'
            f' aria-label="{escape(label)}">',
            f"<style>{STYLE}</style>",
            f'<rect width="{self.width}" height="{height}" fill="#fff"/>',
            *self.parts,
            "</svg>\n",
        ])  # fmt: skip
